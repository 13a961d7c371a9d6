#!/usr/bin/env python3
"""Sessions: their records, events, turns side by side and one after another, and the operator's path."""

import os
import shutil
import signal

import bundles
import host
from terminal import Terminal
from world import HANG_S, WorldTest, main


class SessionsTest(WorldTest):
    """What several of these need: bundles, sessions, turns."""

    def bundle(self, steps, **options):
        name = self.id().rpartition(".")[2]
        path = f"{self.world.directory}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        return bundles.write(path, steps, **options)

    def project(self):
        return self.world.make_directory(self.id().rpartition(".")[2] + ".project")

    def create(self, bundle, *more):
        done = self.world.ctl("session", "create", bundle, *more)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def show(self, session):
        return self.world.json("session", "show", session)

    def submit(self, session, prompt="x"):
        done = self.world.ctl("turn", "submit", session, "--prompt", prompt)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def status(self, session, turn):
        return self.world.json("turn", "status", session, turn)["turn"]["status"]

    def await_status(self, session, turn, status):
        host.eventually(lambda: self.status(session, turn) == status, HANG_S,
                        lambda: self.world.json("turn", "status", session, turn))

    def events(self, session, *more):
        done = self.world.ctl("-o", "json", "session", "events", session, *more)
        self.assertEqual(done.code, 0, done)
        return done.lines()


class EnvironmentTest(SessionsTest):

    def test_a_turn_has_the_time_zone_of_its_owner(self):
        bundle = self.bundle([bundles.bash("date -d @0 +%H"), bundles.say("@@${r.stdout}@@")])
        for zone, hour in (("Asia/Tokyo", "09"), ("Asia/Kolkata", "05")):
            done = self.world.ctl("run", bundle, "--prompt", "x", env={**os.environ, "TZ": zone})
            self.assertIn(f"@@{hour}", done.out)

    def test_a_turn_has_what_its_variables_hold_now(self):
        def said(*arguments, **values):
            done = self.world.ctl(*arguments, env={**os.environ, **values})
            self.assertEqual(done.code, 0, done)
            return done.out

        bundle = self.bundle([bundles.bash("echo $HERE-$OTHER-$(printenv PROBE_WORD || echo no)"),
                              bundles.say("@@${r.stdout}@@")],
                             env={"HERE": "PROBE_WORD", "OTHER": "PROBE_OTHER"})
        session = said("session", "create", bundle, PROBE_WORD="old", PROBE_OTHER="o").strip()
        self.assertEqual(self.show(session)["env_sources"], ["PROBE_OTHER", "PROBE_WORD"])
        again = ("run", "--session", session, bundle, "--prompt", "x")
        self.assertIn("@@old-o-no", said(*again, PROBE_WORD="old", PROBE_OTHER="o"))
        self.assertIn("@@new-o-no", said(*again, PROBE_WORD="new", PROBE_OTHER="o"))
        self.assertIn("@@new--no", said(*again, PROBE_WORD="new"))
        turn = said("turn", "submit", session, "--prompt", "x", PROBE_WORD="newest").strip()
        self.await_status(session, turn, "completed")
        self.assertIn("@@newest--no", self.world.json("turn", "status", session, turn)["turn"]["response"])


class RecordTest(SessionsTest):

    def test_create_list_show_remove(self):
        bundle = self.bundle([bundles.bash("echo kept >file"), bundles.say("Said.")])
        first, second = self.create(bundle), self.create(bundle)
        self.assertRegex(first, "^ses_[0-9a-f]{32}$")
        listed = [entry["id"] for entry in self.world.json("session", "list")["sessions"]]
        self.assertEqual(listed[:2], [second, first])
        done = self.world.ctl("run", bundle, "--session", first, "--cwd", "/", "--prompt", "x")
        self.assertEnded(done, 2, "--cwd: said when a session is made")
        done = self.world.ctl("run", bundle, "--session", first, "--prompt", "the prompt")
        self.assertEqual(done.code, 0, done)
        shown = self.show(first)
        self.assertEqual(shown["bundle_ref"], "local/probe@0.1.0")
        self.assertRegex(shown["bundle_digest"], "^[0-9a-f]{64}$")
        turn = shown["turns"][0]
        self.assertEqual((turn["status"], turn["prompt"], turn["response"]),
                         ("completed", "the prompt", "Said."))
        text = self.world.ctl("session", "show", first).out
        self.assertIn("prompt: the prompt", text)

        cells = [c for c in self.world.json("cell", "list")["cells"]
                 if c["key"]["session_id"] == first]
        self.assertEqual(len(cells), 1)
        workspace = cells[0]["workspace_path"]
        self.assertTrue(os.path.exists(workspace + "/file"))
        self.assertEqual(self.world.ctl("session", "rm", first).code, 0)
        self.assertFalse(os.path.exists(workspace))
        left = [path for path, _, files in os.walk(self.world.state + "/agentd")
                for file in files if first in file or first in path]
        self.assertEqual(left, [])
        self.assertNotIn(first, self.world.ctl("session", "list").out)
        self.assertNotIn(first, self.world.ctl("cell", "list").out)
        for words in (["show", first], ["rm", first], ["events", first]):
            self.assertEnded(self.world.ctl("session", *words), 1, first)
        self.assertEnded(self.world.ctl("turn", "submit", first, "--prompt", "x"), 1, first)

    def test_another_bundle_is_refused_by_name(self):
        bundle = self.bundle([bundles.say("Said.")])
        session = self.create(bundle)
        other = bundles.write(self.world.directory + "/other", [bundles.say("Other.")],
                              bundle_id="other")
        for named in (other, "other", "local/probe@0.2.0", "else/probe"):
            done = self.world.ctl("run", named, "--session", session, "--prompt", "x")
            self.assertEnded(done, 2, "is of local/probe@0.1.0")
        self.assertEqual(self.show(session).get("turns", []), [])
        for named in (bundle, "probe", "local/probe@0.1.0"):
            done = self.world.ctl("run", named, "--session", session, "--prompt", "x")
            self.assertEqual(done.code, 0, done)

    def test_doctor_names_what_was_set_aside(self):
        path = self.world.make("state/agentd/sessions/ses_1.json.corrupt_1", "{")
        self.addCleanup(os.unlink, path)
        checks = self.world.ctl("-o", "json", "doctor").json()["checks"]
        self.assertIn(path + " could not be read", [check["detail"] for check in checks])

    def test_removing_ends_what_runs(self):
        session = self.create(self.bundle([bundles.bash("echo begun; exec sleep 86396")]))
        self.submit(session)
        follower = self.world.start("session", "events", session, "--follow")
        follower.until("begun")
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)
        self.assertEqual(self.world.cell_commands("86396"), [])
        follower.ended()

    def test_a_changed_bundle_does_not_change_a_session(self):
        bundle = self.bundle([bundles.say("old")])
        session = self.create(bundle)
        self.bundle([bundles.say("new")])
        self.assertIn("old", self.world.ctl("run", bundle, "--session", session, "--prompt", "x").out)
        self.assertIn("new", self.world.ctl("run", bundle, "--prompt", "x").out)

    def test_a_bundle_that_is_wrong_makes_no_session(self):
        bundle = self.bundle([{"say": "${unknown}"}])
        before = self.world.json("session", "list")
        for words in (["session", "create", bundle], ["run", bundle, "--prompt", "x"]):
            self.assertEnded(self.world.ctl(*words), 1, "scenario.yaml", "unknown")
        self.assertEqual(self.world.json("session", "list"), before)

    def test_a_bundle_where_agentd_may_not_enter(self):
        home = self.world.make_directory("closed")
        bundle = bundles.write(home + "/probe", [bundles.say("x")])
        for directory, mode in ((home, 0o700), (bundle, 0o700), (bundle, 0o711)):
            os.chmod(directory, mode)
            for words in (["session", "create", bundle], ["run", bundle, "--prompt", "x"]):
                done = self.world.ctl(*words)
                self.assertEqual(done.code, 0, done)
            os.chmod(directory, 0o755)
        self.assertEqual(self.world.ctl("run", bundle, "--prompt", "x").code, 0)

    def test_a_failing_scenario_fails_the_turn(self):
        done = self.world.ctl("run", self.bundle([{"fail": "for this reason"}]), "--prompt", "x")
        self.assertEqual(done.code, 1)
        self.assertIn("turn failed: ", done.out)
        self.assertIn("for this reason", done.out)


class EventsTest(SessionsTest):

    def test_following_resumes_without_loss_while_a_turn_runs(self):
        steps = [bundles.bash(f"seq {n} {n + 40}") for n in range(30)] + [
            bundles.bash("until test -e mount/read/current/go; do sleep 0.02; done")]
        project = self.project()
        session = self.create(self.bundle(steps, read=["."]), "--cwd", project)
        seen = []
        follow = ["-o", "json", "session", "events", session, "--follow"]

        def complete(follower):
            return [line for line in follower.out.split("\n")[:-1] if line]

        first = self.world.start(*follow)
        turn = self.submit(session)
        for count in (5, 30):
            host.eventually(lambda: len(complete(first)) >= count, HANG_S,
                            lambda: f"{count} events: {len(complete(first))}")
            first.kill()
            seen += [self.sequence(line) for line in complete(first)]
            first = self.world.start(*follow, "--after", str(seen[-1]))
        self.world.make(project + "/go")
        first.until("turn_completed")
        seen += [self.sequence(line) for line in complete(first)]
        self.await_status(session, turn, "completed")
        last = self.show(session)["last_sequence"]
        self.assertEqual(seen, list(range(1, last + 1)))

    @staticmethod
    def sequence(line):
        return int(line.split('"sequence":')[1].split(",")[0])

    def test_a_follower_that_does_not_read_holds_nobody_up(self):
        session = self.create(self.bundle([bundles.bash("yes | head -c 300000000; exit 3", f"r{n}")
                                           for n in range(5)]))
        follower = self.world.start("session", "events", session, "--follow")
        follower.process.send_signal(signal.SIGSTOP)
        self.await_status(session, self.submit(session), "completed")
        follower.process.send_signal(signal.SIGCONT)
        host.eventually(lambda: follower.out.count("exit 3 ·") == 5, HANG_S,
                        lambda: f"all of it: {follower.out[-500:]}")

    def test_without_follow_it_ends(self):
        session = self.create(self.bundle([bundles.say("a")]))
        self.assertEqual(self.events(session), [])
        self.await_status(session, self.submit(session), "completed")
        events = self.events(session)
        self.assertEqual([event["payload"]["type"] for event in events
                          if event["payload"]["type"] != "turn_step"],
                         ["turn_started", "agent_message_delta", "turn_completed"])
        self.assertEqual(self.events(session, "--after", "2"), events[2:])
        self.assertEqual(self.events(session, "--after", "99"), [])


class TurnsTest(SessionsTest):

    def test_cancel_ends_the_whole_tree(self):
        command = ("setsid sleep 86395 >/dev/null 2>&1 </dev/null & "
                   "(trap '' TERM INT HUP; sleep 86395; sleep 86395) & echo begun; sleep 86395")
        session = self.create(self.bundle([
            {"if": {"value": "${prompt}", "equals": "long"}, "then": [bundles.bash(command)]}]))
        for cancel in (["session", "cancel", session], ["turn", "cancel", session]):
            turn = self.submit(session, "long")
            host.eventually(lambda: len(self.world.cell_commands("86395")) >= 3, HANG_S, "it runs")
            done = self.world.ctl(*cancel)
            self.assertEqual((done.code, done.out), (0, "cancelled\n"), done)
            self.assertEqual(self.world.cell_commands("86395"), [])
            self.assertEqual(self.status(session, turn), "cancelled")
        self.assertEqual(self.world.ctl("session", "cancel", session).out, "no turn was running\n")
        self.await_status(session, self.submit(session, "short"), "completed")

    def test_a_deadline_ends_what_runs_and_what_waits(self):
        command = ("setsid sleep 86393 >/dev/null 2>&1 </dev/null & "
                   "(trap '' TERM INT HUP; sleep 86393; sleep 86393) & echo begun; sleep 86393")
        session = self.create(self.bundle([bundles.bash(command)]))
        done = self.world.ctl("turn", "submit", session, "--prompt", "x", "--deadline", "3s")
        running = done.out.strip()
        done = self.world.ctl("turn", "submit", session, "--prompt", "x", "--deadline", "1s")
        waiting = done.out.strip()
        host.eventually(lambda: len(self.world.cell_commands("86393")) >= 3, HANG_S, "it runs")
        for turn, milliseconds in ((waiting, 1000), (running, 3000)):
            self.await_status(session, turn, "failed")
            ended = self.world.json("turn", "status", session, turn)["turn"]
            self.assertEqual(ended["error"], f"deadline of {milliseconds} ms exceeded")
        self.assertEqual(self.world.cell_commands("86393"), [])
        done = self.world.ctl("run", self.bundle([bundles.bash("sleep 86393")]), "--prompt", "x",
                              "--deadline", "500ms")
        self.assertEqual(done.code, 1, done)
        self.assertIn("deadline of 500 ms exceeded", done.out + done.err)

    def test_a_key_makes_one_turn(self):
        session = self.create(self.bundle([bundles.say("Said.")]))
        submit = ("turn", "submit", session, "--idempotency-key", "k", "--prompt")
        first = self.world.ctl(*submit, "x")
        self.assertEqual(first.code, 0, first)
        self.assertEqual(self.world.ctl(*submit, "x").out, first.out)
        self.assertEnded(self.world.ctl(*submit, "y"), 1, "with another prompt")
        self.assertEqual(len(self.show(session)["turns"]), 1)

    def test_interrupting_run_cancels(self):
        bundle = self.bundle([bundles.bash("echo begun; sleep 86394")])
        turn = self.world.start("run", bundle, "--prompt", "x")
        turn.until("begun")
        turn.process.send_signal(2)
        done = turn.ended()
        self.assertEqual(done.code, 1, done)
        self.assertIn("turn cancelled", done.out)
        self.assertEqual(self.world.cell_commands("86394"), [])

    def gate(self):
        """A bundle that waits for PROMPT in its project, and that project."""
        project = self.project()
        wait = ("until test -e mount/read/current/${prompt}; do sleep 0.02; done; "
                "echo ${prompt} >>log; cat log")
        steps = [bundles.bash(wait), bundles.say("log ${r.stdout}")]
        return self.bundle(steps, read=["."]), project

    def test_two_sessions_run_side_by_side(self):
        bundle, project = self.gate()
        one, two = (self.create(bundle, "--cwd", project) for _ in range(2))
        first, second = self.submit(one, "one"), self.submit(two, "two")
        for session, turn in ((one, first), (two, second)):
            self.await_status(session, turn, "running")
        self.world.make(project + "/two")
        self.await_status(two, second, "completed")
        self.assertEqual(self.status(one, first), "running")
        self.world.make(project + "/one")
        self.await_status(one, first, "completed")

    def test_one_session_runs_its_turns_in_order(self):
        bundle, project = self.gate()
        session = self.create(bundle, "--cwd", project)
        turns = [self.submit(session, f"t{n}") for n in range(3)]
        self.await_status(session, turns[0], "running")
        self.world.make(project + "/t2")
        self.world.make(project + "/t1")
        self.assertEqual([self.status(session, turn) for turn in turns[1:]], ["queued", "queued"])
        self.assertEqual(self.world.ctl("turn", "cancel", session, turns[1]).code, 0)
        self.world.make(project + "/t0")
        self.await_status(session, turns[2], "completed")
        self.assertEqual([self.status(session, turn) for turn in turns],
                         ["completed", "cancelled", "completed"])
        self.assertEqual(self.show(session)["turns"][2]["response"].split(), ["log", "t0", "t2"])

    def test_read_only_changes_vanish(self):
        steps = [bundles.bash("ls; touch new 2>&1 || echo refused; touch $HOME/h $TMPDIR/t && echo own"),
                 bundles.say("${r.stdout}")]
        bundle = self.bundle(steps, mode="read_only")
        done = self.world.ctl("run", bundle, "--prompt", "x")
        self.assertEqual(done.code, 0, done)
        self.assertIn("refused", done.out)
        self.assertIn("own", done.out)


    def test_read_only_with_mounts(self):
        project, other = self.project(), self.world.make_directory("other")
        self.world.make(project + "/read", "mine")
        steps = [bundles.bash("ls mount/*; cat mount/read/current/read; echo x >mount/read/current/new;"
                              f" touch mount/new; echo kept >mount/write/abs{other}/kept; ls"),
                 bundles.say("${r.stdout}${r.stderr}")]
        bundle = self.bundle(steps, mode="read_only", read=["."], write_=[other])
        self.assertEqual(self.world.ctl("bundle", "validate", bundle).code, 0)
        session = self.create(bundle, "--cwd", project)
        for _ in range(2):
            self.await_status(session, self.submit(session), "completed")
        shown = self.show(session)["turns"][1]["response"]
        for words in ("mine", "current/new: Read-only", "mount/new'", "agent.yaml"):
            self.assertIn(words, shown)
        self.assertEqual(os.listdir(project), ["read"])
        with open(other + "/kept", encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept\n")


class OperatorTest(SessionsTest):

    def setUp(self):
        self.session = self.create(self.bundle([bundles.bash("echo agents >file")]))
        self.await_status(self.session, self.submit(self.session), "completed")

    def exec(self, *words, **options):
        return self.world.ctl("session", "exec", self.session, *words, **options)

    def test_is_in_the_sessions_cell_without_a_shell(self):
        done = self.exec("--", "cat", "file")
        self.assertEqual((done.code, done.out), (0, "agents\n"), done)
        done = self.exec("--", "echo", "a; echo $HOME", "|", "cat")
        self.assertEqual((done.code, done.out), (0, "a; echo $HOME | cat\n"), done)
        self.assertEqual(self.exec("--", "echo a").code, 127)
        self.assertEqual(self.exec("--", "no-such-program").code, 127)
        self.assertEqual(self.exec("--", "git", "--version").code, 0)

    def test_passes_bytes_and_codes(self):
        data = os.urandom(3 << 20)
        with open(self.world.make("bytes", data), "rb") as file:
            done = self.exec("--", "cat", input=file, text=False)
        self.assertEqual((done.code, done.out == data), (0, True), done.err)
        self.assertEqual(self.exec("--", "sh", "-c", "exit 9").code, 9)
        self.assertEqual(self.exec("--", "sh", "-c", "kill -TERM $$").code, 143)
        self.assertEqual(self.exec("--timeout", "300ms", "--", "sleep", "86393").code, 124)
        self.assertEqual(self.exec("--cwd", "/cell/data", "--", "pwd").out, "/cell/data\n")
        self.assertEqual(self.exec("--").code, 125)

    def test_waits_for_the_running_turn(self):
        project = self.project()
        wait = "until test -e mount/read/current/go; do sleep 0.02; done; echo agents >>log"
        session = self.create(self.bundle([bundles.bash(wait)], read=["."]), "--cwd", project)
        self.await_status(session, self.submit(session), "running")
        operator = self.world.start("session", "exec", session, "--", "sh", "-c",
                                    "echo operators >>log; cat log")
        self.world.make(project + "/go")
        self.assertEqual(operator.ended().out, "agents\noperators\n")

    def test_who_waits_can_give_up(self):
        project = self.project()
        wait = "until test -e mount/read/current/go; do sleep 0.02; done"
        session = self.create(self.bundle([bundles.bash(wait)], read=["."]), "--cwd", project)
        turn = self.submit(session)
        self.await_status(session, turn, "running")
        operator = self.world.start("session", "exec", session, "--", "true")
        # Since before that it takes signals.
        host.eventually(lambda: host.open_sockets(operator.pid), 10, "it has connected")
        os.kill(operator.pid, signal.SIGTERM)
        self.assertEqual(operator.ended().code, 128 + signal.SIGTERM)
        shown = Terminal(self.world.argv("session", "exec", "--tty", session, "--", "true"))
        host.eventually(lambda: host.open_sockets(shown.pid), 10, "it has connected")
        self.assertTrue(shown.is_cooked(), "as long as there is no command")
        shown.type("\x03")
        self.assertEqual(shown.ended(), 128 + signal.SIGINT, shown.text)
        self.world.make(project + "/go")
        self.await_status(session, turn, "completed")

    def test_is_no_turn_but_is_told(self):
        before = self.show(self.session)
        self.assertEqual(self.exec("--", "sh", "-c", "echo said; echo wrong >&2").code, 0)
        after = self.show(self.session)
        self.assertEqual((after["turns"], after["message_count"]),
                         (before["turns"], before["message_count"]))
        told = self.events(self.session, "--after", str(before["last_sequence"]))
        self.assertEqual([event["payload"]["type"] for event in told],
                         ["exec_command_begin", "exec_command_output_delta",
                          "exec_command_output_delta", "exec_command_end"])
        self.assertEqual(told[0]["payload"]["payload"]["command"][:2], ["sh", "-c"])
        said = {event["payload"]["payload"]["stream"]: event["payload"]["payload"]["delta"]
                for event in told[1:3]}
        self.assertEqual(said, {"stdout": "said\n", "stderr": "wrong\n"})
        self.assertIn("    said\n", self.world.ctl("session", "events", self.session).out)

    def test_all_of_its_output_is_the_operators_and_its_beginning_the_journals(self):
        before = self.show(self.session)["last_sequence"]
        done = self.exec("--", "head", "-c", "1000000", "/dev/zero", text=False)
        self.assertEqual((done.code, len(done.out)), (0, 1000000), done.err)
        told = [event["payload"]["payload"].get("delta", "")
                for event in self.events(self.session, "--after", str(before))]
        self.assertTrue(told[-2].endswith("\n...[stdout truncated by sandbox]"), told[-2][-80:])
        self.assertEqual("".join(told).count("\0"), 64 * 1024)


class RestartTest(SessionsTest):

    def restart(self):
        self.assertEqual(self.world.down().code, 0)
        self.world.up()

    def test_a_session_survives(self):
        bundle = self.bundle([bundles.bash("echo ${prompt} >>file; cat file"),
                              bundles.say("file: ${r.stdout}")])
        session = self.create(bundle)
        self.await_status(session, self.submit(session, "one"), "completed")
        before, events = self.show(session), self.events(session)
        self.restart()
        self.assertEqual(self.show(session), before)
        self.assertEqual(self.events(session), events)
        done = self.world.ctl("run", bundle, "--session", session, "--prompt", "two")
        self.assertEqual(done.code, 0, done)
        self.assertIn("file: one\ntwo", done.out)

    def test_queued_turns_run_after_a_restart(self):
        bundle = self.bundle([bundles.bash("echo ${prompt} >>log; test ${prompt} != one || sleep 86396; cat log"),
                              bundles.say("log: ${r.stdout}")])
        session = self.create(bundle)
        first = self.submit(session, "one")
        self.await_status(session, first, "running")
        queued = [self.submit(session, prompt) for prompt in ("two", "three")]
        self.restart()
        for turn in queued:
            self.await_status(session, turn, "completed")
        turns = {turn["id"]: turn for turn in self.show(session)["turns"]}
        self.assertEqual(turns[first]["status"], "interrupted")
        lines = turns[queued[1]]["response"].split()
        self.assertEqual([lines.count(prompt) for prompt in ("two", "three")], [1, 1], lines)

    def test_a_damaged_record_harms_nobody_else(self):
        bundle = self.bundle([bundles.say("fine")])
        good, bad = self.create(bundle), self.create(bundle)
        self.assertEqual(self.world.down().code, 0)
        path = f"{self.world.state}/agentd/sessions/{bad}.json"
        with open(path, "wb") as file:
            file.write(b'{"id": "ses_\0 cut off')
        self.world.up()
        self.world.daemons.until(bad, part="err")
        self.assertEnded(self.world.ctl("session", "show", bad), 1, bad)
        kept = [name for name in os.listdir(os.path.dirname(path)) if name.startswith(f"{bad}.json.")]
        self.assertEqual(len(kept), 1, "it is kept for a person to look at")
        done = self.world.ctl("run", bundle, "--session", good, "--prompt", "x")
        self.assertEqual(done.code, 0, done)


if __name__ == "__main__":
    main()
