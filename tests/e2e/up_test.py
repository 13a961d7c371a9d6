#!/usr/bin/env python3
"""odyssey-ctl up and down, and state directories that are not as they should be."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import unittest

import bundles
import host
from world import BIN, CTL, HANG_S, SOURCE, World, main

HELLO = SOURCE + "/examples/bundles/hello"


class UpTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def assertWorks(self):
        done = self.world.ctl("exec", "--", "echo", "works")
        self.assertEqual((done.code, done.out), (0, "works\n"), done)
        self.assertEqual(self.world.ctl("run", HELLO, "--prompt", "x", "--approve", "all").code, 0)

    def assertDoesNotStart(self, *words):
        """`up` ends with 1, says each word and what to do next, and leaves nothing."""
        done = self.world.start_up().ended(HANG_S)
        self.assertEqual((done.code, done.out), (1, ""), done)
        for word in words:
            self.assertIn(word, done.err)
        self.assertIn("odyssey-ctl: start the daemons: ", done.err)
        self.assertTrue(done.err.splitlines()[-1].startswith("  "), done.err)
        self.assertEqual(self.world.left(), [])

    # Ordinary life.

    def test_up_down_up(self):
        self.world.up()
        self.assertWorks()
        sessions = self.world.json("session", "list")["sessions"]
        self.assertEqual(self.world.down().out, "stopped\n")
        self.assertEqual(self.world.left(), [])
        self.world.up()
        self.assertEqual(self.world.json("session", "list")["sessions"], sessions)
        self.assertWorks()

    def test_what_runs_would_be_seen_if_it_were_left(self):
        self.world.up()
        self.assertEqual(self.world.ctl("exec", "--cell", "a", "--", "true").code, 0)
        found = {line.split()[0] for line in self.world.left()}
        self.assertEqual(found, {"process", "cgroup", "socket"})

    def test_down_twice(self):
        self.world.up()
        self.assertEqual(self.world.down().code, 0)
        again = self.world.ctl("down")
        self.assertEqual((again.code, again.out), (0, f"not running on {self.world.state}\n"))

    def test_signals_stop_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.world.up()
            self.assertEqual(self.world.ctl("exec", "--cell", "a", "--", "true").code, 0)
            self.world.daemons.process.send_signal(number)
            self.assertEqual(self.world.daemons.ended(HANG_S).code, 0)
            host.eventually(lambda: not self.world.left(), HANG_S, self.world.left)

    def test_detached(self):
        done = self.world.ctl("up", "--detach")
        self.assertEqual((done.code, done.out), (0, "ready\n"), done)
        self.assertWorks()
        with open(self.world.state + "/up.lock", encoding="ascii") as file:
            leader = int(file.read())
        below = [host.identity(pid) for pid in [leader, *host.descendants(leader)]]
        self.assertEqual(self.world.ctl("down").out, "stopped\n")
        host.eventually(lambda: not [p for p in below if p and host.identity(p[0]) == p], HANG_S,
                        "every process of it is gone")

    def test_detached_by_a_parent_that_closed_everything_and_ignores_its_children(self):
        # The lock, opened first, must not become stdout; nor may the end of a cell go unheard.
        command = " ".join(map(shlex.quote, self.world.argv("up", "--detach")))
        done = subprocess.run(
            ["/bin/bash", "-c", f"trap '' CHLD PIPE; exec {command} 0<&- 1>&- 2>&-"],
            check=False, timeout=HANG_S)
        self.assertEqual(done.returncode, 0)
        self.addCleanup(self.world.ctl, "down")
        self.assertWorks()
        self.assertEqual(self.world.ctl("exec", "--cell", "a", "--", "true").code, 0)
        self.assertEqual(self.world.ctl("down").out, "stopped\n")
        host.eventually(lambda: not self.world.left(), HANG_S, self.world.left)

    def test_the_daemons_have_as_many_files_as_they_may(self):
        self.world.prefix = ["prlimit", "--nofile=512:4000"]
        self.world.up()
        for pid in host.descendants(self.world.daemons.pid):
            with open(f"/proc/{pid}/limits", encoding="ascii") as file:
                self.assertRegex(file.read(), "Max open files +4000 +4000 ")
        self.assertEqual(self.world.ctl("exec", "--", "sh", "-c", "ulimit -n").out, "1024\n")

    def test_it_says_where_it_serves(self):
        self.world.up()
        self.world.daemons.until(f"odyssey-ctl: the daemons serve on {self.world.state}", part="err")

    def test_agentds_options_are_options_of_up(self):
        def options(*argv):
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            return set(re.findall(r"(?m)^ +(--[a-z-]+)", done.stdout))
        places = {"--state", "--socket", "--supervisor-socket", "--policy", "--prices", "--allow-uid", "--version",
                  "--listen-fd", "--settings", "--http-uid"}
        agentds = options(BIN + "/odyssey-agentd", "--help")
        self.assertGreater(len(agentds), 15)
        self.assertEqual(agentds - places - options(CTL, "up", "--help"), set())
        self.world.up("--queue-total", "7", "--idle-cell", "0")
        with open(f"/proc/{self.world.agentd}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        self.assertEqual(words[words.index(b"--queue-total") + 1], b"7")
        self.assertEqual(words[words.index(b"--idle-cell") + 1], b"0")

    def test_agentd_refuses_a_wrong_value(self):
        done = self.world.start_up("--workers", "0").ended(HANG_S)
        self.assertEqual((done.code, done.out), (2, ""), done)
        self.assertIn('--workers "0": expected a number from 1 to 256', done.err)

    def test_the_mode_of_a_directory_that_is_there_stays(self):
        os.makedirs(self.world.state)
        for mode in (0o711, 0o750):
            os.chmod(self.world.state, mode)
            if mode == 0o711:
                self.world.up()
                self.assertWorks()
                self.world.down()
            else:
                self.assertDoesNotStart("has mode 0750", f"chmod o+x {self.world.state}")
            self.assertEqual(os.stat(self.world.state).st_mode & 0o7777, mode)

    def test_others_are_told_what_they_have_no_rights_to(self):
        self.world.up()
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        done = self.world.ctl("down", **nobody)
        self.assertEqual(done.code, 1, done)
        self.assertIn("uid 65534 has no rights over it", done.err)
        self.assertIn(f"sudo odyssey-ctl --state {self.world.state} down", done.err)
        done = self.world.ctl("status", **nobody)
        self.assertEqual(done.code, 1, done)
        self.assertIn("this socket serves uids 0", done.out)
        self.assertIn("the peer has uid 65534", done.out)
        self.assertIn("Ask the operator to serve you", done.err)

    def test_json_wherever_it_is_asked_for(self):
        self.world.up()
        for words in (("-o", "json", "cell", "list"), ("cell", "-o", "json", "list"),
                      ("cell", "list", "-o", "json"), ("status", "--output=json"),
                      ("session", "list", "-ojson")):
            done = self.world.ctl(*words)
            self.assertEqual(done.code, 0, done)
            self.assertEqual(done.out[0], "{", words)
        done = self.world.ctl("exec", "-o", "json", "--", "echo", "-o", "text")
        self.assertEqual(done.out, "-o text\n")
        self.assertIn('"outcome"', done.err)

    def test_down_interrupts_a_turn(self):
        self.world.up()
        bundle = bundles.write(self.world.directory + "/b",
                               [bundles.bash("echo begun; sleep 86397")])
        turn = self.world.start("-o", "json", "run", bundle, "--prompt", "x")
        turn.until("begun")
        self.assertEqual(self.world.down().code, 0)
        self.assertEqual(self.world.left(), [])
        self.world.up()
        self.assertEqual(turn.ended().code, 1)
        session = self.world.json("session", "list")["sessions"][0]["id"]
        turns = self.world.json("session", "show", session)["turns"]
        self.assertEqual([turn["status"] for turn in turns], ["interrupted"])

    def test_status_and_doctor_without_daemons(self):
        for command in ("status", "doctor", "version"):
            done = self.world.ctl(command)
            self.assertEqual(done.code, 0 if command == "version" else 1, done)
        status = self.world.ctl("status")
        for daemon in ("supervisor", "agentd"):
            self.assertIn(self.world.socket(daemon), status.out)
        self.assertIn("odyssey-ctl up", status.err + status.out)
        parsed = self.world.ctl("-o", "json", "status")
        self.assertEqual(parsed.code, 1)
        self.assertFalse(parsed.json()["agentd"]["reachable"])
        for words in (["session", "list"], ["run", HELLO, "--prompt", "x"], ["cell", "list"]):
            done = self.world.ctl(*words)
            self.assertEqual(done.code, 1, done)
            self.assertIn("odyssey-ctl up", done.err)
        self.assertEqual(self.world.ctl("exec", "--", "true").code, 125)

    def test_doctor_says_that_cells_would_get_no_proc(self):
        self.world.prefix = ["unshare", "--mount", "sh", "-c",
                             "mount --bind /dev/null /proc/kallsyms && exec \"$@\"", "sh"]
        done = self.world.ctl("doctor")
        self.assertIn("✗ proc  ", done.out)
        self.assertIn("something is mounted below /proc", done.out)

    def test_status_and_doctor_with_daemons(self):
        self.world.up()
        for command in ("status", "doctor", "version"):
            self.assertEqual(self.world.ctl(command).code, 0)
        status = self.world.json("status")
        self.assertTrue(status["supervisor"]["reachable"])
        self.assertNotIn("http", status)

    def test_status_has_odyssey_http_where_it_serves(self):
        self.world.up("--http-listen", "127.0.0.1:0")
        http = self.world.json("status")["http"]
        self.assertTrue(http["reachable"], http)
        self.assertIn(f"✓ odyssey-http        {http['detail']}\n", self.world.ctl("status").out)
        # What a killed one leaves, or says that is another's.
        with open(f"{self.world.state}/run/http/address", "w", encoding="ascii") as file:
            file.write("127.0.0.1:1\n")
        done = self.world.ctl("status")
        self.assertEqual(done.code, 1)
        self.assertIn("✗ odyssey-http        connect to 127.0.0.1:1: Connection refused\n", done.out)

    def test_agentd_is_a_user_of_its_own_without_rights(self):
        """Whichever way it was started: no unit of systemd's is around it."""
        self.world.prefix = ["setpriv", "--groups", "4,24"]
        self.world.up()
        agentd, = (pid for pid in host.descendants(self.world.daemons.pid) if host.name(pid) == "odyssey-agentd")
        with open(f"/proc/{agentd}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":", 1) for line in file)
        uids = set(status["Uid"].split() + status["Gid"].split())
        self.assertEqual(uids, {str(os.stat(self.world.socket("agentd")).st_uid)})
        self.assertNotEqual(uids, {"0"})
        self.assertEqual(status["Groups"].split(), [])
        for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[capabilities], 16), 0, capabilities)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")

    # What an earlier one left, or still holds.

    def test_a_second_up_is_refused_and_the_first_unharmed(self):
        self.world.up()
        client = self.world.start("exec", "--", "sh", "-c", "echo here; cat", stdin=subprocess.PIPE)
        client.until("here")
        for arguments in ([], ["--detach"]):
            done = self.world.ctl("up", *arguments)
            self.assertEqual((done.code, done.out), (1, ""), done)
            self.assertIn(f"pid {self.world.daemons.pid} already runs", done.err)
            self.assertIn("odyssey-ctl down", done.err)
        client.process.stdin.close()
        self.assertEqual(client.ended().code, 0)
        self.assertWorks()

    def test_of_several_at_once_one_starts(self):
        starting = [self.world.start_up() for _ in range(4)]

        def ended():
            return [each for each in starting if each.process.poll() is not None]
        host.eventually(lambda: len(ended()) == len(starting) - 1, HANG_S, "the others give up")
        self.assertEqual([each.ended().code for each in ended()], [1, 1, 1])
        self.world.daemons = next(each for each in starting if each not in ended())
        self.world.daemons.until("ready", HANG_S)
        self.assertWorks()

    def test_stale_sockets_and_lock(self):
        self.world.up()
        agentd = os.stat(self.world.socket("agentd")).st_uid
        self.world.down()
        for which in ("agentd", "supervisor"):
            with socket.socket(socket.AF_UNIX) as stale:
                stale.bind(self.world.socket(which))
            os.chown(self.world.socket(which), agentd if which == "agentd" else 0, -1)
        # The pid of somebody else.
        with subprocess.Popen(["sleep", "86396"]) as somebody:
            try:
                with open(self.world.state + "/up.lock", "w", encoding="ascii") as file:
                    file.write(f"{somebody.pid}\n")
                self.assertIn("nothing listens", self.world.ctl("status").out)
                self.assertIn("not running", self.world.ctl("down").out)
                self.assertIsNone(somebody.poll())
                self.world.up()
                self.assertWorks()
                self.world.down()
                self.assertIsNone(somebody.poll())
            finally:
                somebody.kill()

    def test_two_states_side_by_side(self):
        other = World()
        self.addCleanup(other.close)
        for world in (self.world, other):
            world.up()
        self.assertEqual(self.world.ctl("exec", "--cell", "a", "--", "true").code, 0)
        self.assertEqual(other.json("cell", "list")["cells"], [])
        self.assertEqual(other.down().code, 0)
        self.assertWorks()

    # State that cannot be.

    def test_the_state_is_a_file(self):
        self.world.make("state", "mine\n")
        self.assertDoesNotStart(self.world.state, "directory")
        with open(self.world.state, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine\n")

    def test_below_a_file(self):
        self.world.make("file")
        self.world.state = self.world.directory + "/file/state"
        self.assertDoesNotStart(self.world.directory + "/file", "ot a directory")

    def test_the_state_is_writable_by_others(self):
        os.chmod(self.world.make_directory("state"), 0o777)
        self.assertDoesNotStart(self.world.state, "0777", "writable by root alone")

    def test_the_state_belongs_to_somebody_else(self):
        os.chown(self.world.make_directory("state"), 12345, 12345)
        self.assertDoesNotStart(self.world.state, "12345")

    def test_somebody_else_could_put_another_in_its_place(self):
        theirs = self.world.make_directory("theirs")
        os.chown(theirs, 12345, 12345)
        os.chmod(open_to_all := self.world.make_directory("open"), 0o777)
        os.symlink(self.world.make_directory("place"), link := self.world.directory + "/link")
        os.chown(link, 12345, 12345, follow_symlinks=False)
        os.symlink(theirs, to_theirs := self.world.directory + "/to-theirs")
        for above, named in ((theirs, theirs), (open_to_all, open_to_all), (link, link),
                             (to_theirs, theirs)):
            self.world.state = above + "/some/state"
            self.assertDoesNotStart(named + " belongs to uid", "in the place of this one")
            self.assertFalse(os.path.exists(above + "/some"), "made all the same")

    def test_agentd_cannot_reach_it(self):
        os.chmod(self.world.make_directory("closed"), 0o700)
        self.world.state = self.world.directory + "/closed/state"
        self.assertDoesNotStart(self.world.directory + "/closed has mode 0700", "--state")

    def test_a_path_too_long_for_a_socket(self):
        self.world.state = self.world.directory + "/" + "s" * 100
        self.assertDoesNotStart("s" * 100, "107")

    def test_a_file_where_a_directory_belongs(self):
        for name in ("run", "agentd", "supervisor"):
            self.assertDoesNotStart(self.world.make(f"state/{name}"))
            shutil.rmtree(self.world.state)

    def test_a_link_where_a_directory_belongs(self):
        elsewhere = self.world.make_directory("elsewhere")
        for name in ("run", "agentd", "supervisor"):
            link = f"{self.world.make_directory('state')}/{name}"
            os.symlink(elsewhere, link)
            self.assertDoesNotStart(link)
            self.assertEqual(os.listdir(elsewhere), [])
            shutil.rmtree(self.world.state)
        self.assertEqual(os.stat(elsewhere).st_uid, 0)

    # Programs that are not there.

    def test_missing_programs(self):
        if os.path.isdir("/usr/libexec/odyssey"):
            self.skipTest("Odyssey is installed, and its programs are found there")
        programs = self.world.make_directory("programs")
        ctl = shutil.copy(CTL, programs)
        for missing in ("odyssey-supervisor", "odyssey-agentd", "odyssey-egress",
                        "odyssey-supervisor-rpc", "odyssey-cell-init", "odyssey-cell-guard",
                        "odyssey-egress-worker"):
            done = subprocess.run([ctl, "--state", self.world.state, "up"], capture_output=True,
                                  text=True, timeout=HANG_S, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"find program {missing}: not in {programs}", done.stderr)
            self.assertIn("build or install", done.stderr)
            os.symlink(os.path.join(BIN, missing), os.path.join(programs, missing))
        self.assertFalse(os.path.exists(self.world.state))


if __name__ == "__main__":
    main()
