#!/usr/bin/env python3
"""Approvals: what the prompt shows before it takes a yes, and what an answer is bound to."""

import json
import os
import signal
import subprocess

import bundles
import host
from terminal import Terminal
from world import HANG_S, World, WorldTest, main

ASK_BASH = {"allow": ["Read"], "ask": ["Bash"]}
SAY = bundles.say("[${r.success}] ${r.error}")
LIMIT = 30


def payloads(done, kind):
    """Of the events that a command printed, those of one type."""
    return [event["payload"]["payload"] for event in done.lines() if event["payload"]["type"] == kind]


class PromptTest(WorldTest):
    """On a terminal."""

    def ask(self, command, *more, rows=24, rules=None, steps=None):
        bundle = bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}",
                               steps or [bundles.bash(command), SAY], rules=rules or ASK_BASH)
        shown = Terminal(self.world.argv("run", bundle, "go", *more), rows=rows)
        shown.until("? help: ")
        return shown

    def test_a_yes_counts_only_after_the_last_line_was_shown(self):
        command = "\n".join(f"echo line{n}" for n in range(60)) + "\necho evil > marker"
        shown = self.ask(command)
        self.assertNotIn("evil", shown.text.rpartition("asks for approval")[2])
        self.assertIn("more lines; v to view", shown.text)
        shown.type("y\n")
        shown.until("not shown yet; v to view")
        for page in range(20):
            shown.type("v\n")
            shown.until("? help: ", count=3 + page)
            if "more line" not in shown.text.rpartition("? help: ")[0].rpartition("? help: ")[2]:
                break
        self.assertIn("evil", shown.text.rpartition("asks for approval")[2])
        self.assertNotIn("allowed once", shown.text)
        shown.type("y\n")
        shown.until("allowed once by uid 0")
        self.assertEqual(shown.ended(), 0, shown.text)

    def test_a_note_goes_to_the_model_and_the_journal(self):
        shown = self.ask("true")
        shown.type("?\n")
        shown.until("without asking, every call in its scope: Bash")
        shown.type("n use the mirror\n")
        shown.until("denied by uid 0: use the mirror")
        shown.until("[false] permission denied: tool Bash was denied: use the mirror")
        self.assertEqual(shown.ended(), 0, shown.text)

    def test_every_command_of_a_line_is_named(self):
        shown = self.ask("true && timeout 5 r\\m -rf 'a b'")
        for line in ("starts:", "      true\r\n", "  (starts the next one)", "      rm -rf 'a b'\r\n"):
            self.assertIn(line, shown.text)
        shown.type("n\n")
        self.assertEqual(shown.ended(), 0, shown.text)

    def test_characters_that_are_not_shown_are_escaped(self):
        shown = self.ask("echo a\u180f\ufe0f\u202eb")
        self.assertIn("a\\u{180f}\\u{fe0f}\\u{202e}b", shown.text)
        for character in "\u180f\ufe0f\u202e":
            self.assertNotIn(character, shown.text)
        shown.type("n\n")
        self.assertEqual(shown.ended(), 0, shown.text)

    def test_the_fourth_yes_in_a_minute_is_a_word(self):
        steps = [bundles.bash(f"echo {n}", f"r{n}") for n in range(4)] + [bundles.say("${r3.success}")]
        shown = self.ask("", steps=steps)
        for n in range(3):
            shown.type("y\n")
            shown.until("allowed once by uid 0", count=n + 1)
            shown.until("? help: ", count=n + 2)
        self.assertIn("allow? approve once, n [note] deny", shown.text)
        shown.type("y\n")
        shown.until("type approve")
        self.assertEqual(shown.text.count("allowed once by uid 0"), 3)
        shown.type("approve\n")
        shown.until("allowed once by uid 0", count=4)
        self.assertEqual(shown.ended(), 0, shown.text)

    def test_a_hangup_cancels_the_turn(self):
        shown = self.ask("true")
        session = self.world.json("session", "list")["sessions"][0]["id"]
        os.kill(shown.pid, signal.SIGHUP)
        shown.ended()
        turn = self.world.json("session", "show", session)["turns"][0]
        self.assertEqual(turn["status"], "cancelled")
        self.assertEqual(self.world.json("approval", "list", "--session", session)["approvals"], [])


class AnswerTest(WorldTest):
    """From another terminal, and without one."""

    def bundle(self, steps=None, rules=None):
        return bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}",
                             steps or [bundles.bash("true; true"), SAY], rules=rules or ASK_BASH)

    def question(self):
        session = self.world.ctl("session", "create", self.bundle()).out.strip()
        self.assertEqual(self.world.ctl("turn", "submit", session, "go").code, 0)

        def asked():
            return self.world.json("approval", "list", "--session", session)["approvals"]
        return session, host.eventually(asked, HANG_S, "a question")[0]["request"]

    def events(self, session, kind):
        done = self.world.ctl("-o", "json", "session", "events", session)
        self.assertEqual(done.code, 0, done)
        return payloads(done, kind)

    def test_an_answer_is_to_what_was_shown(self):
        session, request = self.question()
        shown = self.world.ctl("approval", "show", request["request_id"])
        self.assertEqual(shown.code, 0, shown)
        self.assertIn(f"digest {request['digest']}\n", shown.out)
        self.assertEqual([command["argv"] for command in request["parsed"]["commands"]], [["true"], ["true"]])
        other = self.world.ctl("approval", "allow", request["request_id"], "--digest", "0" * 64)
        self.assertEnded(other, 1, "digest", request["digest"])
        done = self.world.ctl("approval", "allow", request["request_id"], "--digest", request["digest"])
        self.assertEqual(done.code, 0, done)
        host.eventually(lambda: self.events(session, "turn_completed"), HANG_S, "the end")
        resolved, = self.events(session, "approval_resolved")
        self.assertEqual((resolved["by"], resolved["by_uid"], resolved["decision"]), ("client", 0, "allow_once"))
        self.assertEnded(self.world.ctl("approval", "show", request["request_id"]), 1, "answered already")

    def test_strict_names_the_rule(self):
        done = self.world.ctl("run", self.bundle(), "go", "--approve", "strict")
        self.assertEnded(done, 0, "--approve strict")
        self.assertIn("strict mode: Bash requires approval", done.out)
        for name, success in (("approve_all", "[true]"), ("interactive", "[false]")):
            self.assertIn(success, self.world.ctl("run", self.bundle(), "go", "--approve", name).out)

    def test_a_prompt_is_an_argument_an_option_or_stdin(self):
        bundle = self.bundle([bundles.say("done")])
        for words, text in ((("hello there",), ""), (("--prompt", "hello there"), ""), (("-",), "hello there"),
                            (("--prompt", "-"), "hello there")):
            done = self.world.ctl("run", bundle, *words, input=text)
            self.assertEqual(done.code, 0, done)
            session = self.world.json("session", "list")["sessions"][0]["id"]
            self.assertEqual(self.events(session, "turn_started")[0]["prompt"], "hello there", words)
        self.assertEnded(self.world.ctl("run", bundle), 2, "prompt")
        self.assertEnded(self.world.ctl("run", bundle, "a", "--prompt", "b"), 2, "prompt")
        self.assertEnded(self.world.ctl("run", bundle, "-"), 2, "stdin is empty")

    def test_a_session_asks_only_so_often(self):
        steps = [bundles.bash("true", f"r{n}") for n in range(LIMIT + 1)]
        bundle = self.bundle([*steps, bundles.say(f"${{r{LIMIT}.error}}")])
        done = self.world.ctl("-o", "json", "run", bundle, "go", "--approve", "all")
        resolved = payloads(done, "approval_resolved")
        self.assertEqual([one["by"] for one in resolved], ["client"] * LIMIT + ["limit"])
        self.assertEqual(resolved[-1]["decision"], "deny")
        self.assertIn(f"more than {LIMIT} requests for approval in a minute", done.out)


class RedactionTest(WorldTest):

    def test_secrets_reach_neither_the_model_nor_the_journal(self):
        secret, key = "correct-horse-battery", "ghp_" + "x" * 36
        bundle = bundles.write(
            self.world.directory + "/redacted",
            [bundles.bash("echo \"w=$WORD\"; printf '%s' \"$WORD\" | cut -c1-9 | tr -d '\\n'; sleep 0.2; "
                          "printf '%s' \"$WORD\" | cut -c10-; echo ghp_$(printf 'x%.0s' $(seq 36)) >&2"),
             bundles.say("@@${r.stdout}@@${r.stderr}@@")],
            env={"WORD": "PROBE_WORD"})
        done = self.world.ctl("-o", "json", "run", bundle, "go", env={**os.environ, "PROBE_WORD": secret})
        self.assertEqual(done.code, 0, done)
        self.assertNotIn(secret, done.out)
        self.assertNotIn(key, done.out)
        message = payloads(done, "turn_completed")[0]["message"]
        self.assertIn("w=[REDACTED:PROBE_WORD]\n[REDACTED:PROBE_WORD]\n", message)
        self.assertIn("[REDACTED:github_token]", message)
        printed = "".join(event["delta"] for event in payloads(done, "exec_command_output_delta")
                          if event["stream"] == "stdout")
        self.assertEqual(printed, "w=[REDACTED:PROBE_WORD]\n[REDACTED:PROBE_WORD]\n")


    def test_no_file_of_the_session_holds_a_value(self):
        world, secret = self.world, "staple-battery-horse"
        own = {**os.environ, "PROBE_WORD": secret}
        bundle = bundles.write(world.directory + "/kept", [bundles.bash("echo \"w=$WORD\""), bundles.say("@${r.stdout}@")],
                               env={"WORD": "PROBE_WORD"})
        self.assertEqual(world.ctl("run", bundle, "go", env=own).code, 0)
        session = world.json("session", "list")["sessions"][0]["id"]
        done = world.ctl("session", "exec", session, "--", "sh", "-c", "echo \"x=$WORD\"")
        self.assertEqual(done.out, f"x={secret}\n", "the person has all of it")
        events = world.ctl("-o", "json", "session", "events", session)
        printed = "".join(event["delta"] for event in payloads(events, "exec_command_output_delta"))
        self.assertEqual(printed, "w=[]\nx=[]\n".replace("[]", "[REDACTED:PROBE_WORD]"))
        looked_at = 0
        for directory, _, names in os.walk(world.state):
            for path in (os.path.join(directory, name) for name in names):
                if not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    self.assertNotIn(secret.encode(), file.read(), path)
                looked_at += session in path
        self.assertGreaterEqual(looked_at, 2, "the record and the turns")
        # A word that was typed is in the supervisor's audit log as it was typed.
        self.assertEqual(world.ctl("session", "exec", session, "--", "true", secret).code, 0)
        events = world.ctl("-o", "json", "session", "events", session)
        self.assertEqual(payloads(events, "exec_command_begin")[2]["command"][-1], "[REDACTED:PROBE_WORD]")


class ExpiryTest(WorldTest):

    def test_the_model_reads_that_no_answer_came(self):
        world = World()
        self.addCleanup(world.close)
        world.up("--approval-timeout", "2s")
        bundle = bundles.write(world.directory + "/late", [bundles.bash("true"), SAY], rules=ASK_BASH)
        shown = Terminal(world.argv("run", bundle, "go"))
        shown.until("denied without an answer at 20")
        shown.until("denied by agentd (timeout): no answer in 2 s")
        shown.until("permission denied: tool Bash was denied: no answer in 2 s")
        self.assertEqual(shown.ended(), 0, shown.text)


    def test_a_session_may_wait_for_less_time_and_not_for_more(self):
        world = World()
        self.addCleanup(world.close)
        world.up("--approval-timeout", "1h")
        bundle = bundles.write(world.directory + "/late", [bundles.bash("true"), SAY], rules=ASK_BASH)
        done = world.ctl("run", bundle, "go", "--approval-timeout", "1500ms")
        self.assertEnded(done, 0, "waits for an answer until 20")
        self.assertIn("permission denied: tool Bash was denied: no answer in 2 s", done.out)
        session, = world.json("session", "list")["sessions"]
        self.assertEqual(session["approval_timeout_ms"], 1500)
        self.assertIn("denied without an answer in 1.5 s", world.ctl("session", "show", session["id"]).out)
        self.assertEnded(world.ctl("session", "create", bundle, "--approval-timeout", "61m"), 1, "at most 3600000")
        self.assertEnded(world.ctl("run", bundle, "go", "--session", session["id"], "--approval-timeout", "1s"), 2,
                         "said when a session is made")
        other = world.ctl("session", "create", bundle).out.strip()
        self.assertEqual(world.json("session", "show", other)["approval_timeout_ms"], 3600000)

    def test_without_a_terminal_another_client_answers(self):
        bundle = bundles.write(self.world.directory + "/waits", [bundles.bash("true"), SAY], rules=ASK_BASH)
        running = self.world.start("run", bundle, "go", "--approval-timeout", "10m")
        asked, = host.eventually(lambda: self.world.json("approval", "list")["approvals"], HANG_S, "a question")
        self.assertEqual(self.world.ctl("approval", "allow", asked["request"]["request_id"]).code, 0)
        done = running.ended()
        self.assertEqual(done.code, 0, done)
        self.assertIn("[true]", done.out)


class AuditTest(WorldTest):
    """Who allowed what, in the supervisor's log."""

    def bundle(self, world):
        return bundles.write(world.directory + "/audited", [bundles.bash("echo > made"), SAY], rules=ASK_BASH)

    def records(self, world, kind):
        done = world.ctl("-o", "json", "audit", "tail", "-n", "1000")
        return [record for record in map(json.loads, done.out.splitlines()) if record["type"] == kind]

    def runs(self, world):
        return [one for one in self.records(world, "exec") if any("echo > made" in word for word in one["argv"])]

    def ask(self, world):
        session = world.ctl("session", "create", self.bundle(world)).out.strip()
        self.assertEqual(world.ctl("turn", "submit", session, "go").code, 0)

        def asked():
            return world.json("approval", "list", "--session", session)["approvals"]
        return session, host.eventually(asked, HANG_S, "a question")[0]["request"]

    def end_of(self, world, session):
        def ended():
            turn = world.json("session", "show", session)["turns"][0]
            return turn if turn["status"] not in ("queued", "running") else None
        return host.eventually(ended, HANG_S, "the end")

    def test_each_answer_is_recorded_before_the_command(self):
        world = self.world
        uid = os.stat(f"/proc/{world.agentd}").st_uid
        for words, decision in ((("deny",), "deny"), (("allow", "--always"), "allow_always")):
            session, request = self.ask(world)
            note = ("--note", "no, not now") if decision == "deny" else ()
            self.assertEqual(world.ctl("approval", words[0], request["request_id"], *words[1:], *note).code, 0)
            self.end_of(world, session)
            record = self.records(world, "approval")[-1]
            self.assertEqual({name: record[name] for name in (
                "request_id", "session_id", "turn_id", "tool", "digest", "decision", "by_uid", "by", "reporter_uid")},
                {"request_id": request["request_id"], "session_id": session, "turn_id": request["turn_id"],
                 "tool": "Bash", "digest": request["digest"], "decision": decision, "by_uid": 0, "by": "client",
                 "reporter_uid": uid})
            self.assertEqual(record.get("note"), "no, not now" if note else None)
        run = self.runs(world)
        self.assertEqual(len(run), 1, "the denied one did not run")
        self.assertGreater(run[0]["seq"], record["seq"])
        self.assertEqual(world.ctl("audit", "verify").code, 0)
        self.assertRegex(world.ctl("audit", "tail", "-n", "1000").out,
                         f" approval request_id={record['request_id']} .* digest={record['digest']} "
                         f"decision=allow_always by_uid=0 by=client reporter_uid={uid}\n")

    def test_what_always_allows_is_listed_and_forgotten(self):
        world = self.world
        session, request = self.ask(world)
        self.assertEqual(world.ctl("approval", "allow", request["request_id"], "--always").code, 0)
        self.end_of(world, session)
        shown = world.ctl("approval", "granted", session)
        self.assertEqual(shown.code, 0, shown)
        self.assertIn(request["scope"], shown.out)
        self.assertIn(request["request_id"], shown.out)
        self.assertEqual(world.json("approval", "granted", session)["allowed"][0]["by"], "client")
        self.assertEnded(world.ctl("approval", "forget", session), 2, "SCOPE or --all")
        self.assertEnded(world.ctl("approval", "forget", session, "Bash(other:*)"), 1, "not allowed in this session")
        self.assertEqual(world.ctl("approval", "forget", session, request["scope"]).code, 0)
        self.assertIn("nothing is allowed", world.ctl("approval", "granted", session).out)
        self.assertEqual(world.ctl("turn", "submit", session, "again").code, 0)
        host.eventually(lambda: world.json("approval", "list", "--session", session)["approvals"], HANG_S, "a question")

    def test_nothing_that_was_allowed_runs_without_its_record(self):
        world = World()
        self.addCleanup(world.close)
        log = f"{world.state}/supervisor/audit"
        os.makedirs(log, mode=0o700)
        os.chmod(world.state, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", log], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", log], check=True)  # before the world is closed
        world.up()
        session, request = self.ask(world)
        with open(log + "/filler", "wb", buffering=0) as filler:
            with self.assertRaises(OSError):
                while True:
                    filler.write(b"x" * 1024)
        self.assertEqual(world.ctl("approval", "allow", request["request_id"]).code, 0)
        turn = self.end_of(world, session)
        self.assertEqual(turn["status"], "failed")
        self.assertIn("could not be recorded: audit log", turn["error"])
        os.unlink(log + "/filler")
        host.eventually(lambda: world.ctl("exec", "--", "true").code == 0, HANG_S, "room")
        self.assertEqual(self.runs(world), [])
        self.assertEqual(world.ctl("audit", "verify").code, 0)


class CommandTest(WorldTest):
    """--approval-command."""

    def start(self, script, *more):
        world = World()
        self.addCleanup(world.close)
        path = world.directory + "/answer"
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
        os.chmod(world.directory, 0o755)
        world.up("--approval-command", path, *more)
        self.bundle = bundles.write(world.directory + "/asked", [bundles.bash("echo hello"), SAY], rules=ASK_BASH)
        return world

    def submit(self, world):
        session = world.ctl("session", "create", self.bundle).out.strip()
        self.assertEqual(world.ctl("turn", "submit", session, "go").code, 0)
        return session

    def events(self, world, session, kind):
        def told():
            return payloads(world.ctl("-o", "json", "session", "events", session), kind)
        return host.eventually(told, HANG_S, kind)

    def agentd_uid(self, world):
        return os.stat(f"/proc/{world.agentd}").st_uid

    def test_answers_what_it_reads(self):
        world = self.start("read -r line; case $line in *'echo hello'*) echo '{\"decision\":\"allow_once\",\"note\":\"'"
                           "$(id -u)' '$(env | wc -l)'\"}';; esac")
        session = self.submit(world)
        resolved, = self.events(world, session, "approval_resolved")
        self.assertEqual((resolved["decision"], resolved["by"]), ("allow_once", "command"))
        uid = self.agentd_uid(world)
        self.assertEqual(resolved["by_uid"], uid)
        self.assertEqual(resolved["note"].split()[0], str(uid))
        self.assertIn("[true]", self.events(world, session, "turn_completed")[0]["message"])

    def test_without_an_answer_it_denies(self):
        world = self.start("echo '{\"decision\":\"allow_once\"}'; exit 3")
        session = self.submit(world)
        resolved, = self.events(world, session, "approval_resolved")
        self.assertEqual((resolved["decision"], resolved["by"]), ("deny", "command"))
        self.assertEqual(resolved["note"], "the approval command gave no answer: exit status 3")
        self.assertIn("[false]", self.events(world, session, "turn_completed")[0]["message"])

    def test_with_the_fallback_a_client_is_asked(self):
        world = self.start("exit 3", "--approval-command-fallback", "ask")
        session = self.submit(world)
        request, = host.eventually(lambda: world.json("approval", "list", "--session", session)["approvals"], HANG_S,
                                   "a question")
        world.daemons.until("gave no answer: exit status 3", part="err")
        done = world.ctl("approval", "allow", request["request"]["request_id"])
        self.assertEqual(done.code, 0, done)
        resolved, = self.events(world, session, "approval_resolved")
        self.assertEqual((resolved["decision"], resolved["by"]), ("allow_once", "client"))

    def test_is_killed_with_the_turn_and_with_agentd(self):
        world = self.start("sleep 4711 & wait")

        def asleep():
            return [pid for pid in host.descendants(world.agentd) if "4711" in host.command_line(pid)]
        session = self.submit(world)
        host.eventually(asleep, HANG_S, "the command")
        self.assertEqual(world.ctl("turn", "cancel", session).code, 0)
        host.eventually(lambda: not asleep(), HANG_S, "its end")
        self.submit(world)
        left = host.eventually(asleep, HANG_S, "the command")
        self.assertEqual(world.ctl("down").code, 0)
        host.eventually(lambda: not any("4711" in host.command_line(pid) for pid in left), HANG_S, "its end")


if __name__ == "__main__":
    main()
