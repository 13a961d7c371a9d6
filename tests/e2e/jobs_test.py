#!/usr/bin/env python3
"""Background jobs of sessions, and processes that a command leaves running, in real cells."""

import os
import signal

import bundles
import host
from world import World, WorldTest, main

FETCH = ("for i in $(seq 50); do python3 -c 'import urllib.request as u; "
         "print(u.urlopen(\"http://127.0.0.1:8123/f\", timeout=5).read().decode(), end=\"\")' 2>/dev/null && exit; "
         "sleep 0.2; done; exit 1")


def background(command):
    return bundles.bash(command, background=True)


def job(action, job_id="job_1", **arguments):
    return bundles.call("Job", action=action, job_id=job_id, **arguments)


class JobsTest(WorldTest):

    def session(self, turns, **options):
        """A session and its bundle, in which each word, as the prompt of a turn, plays its steps."""
        steps = [{"if": {"value": "${prompt}", "equals": word}, "then": steps} for word, steps in turns.items()]
        name = self.id().rpartition(".")[2]
        bundle = bundles.write(f"{self.world.directory}/{name}", [*steps, bundles.say("done")], **options)
        created = self.world.ctl("session", "create", bundle)
        self.assertEqual(created.code, 0, created)
        return bundle, created.out.strip()

    def turn(self, session, word):
        """What each call of the turn returned, in order."""
        bundle, session_id = session
        done = self.world.ctl("-o", "json", "run", bundle, "--session", session_id, "--prompt", word)
        self.assertEqual(done.code, 0, done.out[-500:] + done.err)
        events = [event["payload"] for event in done.lines()]
        return [event["payload"]["result"] for event in events if event["type"] == "tool_call_finished"]

    def only(self, steps, **options):
        """The results of a session's one turn."""
        return self.turn(self.session({"go": steps}, **options), "go")

    def events(self, session_id, kind):
        lines = self.world.ctl("-o", "json", "session", "events", session_id).lines()
        return [line["payload"]["payload"] for line in lines if line["payload"]["type"] == kind]

    def listed(self, session_id):
        return self.world.json("job", "list", session_id)["jobs"]


class OperatorsWallClockTest(JobsTest):
    """A command that asks for no wall clock of its own has the operator's, where agentd's own is longer."""

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        os.makedirs(cls.world.state, mode=0o755)
        cls.world.make("state/policy.d/10.yaml", "version: odyssey.ceiling/v1\nlimits:\n  max: {wall_clock_s: 2}\n")
        cls.world.up()

    def test_a_command_and_a_job_end_with_it(self):
        command, _, job_ = self.only([bundles.bash("sleep 47130"), background("sleep 47131"),
                                      job("poll", wait_ms=20000)])
        self.assertEqual(command["outcome"], "timed_out", command)
        self.assertIn("wall clock limit of 2 seconds", command["error"])
        self.assertEqual(job_["outcome"], "timed_out", job_)
        self.assertIn("wall clock limit of 2 seconds", job_["message"])

    def test_also_where_a_grant_has_made_the_cell(self):
        # Approved by the prompt's answer: what is granted is another limit.
        shown = self.world.make_directory("shown")
        asks = bundles.bash("sleep 47132", grants=[{"mount_read": shown}])
        bundle, session = self.session({"go": [asks]})
        turn = self.world.ctl("turn", "submit", session, "--prompt", "go").out.strip()
        found = []

        def asked():
            found[:] = [each["request"]["request_id"] for each in self.world.json("approval", "list")["approvals"]]
            return found

        host.eventually(asked, host.HANG_S, "a request for approval")
        self.assertEqual(self.world.ctl("approval", "allow", found[0]).code, 0)
        host.eventually(lambda: self.world.json("turn", "status", session, turn)["turn"]["status"] == "completed",
                        host.HANG_S, lambda: self.world.json("turn", "status", session, turn))
        result, = [event["result"] for event in self.events(session, "tool_call_finished")]
        self.assertIn("wall clock limit of 2 seconds", result["error"])


class LifeTest(JobsTest):

    def test_a_server_answers_in_later_calls_and_in_a_later_turn(self):
        serve = "mkdir w && cd w && echo served >f && exec python3 -m http.server 8123 --bind 127.0.0.1"
        session = self.session({"serve": [background(serve), bundles.bash(FETCH)],
                                "again": [bundles.bash(FETCH), job("poll"), job("stop")]})
        started, fetched = self.turn(session, "serve")
        self.assertEqual((started["job_id"], started["state"]), ("job_1", "running"), started)
        self.assertEqual((fetched["status_code"], fetched["stdout"]), (0, "served\n"), fetched)
        again, polled, stopped = self.turn(session, "again")
        self.assertEqual(again["stdout"], "served\n", again)
        self.assertIn('"GET /f HTTP/1.1" 200', polled["stderr"])
        self.assertEqual((stopped["state"], stopped["outcome"], stopped["signal"]), ("ended", "signalled", 15), stopped)
        begin, = [event for event in self.events(session[1], "exec_command_begin") if "job_id" in event]
        self.assertEqual(begin["job_id"], "job_1")
        ends = [event["exec_id"] for event in self.events(session[1], "exec_command_end")]
        self.assertEqual(ends.count(begin["exec_id"]), 1)

    def test_an_interpreter_is_fed(self):
        # Output ends a wait too: the interpreter prints a line feed before it exits.
        _, fed, _, ended = self.only([
            background("python3 -i -q"), job("input", text="print(6*7)\n", wait_ms=20000),
            job("input", close_stdin=True, wait_ms=20000), job("poll", wait_ms=20000)])
        self.assertIn("42\n", fed["stdout"], fed)
        self.assertEqual((ended["state"], ended["status_code"]), ("ended", 0), ended)

    def test_stop_ends_the_whole_tree(self):
        # One process of another session whose parent is gone, and one that ignores SIGTERM.
        tree = ("(setsid sleep 47110 </dev/null >/dev/null 2>&1 &); trap '' TERM; echo up; "
                "while :; do sleep 0.1; done")
        session = self.session({"start": [background(tree), job("poll", wait_ms=20000)], "stop": [job("stop")]})
        self.turn(session, "start")
        host.eventually(lambda: self.world.cell_commands("47110"), host.HANG_S, lambda: "the tree's process")
        stopped, = self.turn(session, "stop")
        self.assertEqual((stopped["outcome"], stopped["signal"]), ("signalled", signal.SIGKILL), stopped)
        self.assertEqual(self.world.cell_commands("47110"), [], "none is left when the call returns")

    def test_a_person_lists_and_stops(self):
        bundle, session = made = self.session({"go": [background("sleep 47111"), background("exit 3")]})
        self.turn(made, "go")
        first, second = self.listed(session)
        self.assertEqual((first["id"], first["command"], first["ended_at"]), ("job_1", "sleep 47111", ""), first)
        self.assertEqual((second["outcome"], second["exit_code"]), ("exited", 3), second)
        text = self.world.ctl("job", "list", session).out
        self.assertRegex(text, "job_1 +running .*sleep 47111")
        self.assertRegex(text, "job_2 +exited 3 ")
        self.assertIn("job_1 runs in the background", self.world.ctl("session", "fork", session).err)
        self.assertEqual(self.world.ctl("job", "stop", session, "job_1").out, "job_1: signalled\n")
        self.assertEqual(self.world.cell_commands("47111"), [])
        self.assertEnded(self.world.ctl("job", "stop", session, "job_9"), 1, "job_9", "it has job_1, job_2")

    def test_jobs_end_with_their_session(self):
        session = self.session({"go": [background("sleep 47112")]})
        self.turn(session, "go")
        self.assertTrue(self.world.cell_commands("47112"))
        self.assertEqual(self.world.ctl("session", "rm", session[1]).code, 0)
        self.assertEqual(self.world.cell_commands("47112"), [])

    def test_the_ninth_is_refused(self):
        *eight, ninth = self.only([background("sleep 47113") for _ in range(9)])
        self.assertEqual([one["job_id"] for one in eight], [f"job_{i}" for i in range(1, 9)])
        self.assertIn("8 jobs run in this session (job_1, job_2", ninth["error"])
        self.assertIn("at most 8 are allowed", ninth["error"])

    def test_output_that_is_not_kept_is_counted(self):
        session = self.session({
            "go": [background("head -c 1000000 /dev/zero | tr '\\0' o; echo; echo last; exec sleep 47114")],
            "look": [job("poll", stdout_offset=0), job("poll")]})
        self.turn(session, "go")
        host.eventually(lambda: self.listed(session[1])[0]["output_bytes"] == 1000006, host.HANG_S,
                        lambda: self.listed(session[1]))
        polled, rest = self.turn(session, "look")
        self.assertGreaterEqual(polled["stdout_dropped"], 1000000 - 2 * 256 * 1024, polled["stdout_offset"])
        self.assertEqual(polled["stdout_dropped"], polled["stdout_offset"])
        self.assertTrue(polled["more"])
        self.assertEqual(rest["stdout_offset"], polled["stdout_offset"] + len(polled["stdout"]))

    def test_rules_decide_about_the_start_and_the_input(self):
        denied, started, fed, polled = self.only(
            [background("curl x"), background("cat"), job("input", text="x"), job("poll")],
            rules={"allow": ["*"], "deny": ["Bash(curl:*)", "Job(input)"]})
        self.assertIn("permission denied: tool Bash(curl:*) is denied", denied["error"])
        self.assertEqual(started["job_id"], "job_1")
        self.assertIn("permission denied: tool Job(input) is denied", fed["error"])
        self.assertEqual(polled["state"], "running")

    def test_a_cancelled_turn_leaves_its_job(self):
        bundle, session = made = self.session(
            {"go": [background("sleep 47115"), bundles.bash("sleep 47116")], "look": [job("poll")]})
        turn = self.world.start("run", bundle, "--session", session, "--prompt", "go")
        host.eventually(lambda: self.world.cell_commands("47116"), host.HANG_S, lambda: "the command")
        self.assertEqual(self.world.ctl("session", "cancel", session).code, 0)
        turn.ended()
        polled, = self.turn(made, "look")
        self.assertEqual(polled["state"], "running", polled)

    def test_jobs_end_with_agentd_and_the_journal_says_so(self):
        session = self.session({"go": [background("sleep 47117")]})
        self.turn(session, "go")
        os.kill(self.world.agentd, signal.SIGKILL)
        host.eventually(lambda: not self.world.cell_commands("47117"), host.HANG_S, lambda: "the job's end")
        host.eventually(lambda: self.events(session[1], "exec_command_end"), host.HANG_S, lambda: "the event of it")
        end, = self.events(session[1], "exec_command_end")
        self.assertEqual(end["outcome"], "cancelled")
        self.assertEqual(self.listed(session[1]), [])


class LeftTest(JobsTest):

    LEAVE = "nohup python3 -c 'import time; time.sleep(47120)' >/dev/null 2>&1 & sleep 0.5; echo started"

    def test_the_model_is_told_which_processes_ended(self):
        left, clean = self.only([bundles.bash(self.LEAVE), bundles.bash("sleep 0.1 & wait; echo a | cat")])
        self.assertEqual((left["status_code"], left["ended_processes"]), (0, ["python3"]), left)
        self.assertIn("background: true", left["note"])
        self.assertEqual(self.world.cell_commands("47120"), [])
        self.assertNotIn("ended_processes", clean)

    def test_a_person_is_told(self):
        done = self.world.ctl("exec", "--", "sh", "-c", self.LEAVE)
        self.assertEqual((done.code, done.out), (0, "started\n"), done)
        self.assertEqual(done.err, "odyssey-ctl: ended with the command: 1 process that it left running (python3)\n")
        self.assertEqual(self.world.ctl("exec", "--", "sh", "-c", "sleep 0.1 & wait").err, "")
        told = self.world.ctl("-o", "json", "exec", "--", "sh", "-c", self.LEAVE)
        self.assertIn('"ended_processes":["python3"]', told.err.replace(" ", ""))

    def test_names_that_processes_choose_are_bounded(self):
        rename = ("import ctypes,time; ctypes.CDLL(None).prctl(15, b\"\\n\\n\\n\\n\\n\\n\\n\\n\\xff\\n\\n\\n\"); "
                  "time.sleep(47121)")
        left, many = self.only([
            bundles.bash(f"python3 -c '{rename}' >/dev/null 2>&1 & sleep 0.5; echo x"),
            bundles.bash("for i in $(seq 30); do sleep 47122 & done; sleep 1")])
        self.assertEqual((left["status_code"], len(left["ended_processes"])), (0, 1), left)
        self.assertEqual((many["status_code"], many["ended_processes"]), (0, ["sleep"] * 16), many)


if __name__ == "__main__":
    main()
