#!/usr/bin/env python3
"""odyssey-ctl exec: what goes in and comes out, and how it ends."""

import hashlib
import json
import os
import signal
import subprocess

import host
from terminal import Terminal
from world import HANG_S, WorldTest, main

MEGABYTE = 1 << 20


class ExitCodeTest(WorldTest):

    def exec(self, *words, **options):
        return self.world.ctl("exec", *words, **options)

    def test_the_commands_own(self):
        for code in (0, 1, 7, 255):
            done = self.exec("--", "sh", "-c", f"exit {code}")
            self.assertEqual((done.code, done.err), (code, ""))

    def test_124_timed_out(self):
        # The child outlives its parent's stdio and session, and dies all the same.
        done = self.exec("--timeout", "500ms", "--cell", "slow", "--", "sh", "-c",
                         "setsid sleep 1234 </dev/null >/dev/null 2>&1 & sleep 1234")
        self.assertEnded(done, 124, "timed out")
        host.eventually(lambda: not self.world.cell_commands("1234"), HANG_S, "sleep is killed")

    def test_125_odyssey_could_not(self):
        done = self.exec("--cwd", "/nowhere", "--", "true")
        self.assertEnded(done, 125, "/nowhere")
        done = self.exec("--policy", "/nowhere/policy", "--", "true")
        self.assertEnded(done, 125, "/nowhere/policy")
        done = self.exec()
        self.assertEnded(done, 125, "CMD is missing")

    def test_126_not_permitted(self):
        self.assertEnded(self.exec("--", "/etc/passwd"), 126, "/etc/passwd", "not permitted")
        script = "cd /tmp && printf '#!/bin/sh\\n' >x && chmod +x x && exec ./x"
        self.assertEnded(self.exec("--", "sh", "-c", script), 126)

    def test_127_not_found(self):
        self.assertEnded(self.exec("--", "no-such-program"), 127, "no-such-program", "not found")

    def test_128_and_the_signal(self):
        for name in ("TERM", "KILL", "SEGV", "ABRT"):
            done = self.exec("--", "sh", "-c", f"kill -{name} $$")
            self.assertEqual(done.code, 128 + signal.Signals[f"SIG{name}"], done)

    def test_137_out_of_memory_says_so(self):
        done = self.exec("--memory", "64m", "--", "python3", "-c", "x = b'a' * (1 << 30)")
        self.assertEnded(done, 137, "out of memory")
        killed = self.exec("--", "sh", "-c", "kill -KILL $$")
        self.assertNotIn("out of memory", killed.err)


class StreamTest(WorldTest):

    def test_bytes_pass_uncut_both_ways(self):
        data = os.urandom(50 * MEGABYTE)
        path = self.world.make("data", data)
        with open(path, "rb") as file:
            done = self.world.ctl("exec", "--", "cat", input=file, text=False)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(len(done.out), len(data))
        self.assertEqual(hashlib.sha256(done.out).digest(), hashlib.sha256(data).digest())

    def test_stderr_stays_apart(self):
        done = self.world.ctl("exec", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((done.code, done.out, done.err), (3, "out\n", "err\n"))

    def test_json_is_the_outcome_on_stderr(self):
        done = self.world.ctl("-o", "json", "exec", "--", "sh", "-c", "echo out; echo > /etc/x; exit 3")
        self.assertEqual((done.code, done.out), (3, "out\n"))
        told = json.loads(done.err.splitlines()[-1])
        self.assertEqual((told["outcome"]["kind"], told["outcome"]["exit_code"]), ("exited", 3))
        self.assertEqual([denial["resource"] for denial in told["denials"]], ["/etc/x"])

    def test_json_is_an_outcome_of_what_never_began_too(self):
        for words in (["--read", "/no/such", "--", "true"], ["--memory", "1k", "--", "true"],
                      ["--no-such-option", "--", "true"], []):
            done = self.world.ctl("-o", "json", "exec", *words)
            self.assertEqual((done.code, done.out), (125, ""), done)
            told = json.loads(done.err.splitlines()[-1])
            self.assertEqual((told["outcome"]["kind"], told["denials"]), ("setup_failed", []))
            self.assertIn(told["outcome"]["message"], done.err.splitlines()[0])

    def test_what_is_not_text_is_refused_and_not_left_out(self):
        odd = os.fsdecode(b"/tmp/\xff")
        for words in (["--", "echo", odd], ["--inject", odd, "--", "true"],
                      ["--env", "A=" + odd, "--", "true"], ["--read", odd, "--", "true"]):
            done = self.world.ctl("exec", *words, text=False)
            self.assertEqual((done.code, done.out), (125, b""))
            self.assertIn(b"not UTF-8", done.err)
            self.assertNotIn(b"protobuf", done.err)
        done = self.world.ctl("exec", "--env", "ODD", "--", "true", text=False,
                              env={**os.environb, b"ODD": b"secret\xff"})
        self.assertEqual(done.code, 125)
        self.assertIn(b"sandbox.env[ODD].value: not UTF-8", done.err)
        self.assertNotIn(b"secret", done.err)

    def test_end_of_input_reaches_the_command(self):
        self.assertEqual(self.world.ctl("exec", "--", "cat", input="").out, "")
        self.assertEqual(self.world.ctl("exec", "--", "wc", "-c", input="12345").out.strip(), "5")

    def test_a_reader_that_leaves_ends_the_command(self):
        with subprocess.Popen(self.world.argv("exec", "--cell", "yes", "--", "yes", "e2e"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as client:
            self.assertEqual(client.stdout.readline(), b"e2e\n")
            client.stdout.close()
            client.wait(HANG_S)
        host.eventually(lambda: not self.world.cell_commands("yes e2e"), HANG_S, "yes ends")

    def test_many_at_once_keep_their_own(self):
        clients = [self.world.start("exec", "--", "sh", "-c", f"echo {n}; exit {n}")
                   for n in range(20)]
        ends = [client.ended() for client in clients]
        self.assertEqual([(end.code, end.out, end.err) for end in ends],
                         [(n, f"{n}\n", "") for n in range(20)])

    def test_a_slow_reader_loses_nothing(self):
        with subprocess.Popen(self.world.argv("exec", "--", "seq", "2000000"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as client:
            digest = hashlib.sha256()
            while chunk := client.stdout.read(4096):
                digest.update(chunk)
        expected = "".join(f"{number}\n" for number in range(1, 2000001)).encode()
        self.assertEqual(digest.digest(), hashlib.sha256(expected).digest())
        self.assertEqual(client.returncode, 0)

    def test_an_interrupt_reaches_the_command(self):
        for number, code in ((signal.SIGINT, 5), (signal.SIGTERM, 6)):
            script = "trap 'exit 5' INT; trap 'exit 6' TERM; echo here; while :; do sleep 0.1; done"
            client = self.world.start("exec", "--", "sh", "-c", script)
            client.until("here\n")
            client.process.send_signal(number)
            self.assertEqual(client.ended().code, code)

    def test_an_interrupt_that_is_not_caught_ends_it(self):
        client = self.world.start("exec", "--", "sh", "-c", "echo here; sleep 1234")
        client.until("here\n")
        # A shell that is about to fork keeps the interrupt to itself until its child has ended.
        host.eventually(lambda: any(host.name(pid) == "sleep" for pid in self.world.cell_commands("1234")),
                        HANG_S, "sleep runs")
        client.process.send_signal(signal.SIGINT)
        self.assertEqual(client.ended().code, 128 + signal.SIGINT)
        host.eventually(lambda: not self.world.cell_commands("1234"), HANG_S, "sleep ends")


class TerminalTest(WorldTest):

    def test_the_users_own_terminal_is_not_the_commands_to_act_on(self):
        text = r"\033[31mred\033[0m \033]52;c;aGk=\007\033[2J\033]0;title\033\\ \n"
        for fd in (1, 2):
            shown = Terminal(self.world.argv("exec", "--", "bash", "-c", f"printf '{text}' >&{fd}"))
            self.assertEqual(shown.ended(), 0, shown.text)
            self.assertEqual(shown.text, "\x1b[31mred\x1b[0m \\e]52;c;aGk=\\x07\\e[2J"
                                         "\\e]0;title\\e\\ \r\n\x1b[0m")
        piped = self.world.ctl("exec", "--", "printf", text)
        self.assertIn("\x1b]52;c;aGk=\x07", piped.out)

    def test_there_must_be_one(self):
        done = self.world.ctl("exec", "--tty", "--", "cat", input="x")
        self.assertEnded(done, 125, "--tty", "stdin is not a terminal")

    def exec(self, *words, **options):
        return Terminal(self.world.argv("exec", "--tty", "--", *words), **options)

    def test_the_command_has_a_terminal_of_that_size(self):
        shown = self.exec("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; tty",
                          rows=33, columns=101)
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertIn("33 101", shown.text)
        self.assertIn("/dev/pts/", shown.text)

    def test_a_new_size_reaches_the_command(self):
        shown = self.exec("bash", "-c",
                          "trap 'stty size; exit 4' WINCH; echo here; while :; do sleep 0.05; done")
        shown.until("here")
        shown.resize(44, 122)
        self.assertEqual(shown.ended(), 4, shown.text)
        self.assertIn("44 122", shown.text)

    def test_ctrl_c_goes_through_the_terminal(self):
        shown = self.exec("sh", "-c", "trap 'exit 9' INT; echo here; while :; do sleep 0.05; done")
        shown.until("here")
        self.assertFalse(shown.is_cooked())
        shown.type("\x03")
        self.assertEqual(shown.ended(), 9, shown.text)

    def test_what_is_typed_arrives_and_is_echoed_once(self):
        shown = self.exec("sh", "-c", "echo here; read line; echo got:$line")
        shown.until("here")
        shown.type("words\r")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertIn("got:words", shown.text)
        self.assertEqual(shown.text.count("words"), 2, shown.text)

    def test_the_terminal_is_as_before_afterwards(self):
        for last in ("exit 0", "kill -9 $$"):
            # The shell around it holds the terminal open after odyssey-ctl ended.
            inner = " ".join(self.world.argv("exec", "--tty", "--"))
            shown = Terminal(["/bin/sh", "-c", f"{inner} sh -c 'echo here; read x; {last}'; "
                                               "echo after; read y"])
            shown.until("here")
            host.eventually(lambda: not shown.is_cooked(), 5, "raw while it runs")
            shown.type("\r")
            shown.until("after")
            self.assertTrue(shown.is_cooked())
            shown.type("\n")
            self.assertEqual(shown.ended(), 0, shown.text)

    def test_without_tty_the_command_has_none(self):
        shown = Terminal(self.world.argv("exec", "--", "sh", "-c", "test -t 0 || test -t 1; echo $?"))
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertIn("1", shown.text)


if __name__ == "__main__":
    main()
