#!/usr/bin/env python3
"""Whose sessions are whose: the admin group, quotas by user, drain, and an operator's own policy in a session."""

import os
import signal

import bundles
import host
from host import HANG_S
from terminal import Terminal
from world import World, WorldTest, main

ALICE, BOB, ADMIN = 54401, 54402, 54403
ADMINS = 54490  # a group that only the kernel knows of: the user database has no word in it
STRANGER = 54404


class OwnersTest(WorldTest):
    UP = ["--allow-user", str(ALICE), "--allow-user", str(BOB), "--admin-group", str(ADMINS)]

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.prepare()
        cls.world.up(*cls.UP)

    @classmethod
    def prepare(cls):
        pass

    def as_user(self, uid, *words, groups=(), env=None):
        return self.world.ctl(*words, user=uid, group=uid, extra_groups=list(groups), cwd="/",
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})})

    def admin(self, *words):
        return self.as_user(ADMIN, *words, groups=[ADMINS])

    def ok(self, done):
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def bundle(self, steps, **options):
        name = self.id().rpartition(".")[2]
        return bundles.write(f"{self.world.directory}/{name}", steps, **options)

    def create(self, uid, bundle, **options):
        return self.ok(self.as_user(uid, "session", "create", bundle, **options))

    def submit(self, uid, session, prompt="x", **options):
        return self.ok(self.as_user(uid, "turn", "submit", session, "--prompt", prompt, **options))

    def status(self, session, turn):
        return self.world.json("turn", "status", session, turn)["turn"]["status"]

    def await_status(self, session, turn, status):
        host.eventually(lambda: self.status(session, turn) == status, HANG_S,
                        lambda: self.world.json("turn", "status", session, turn))

    def await_question(self, session):
        """The id of the request for approval that the session waits with."""
        found = []

        def look():
            listed = self.world.json("approval", "list")["approvals"]
            found[:] = [each["request"]["request_id"] for each in listed if each["session_id"] == session]
            return found

        host.eventually(look, HANG_S, "a request for approval")
        return found[0]


class AdminTest(OwnersTest):

    def test_sees_stops_answers_and_removes_every_session(self):
        bundle = self.bundle([bundles.bash("echo alices >file"), bundles.say("done")], rules={"ask": ["Bash"]})
        session = self.create(ALICE, bundle)
        turn = self.submit(ALICE, session)
        request = self.await_question(session)
        for words in (["session", "list"], ["session", "show", session], ["session", "events", session],
                      ["turn", "status", session, turn]):
            self.assertIn(session if words[1] == "list" else "", self.ok(self.admin(*words)))
        self.assertIn(request, self.ok(self.admin("approval", "list")))
        self.ok(self.admin("approval", "allow", request))
        self.await_status(session, turn, "completed")
        second = self.submit(ALICE, session)
        self.await_question(session)
        self.ok(self.admin("session", "cancel", session))
        self.await_status(session, second, "cancelled")
        self.ok(self.admin("session", "rm", session))
        self.assertEqual(self.as_user(ALICE, "session", "show", session).code, 1)
        for act in ("ListSessions session=*", f"GetSession session={session}", f"Subscribe session={session}",
                    f"GetTurn session={session}", f"ResolveApproval session={session}",
                    f"CancelTurn session={session}", f"DeleteSession session={session}"):
            self.world.daemons.until(f"admin={act} uid={ADMIN}", part="err")

    def test_reads_and_ends_what_is_in_a_session(self):
        bundle = self.bundle([bundles.bash("sleep 86494", background=True), bundles.bash("true"), bundles.say("done")],
                             rules={"allow": ["Bash(sleep:*)"], "ask": ["Bash"]})
        session = self.create(ALICE, bundle)
        turn = self.submit(ALICE, session)
        self.ok(self.admin("approval", "allow", "--always", self.await_question(session)))
        self.await_status(session, turn, "completed")
        self.assertIn("job_1", self.ok(self.admin("job", "list", session)))
        self.ok(self.admin("job", "stop", session, "job_1"))
        self.assertEqual(self.world.cell_commands("86494"), [])
        out = self.world.make_directory("admins")
        os.chown(out, ADMIN, ADMIN)
        self.ok(self.admin("session", "export", session, "--output", out))
        self.ok(self.admin("session", "show", session))
        self.assertIn("Bash", self.ok(self.admin("approval", "granted", session)))
        self.ok(self.admin("approval", "forget", session, "--all"))
        self.ok(self.admin("session", "compact", session))
        for act in ("ListTurns", "ListJobs", "StopJob", "ListAllowed", "ForgetAllowed", "ExportSession",
                    "CompactSession"):
            self.world.daemons.until(f"admin={act} session={session} uid={ADMIN}", part="err")

    def test_does_not_act_as_the_owner(self):
        project = self.world.make_directory("review")
        os.chown(project, ALICE, ALICE)
        bundle = self.bundle([bundles.bash("echo x >mount/write/current/made"), bundles.say("done")], write_=["."])
        session = self.ok(self.as_user(ALICE, "session", "create", bundle, "--cwd", project, "--review"))
        turn = self.submit(ALICE, session)
        self.await_status(session, turn, "completed")
        self.assertIn("made", self.ok(self.admin("changes", session)))
        refused = "it is for its owner alone, uid 54401, and for root"
        for words, code in ((["turn", "submit", session, "--prompt", "x"], 1),
                            (["session", "exec", session, "--", "env"], 125),
                            (["session", "fork", session], 1), (["commit", session], 1), (["undo", session], 1),
                            (["discard", session, "--yes"], 1)):
            done = self.admin(*words)
            self.assertEqual(done.code, code, (words, done))
            self.assertIn(refused, done.err, words)
        self.assertEqual(os.listdir(project), [])
        self.assertEqual(len(self.world.json("session", "show", session)["turns"]), 1)
        for words in (["turn", "submit", session, "--prompt", "x"], ["session", "exec", session, "--", "true"]):
            self.ok(self.world.ctl(*words))  # root may

    def test_is_who_has_the_group_when_it_connects(self):
        session = self.create(ALICE, self.bundle([bundles.say("done")]))
        # Served, but no admin.
        self.assertEqual(self.ok(self.as_user(BOB, "session", "list")), "no sessions")
        done = self.as_user(BOB, "session", "show", session)
        self.assertEnded(done, 1, "for root, and for the admin group")
        self.assertIn(session, self.ok(self.as_user(BOB, "session", "list", groups=[5, ADMINS, 7])))
        # Neither.
        done = self.as_user(ADMIN, "session", "list")
        self.assertEnded(done, 1, f"and group {ADMINS}; the peer has uid {ADMIN}")
        self.assertEqual(self.as_user(STRANGER, "session", "list", groups=[5]).code, 1)

    def test_a_wrong_group_is_refused_at_the_start(self):
        for name, why in (("no-such-group", "no such group"), ("65534", "stands for every gid")):
            world = World()
            self.addCleanup(world.close)
            ended = world.start_up("--admin-group", name).ended()
            self.assertEqual(ended.code, 1)
            self.assertIn(f"--admin-group {name}: ", ended.err)
            self.assertIn(why, ended.err)


class OwnPolicyTest(OwnersTest):
    SECRET = "alices-own-value-1"

    def policy(self, text, name="policy.yaml"):
        return self.world.make(f"{self.id().rpartition('.')[2]}.d/{name}",
                               "policy_version: odyssey.policy/v1\nsandbox:\n" + text)

    def session(self):
        bundle = self.bundle([bundles.bash("echo agents >file"), bundles.say("done")], env={"MARK": "ALICES_MARK"})
        own = {"ALICES_MARK": self.SECRET}
        session = self.create(ALICE, bundle, env=own)
        self.await_status(session, self.submit(ALICE, session, env=own), "completed")
        return session

    def test_shows_the_sessions_files_under_the_policy_that_is_given(self):
        session = self.session()
        shown = self.world.make("shown/inside", "shown\n")
        policy = self.policy("  mode: workspace_write\n  system_tools_mode: standard\n  permissions:\n"
                             f"    filesystem: {{mounts: {{read: [{os.path.dirname(shown)}]}}}}\n")
        before = self.world.json("session", "show", session)
        inside = f"mount/read/abs{shown}"
        for run in (self.world.ctl, lambda *words: self.as_user(ALICE, *words), self.admin):
            self.assertEqual(self.ok(run("session", "exec", session, "--policy", policy, "--", "cat", "file", inside)),
                             "agents\nshown")
        after = self.world.json("session", "show", session)
        self.assertEqual((after["turns"], after["message_count"]), (before["turns"], before["message_count"]))
        told = self.world.ctl("-o", "json", "session", "events", session, "--after", str(before["last_sequence"]))
        self.assertEqual([line["payload"]["type"] for line in told.lines()].count("exec_command_begin"), 3)
        # The agent's own cell has neither the mount nor what the policy gave.
        self.assertEqual(self.world.ctl("session", "exec", session, "--", "cat", inside).code, 1)
        self.world.daemons.until(f"admin=SessionExec session={session} uid={ADMIN}", part="err")

    def test_has_nothing_of_the_owners_environment(self):
        session = self.session()
        self.assertIn(self.SECRET, self.ok(self.as_user(ALICE, "session", "exec", session, "--", "env")))
        policy = self.policy("  mode: workspace_write\n  system_tools_mode: standard\n")
        self.assertNotIn(self.SECRET, self.ok(self.admin("session", "exec", session, "--policy", policy, "--", "env")))

    def test_the_ceiling_is_the_operators_own(self):
        session = self.session()
        private = self.world.make("private/key", "alices\n")
        os.chown(private, ALICE, ALICE)
        os.chmod(private, 0o600)
        policy = self.policy("  mode: workspace_write\n  system_tools_mode: standard\n  permissions:\n"
                             f"    filesystem: {{mounts: {{read: [{private}]}}}}\n")
        words = ("session", "exec", session, "--policy", policy, "--", "cat", f"mount/read/abs{private}")
        self.assertEqual(self.ok(self.as_user(ALICE, *words)), "alices")
        self.assertEnded(self.admin(*words), 125, private)

    def test_who_may_not_see_the_session_may_not_use_it(self):
        session = self.session()
        policy = self.policy("  mode: workspace_write\n  system_tools_mode: standard\n")
        done = self.as_user(BOB, "session", "exec", session, "--policy", policy, "--", "true")
        self.assertEnded(done, 125, "it is for its owner alone")

    def test_a_bundles_copy_in_the_store_stays_as_it_is(self):
        bundle = self.bundle([bundles.bash("true"), bundles.say("done")], mode="read_only")
        session = self.create(ALICE, bundle)
        policy = self.policy("  mode: workspace_write\n  system_tools_mode: standard\n")
        done = self.as_user(ALICE, "session", "exec", session, "--policy", policy, "--", "touch", "x")
        self.assertEnded(done, 125, "mode: workspace_write", "read_only is allowed", policy + ":3")
        policy = self.policy("  mode: read_only\n  system_tools_mode: standard\n")
        run = ("session", "exec", session, "--policy", policy, "--")
        self.assertIn("README.md", self.ok(self.as_user(ALICE, *run, "ls")))
        self.assertNotEqual(self.as_user(ALICE, *run, "touch", "README.md").code, 0)

    def test_any_dialect_and_a_wrong_one(self):
        session = self.session()
        odek = self.world.make("odek.d/odek.json", '{"sandbox": true, "sandbox_network": "none"}')
        done = self.world.ctl("session", "exec", session, "--policy", odek, "--", "cat", "/workspace/file")
        self.assertEqual((done.code, done.out), (0, "agents\n"), done)
        wrong = self.policy("  modus: read_only\n")
        self.assertEnded(self.world.ctl("session", "exec", session, "--policy", wrong, "--", "true"), 125, f"{wrong}:3")

    def test_gives_a_terminal(self):
        session = self.session()
        policy = self.policy("  mode: workspace_write\n  system_tools_mode: standard\n")
        shown = Terminal(self.world.argv("session", "exec", session, "--policy", policy, "--tty", "--", "sh", "-c",
                                         "test -t 0 && read word && echo =$word="))
        host.eventually(lambda: not shown.is_cooked(), HANG_S, "the command has the terminal")
        shown.type("typed\n")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertIn("=typed=", shown.text)


class QuotaTest(OwnersTest):

    @classmethod
    def prepare(cls):
        os.makedirs(cls.world.state, mode=0o755)
        cls.file = cls.world.make("state/policy.d/10.yaml", f"""version: odyssey.ceiling/v1
quotas:
  - users: ["*"]
    sessions: 4
    cells: 1
    turns: 2
  - users: ["{BOB}"]
    disk_mb: 1
""")

    def quota(self, uid, *words, **options):
        return self.as_user(uid, "quota", *words, **options)

    def test_sessions_cells_and_turns(self):
        wait = "until test -e mount/read/current/go; do sleep 0.02; done"
        project = self.world.make_directory("project")
        slow = bundles.write(self.world.directory + "/slow", [bundles.bash(wait), bundles.say("done")], read=["."])
        quick = bundles.write(self.world.directory + "/quick", [bundles.bash("true"), bundles.say("done")])
        first, second = self.create(ALICE, quick), self.create(ALICE, quick)
        for session in (first, second):  # the idle cell of the first one is ended for the second
            self.await_status(session, self.submit(ALICE, session), "completed")
        cells = [cell["key"]["session_id"] for cell in self.world.json("cell", "list")["cells"]]
        self.assertEqual([session for session in (first, second) if session in cells], [second])
        busy = self.ok(self.as_user(ALICE, "session", "create", slow, "--cwd", project))
        running = self.submit(ALICE, busy)
        self.await_status(busy, running, "running")
        host.eventually(lambda: self.world.cell_commands("mount/read/current/go"), HANG_S, "it runs")
        refused = self.submit(ALICE, first)
        self.await_status(first, refused, "failed")
        error = self.world.json("turn", "status", first, refused)["turn"]["error"]
        self.assertIn(f"at most 1 is allowed by {self.file}:5", error)
        self.submit(ALICE, busy)
        done = self.as_user(ALICE, "turn", "submit", first, "--prompt", "x")
        self.assertEnded(done, 1, "quota.turns: 2", f"at most 2 is allowed by {self.file}:6")
        self.create(ALICE, quick)
        done = self.as_user(ALICE, "session", "create", quick)
        self.assertEnded(done, 1, "quota.sessions: 4", f"uid {ALICE}", f"at most 4 is allowed by {self.file}:4")
        self.assertEqual(self.as_user(ALICE, "session", "fork", second).code, 1)
        lines = [line.split() for line in self.ok(self.quota(ALICE)).splitlines()]
        self.assertEqual(lines[:4], [["USED", "BOUND"], ["sessions", "4", "4"], ["cells", "1", "1"], ["turns", "2", "2"]])
        self.assertEqual((lines[4][0], lines[4][-1]), ("disk", "none"))
        told = self.world.json("quota", "--user", str(ALICE))
        self.assertEqual((told["used"]["sessions"], told["bounds"]["turns"]), (4, 2))
        self.world.make(project + "/go")
        self.await_status(busy, running, "completed")
        # Root has no bound of *.
        for _ in range(5):
            self.ok(self.world.ctl("session", "create", quick))

    def test_disk(self):
        small = bundles.write(self.world.directory + "/small", [bundles.say("done")])
        large = bundles.write(self.world.directory + "/large", [bundles.say("done")], bundle_id="large")
        with open(large + "/data", "wb") as file:
            file.write(os.urandom(2 << 20))
        session = self.create(BOB, small)
        self.await_status(session, self.submit(BOB, session), "completed")
        self.ok(self.as_user(BOB, "bundle", "install", large))
        for words in (["session", "create", small], ["turn", "submit", session, "--prompt", "x"],
                      ["bundle", "install", small]):
            done = self.as_user(BOB, *words)
            self.assertEnded(done, 1, "quota.disk_bytes: ", f"at most 1048576 is allowed by {self.file}:8")
        self.ok(self.as_user(BOB, "bundle", "rm", "large"))
        self.ok(self.as_user(BOB, "turn", "submit", session, "--prompt", "x"))

    def test_anothers_is_for_root_and_admins(self):
        done = self.quota(BOB, "--user", str(ALICE))
        self.assertEnded(done, 1, "another user's quota is for root and the admin group")
        self.assertEnded(self.quota(BOB, "--user", "0"), 1, "another user's quota")
        self.ok(self.quota(ADMIN, "--user", str(ALICE), groups=[ADMINS]))
        self.ok(self.world.ctl("quota", "--user", str(ALICE)))


class DrainTest(OwnersTest):
    WAIT = "until test -e mount/read/current/go; do sleep 0.02; done"

    def setUp(self):
        # Each test stops the daemons.
        if self.world.daemons.process.poll() is not None:
            self.world.up(*self.UP)

    UP = [*OwnersTest.UP, "--drain", "300s"]

    def start(self):
        project = self.world.make_directory(self.id().rpartition(".")[2] + ".project")
        bundle = self.bundle([bundles.bash(self.WAIT), bundles.say("done")], read=["."])
        session = self.ok(self.world.ctl("session", "create", bundle, "--cwd", project))
        turn = self.ok(self.world.ctl("turn", "submit", session, "--prompt", "x"))
        self.await_status(session, turn, "running")
        host.eventually(lambda: self.world.cell_commands("mount/read/current/go"), HANG_S, "it runs")
        return project, session, turn

    def drain(self):
        self.world._remember()
        down = self.world.start("down")
        host.eventually(lambda: self.world.json("status")["agentd"]["info"]["draining"], HANG_S, "draining")
        return down

    def test_what_runs_ends_and_what_is_queued_runs_after_the_next_start(self):
        project, session, turn = self.start()
        queued = self.ok(self.world.ctl("turn", "submit", session, "--prompt", "x"))
        down = self.drain()
        self.assertIn("draining", self.world.ctl("status").out)
        for words in (["turn", "submit", session, "--prompt", "x"], ["session", "fork", session],
                      ["session", "create", self.world.directory + "/" + self.id().rpartition(".")[2]]):
            self.assertEnded(self.world.ctl(*words), 1, "draining")
        self.assertEqual((self.status(session, turn), self.status(session, queued)), ("running", "queued"))
        self.world.make(project + "/go")
        self.assertEqual(down.ended().code, 0)
        self.world.daemons.ended()
        self.world.up(*self.UP)
        self.assertEqual(self.status(session, turn), "completed")
        self.await_status(session, queued, "completed")

    def test_a_second_signal_stops_at_once(self):
        _, session, turn = self.start()
        down = self.drain()
        self.assertEqual(self.world.ctl("down").code, 0)
        self.assertEqual(down.ended().code, 0)
        self.world.daemons.ended()
        self.world.up(*self.UP)
        self.assertEqual(self.status(session, turn), "interrupted")

    def test_it_ends_with_its_time(self):
        self.assertEqual(self.world.down().code, 0)
        self.world.up(*OwnersTest.UP, "--drain", "1s")
        _, session, turn = self.start()
        self.assertEqual(self.world.down().code, 0)
        self.world.up(*self.UP)
        self.assertEqual(self.status(session, turn), "interrupted")


class HangUpTest(OwnersTest):

    def test_a_hang_up_of_run_cancels_its_turn(self):
        """Whether it works or waits for an answer."""
        wait = bundles.write(self.world.directory + "/wait", [bundles.bash("sleep 86495"), bundles.say("done")])
        ask = bundles.write(self.world.directory + "/ask", [bundles.bash("true"), bundles.say("done")],
                            rules={"ask": ["Bash"]})
        session = self.ok(self.world.ctl("session", "create", wait))
        client = self.world.start("run", wait, "--session", session, "--prompt", "x")
        host.eventually(lambda: self.world.cell_commands("86495"), HANG_S, "the command runs")
        os.kill(client.pid, signal.SIGHUP)
        self.assertNotEqual(client.ended().code, 0)
        self.assertEqual(self.world.json("session", "show", session)["turns"][0]["status"], "cancelled")
        self.assertEqual(self.world.cell_commands("86495"), [], "its process tree is gone when the turn has ended")

        session = self.ok(self.world.ctl("session", "create", ask))
        shown = Terminal(self.world.argv("run", ask, "--session", session, "--prompt", "x"))
        self.await_question(session)
        os.kill(shown.pid, signal.SIGHUP)
        shown.ended()
        turn = self.world.json("session", "show", session)["turns"][0]
        self.await_status(session, turn["id"], "cancelled")
        self.assertEqual(self.world.json("approval", "list")["approvals"], [])


if __name__ == "__main__":
    main()
