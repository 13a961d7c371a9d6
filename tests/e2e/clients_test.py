#!/usr/bin/env python3
"""The clients of examples/clients, in each language, against real daemons: as their README says to run them."""

import json
import os
import signal
import subprocess
import sys
import unittest

import bundles
import host
from own_agentd import OwnAgentd
from world import BIN, HANG_S, SKIPPED, SOURCE, Running, World, main

ALICE, STRANGER = 54411, 54412
CLIENTS = SOURCE + "/examples/clients"
MODULES = os.path.join(os.path.abspath(BIN), "../../clients-node/node_modules")


class PythonTest(unittest.TestCase):
    DIRECTORY, SUFFIX, START, ENV = "python", "py", ["/usr/bin/python3", "-B"], {}

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--allow-user", str(ALICE))

    def setUp(self):
        self.name = self.id().rpartition(".")[2]
        self.empty = self.world.make_directory(f"{self.name}-cwd")

    def start(self, program, *words, uid=0, agentd=None):
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "ODYSSEY_INCLUDE": SOURCE + "/proto",
               "ODYSSEY_SUPERVISOR_SOCKET": self.world.socket("supervisor"),
               "ODYSSEY_AGENTD_SOCKET": agentd or self.world.socket("agentd"), **self.ENV}
        running = Running([*self.START, f"{CLIENTS}/{self.DIRECTORY}/{program}.{self.SUFFIX}", *words], env=env,
                          cwd=self.empty, stdin=subprocess.DEVNULL, user=uid, group=uid, extra_groups=[])
        self.addCleanup(running.kill)
        return running

    def run_client(self, program, *words, **options):
        done = self.start(program, *words, **options).ended()
        self.assertEqual(os.listdir(self.empty), [], "a client leaves nothing where it runs")
        return done

    def bundle(self, steps, **options):
        return bundles.write(f"{self.world.directory}/{self.name}", steps, **options)

    def asking(self):
        return self.bundle([bundles.bash("echo done >here; cat here"), bundles.say("[${r.success}] ${r.error}")],
                           rules={"ask": ["Bash"]})

    # run_command

    def test_a_commands_output_and_outcome(self):
        done = self.run_client("run_command", "sh", "-c", "echo $(id -u) in $PWD; echo no >&2; exit 7")
        self.assertEqual((done.code, done.out), (7, "1000 in /workspace\n"), done)
        self.assertTrue(done.err.startswith("no\n"), done)
        self.assertIn("OUTCOME_KIND_EXITED exit_code=7", done.err)

    def test_a_commands_output_comes_while_it_runs(self):
        running = self.start("run_command", "sh", "-c", "echo first; sleep 86411")
        running.until("first\n")
        os.kill(running.pid, signal.SIGKILL)
        host.eventually(lambda: not self.world.cell_commands("86411"), HANG_S, "the command ends with its client")

    def test_a_denial_says_what_it_would_need(self):
        done = self.run_client("run_command", "bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80")
        self.assertEqual(done.code, 1, done)
        self.assertIn("denied: connect 192.0.2.1:80 by network none; would need sandbox.permissions.network", done.err)

    def test_a_command_that_does_not_start(self):
        done = self.run_client("run_command", "no-such-program")
        self.assertEqual(done.code, 125, done)
        self.assertIn("OUTCOME_KIND_NOT_FOUND", done.err)

    def test_an_error_has_its_details(self):
        for words, code, text in (
                (["run_command"], 125, "INVALID_ARGUMENT: start.argv: command cannot be empty\n  field: start.argv\n"),
                (["run_turn", "no-such", "go", "allow"], 1, "NOT_FOUND: bundle not found: no-such\n  field: bundle\n"),
                (["follow_events", "ses_0"], 1,
                 'NOT_FOUND: session_id "ses_0": no such session\n  field: session_id\n')):
            done = self.run_client(*words)
            self.assertEqual((done.code, done.err, done.out), (code, text, ""), done)

    # run_turn

    def test_a_turn_whose_request_is_allowed(self):
        for uid in (0, ALICE):
            done = self.run_client("run_turn", self.asking(), "go", "allow", uid=uid)
            self.assertEqual(done.code, 0, done)
            self.assertIn("Bash asks, by the rule Bash: ", done.out)
            self.assertIn("answered: allow\n", done.out)
            self.assertIn('"stdout":"done\\n"', done.out)
            self.assertIn("turn_completed: [true]", done.out)
            session = done.out.split()[1]
            self.assertEqual(self.world.json("session", "show", session)["owner_uid"], uid)

    def test_a_turn_whose_request_is_denied(self):
        done = self.run_client("run_turn", self.asking(), "go", "deny", uid=ALICE)
        self.assertEqual(done.code, 0, done)
        self.assertIn("answered: deny\n", done.out)
        self.assertIn("turn_completed: [false] permission denied: tool Bash was denied: by the example", done.out)

    def test_an_event_above_4_mib(self):
        # More than gRPC's libraries receive unless they are told to.
        steps = [{"set": {"part": '"' * 400_000}}, bundles.call("Write", path="large", content="${part}" * 10),
                 bundles.say("[${r.success}]")]
        done = self.run_client("run_turn", self.bundle(steps), "go", "allow")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("turn_completed: [true]", done.out)

    def test_a_failed_turn(self):
        done = self.run_client("run_turn", self.bundle([{"fail": "on purpose"}]), "go", "allow")
        self.assertEqual(done.code, 1, done)
        self.assertIn("turn_failed: ", done.out)
        self.assertIn("on purpose", done.out)

    def test_a_user_that_may_not_connect(self):
        done = self.run_client("run_turn", "hello", "go", "allow", uid=STRANGER)
        self.assertEqual(done.code, 1, done)
        self.assertIn("UNAVAILABLE: ", done.err)
        self.assertEqual(done.out, "")

    # follow_events

    def test_following_over_restarts_loses_nothing(self):
        own = OwnAgentd(self.world, self.name + "-agentd").start()
        self.addCleanup(own.stop)
        session = own.create(self.bundle([bundles.bash("seq 3"), bundles.say("said")]))
        own.await_turn(session, own.submit(session, "one"))
        before = own.json("session", "show", session)["last_sequence"]
        follower = self.start("follow_events", session, agentd=own.socket)
        follower.until(f"\n{before} turn_completed ")
        own.kill()
        host.eventually(lambda: f"lost agentd after event {before}" in follower.err, HANG_S, lambda: follower.err)
        own.start()
        own.await_turn(session, own.submit(session, "two"))
        between = own.json("session", "show", session)["last_sequence"]
        follower.until(f"\n{between} turn_completed ")
        own.restart()  # as a person would
        host.eventually(lambda: f"lost agentd after event {between}" in follower.err, HANG_S, lambda: follower.err)
        own.await_turn(session, own.submit(session, "three"))
        last = own.json("session", "show", session)["last_sequence"]
        self.assertLess(before, between)
        self.assertLess(between, last)
        follower.until(f"\n{last} turn_completed ")
        lines = follower.out.splitlines()
        self.assertEqual([int(line.split()[0]) for line in lines], list(range(1, last + 1)))
        self.assertEqual([json.loads(line.split(None, 2)[2])["prompt"] for line in lines if " turn_started " in line],
                         ["one", "two", "three"])
        self.assertEqual(follower.process.poll(), None)
        # From a number on, and to the end of the session.
        again = self.start("follow_events", session, str(before), agentd=own.socket)
        again.until(f"{last} turn_completed ")
        self.assertEqual(int(again.out.split()[0]), before + 1)
        self.assertEqual(own.ctl("session", "rm", session).code, 0)
        for each in (follower, again):
            done = each.ended()
            self.assertEqual(done.code, 1, done)
            self.assertIn("NOT_FOUND: ", done.err)


class NodeTest(PythonTest):
    """The same of the JavaScript ones. `./dev test` installs what package-lock.json names in build/clients-node."""
    DIRECTORY, SUFFIX, START, ENV = "node", "js", ["node"], {"NODE_PATH": MODULES}


if __name__ == "__main__":
    if "NodeTest" in sys.argv and not os.path.isdir(MODULES):
        print(f"needs {os.path.normpath(MODULES)}: ./dev test makes it")
        sys.exit(SKIPPED)
    main()
