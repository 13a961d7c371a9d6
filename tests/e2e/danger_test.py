#!/usr/bin/env python3
"""danger_full_access from the command line to the host: who gets it, as whom, and who does not."""

import os
import pwd
import re
import subprocess
import unittest

import bundles
import host
from world import HANG_S, World, main

# Users that every Debian has and nobody logs in as. BOTH is in the grant file and in the ceiling,
# FILE in the file alone, CEILING in the ceiling alone; STRANGER may not even connect.
BOTH, FILE, CEILING, STRANGER = (pwd.getpwnam(name) for name in ("games", "daemon", "bin", "man"))
FLAG = "--dangerous-sandbox-mode"
SAYS = """id -u; id -g; id -G; pwd; echo $HOME; readlink /proc/self/ns/mnt; echo kept >made
grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; cat /proc/self/cgroup"""


class DangerWorld(World):
    """`grants`: the grant file, None: there is none."""

    def __init__(self, grants):
        super().__init__()
        self.grant_file = self.make("state/danger_full_access", grants or "")
        if grants is None:
            os.unlink(self.grant_file)
        self.make("state/policy.d/danger.yaml", f"""version: odyssey.ceiling/v1
grants:
  - users: ["{BOTH.pw_name}", "{CEILING.pw_name}", "root"]
    network: [full]
    mode: [danger_full_access]
    env: [PROBE_WORD]
    write: ["{self.directory}/work"]
  - users: ["{FILE.pw_name}"]
    network: [full]
    write: ["{self.directory}/work"]
builtin: false
""")
        self.work = self.make_directory("work")
        os.chmod(self.work, 0o1777)

    def options_as(self, user):
        if user is None:
            return {"cwd": self.work}
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": self.work,
                "env": {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}}

    def ctl_as(self, user, *arguments, **options):
        """odyssey-ctl run by that user; None: root."""
        return self.ctl(*arguments, **self.options_as(user), **options)

    def up(self, **options):
        users = [word for user in (BOTH, FILE, CEILING)
                 for word in ("--allow-user", user.pw_name if user is BOTH else str(user.pw_uid))]
        return super().up(*users, **options)


class DangerTest(unittest.TestCase):
    GRANTS = f"{BOTH.pw_name}\n{FILE.pw_uid}  # by number\n"

    @classmethod
    def setUpClass(cls):
        cls.world = DangerWorld(cls.GRANTS)
        cls.addClassCleanup(cls.world.close)
        cls.world.up()

    def setUp(self):
        self.made = self.world.work + "/made"
        self.addCleanup(self.clean)

    def clean(self):
        for name in os.listdir(self.world.work):
            os.unlink(f"{self.world.work}/{name}")

    def bundle(self, *steps, **options):
        path = f"{self.world.directory}/{self.id().rpartition('.')[2]}"
        subprocess.run(["rm", "-rf", path], check=True)
        return bundles.write(path, list(steps), **{"mode": "danger_full_access", "network": ["*"],
                                                   **options})

    def marks(self, **options):
        """A bundle whose one command leaves a file."""
        return self.bundle(bundles.bash("echo ran >made"), bundles.say("did=${r.error}"), **options)

    def assertRefused(self, done, *words):
        """It failed, said each word, and nothing ran."""
        self.assertNotEqual(done.code, 0, done)
        for word in words:
            self.assertIn(word, done.out + done.err)
        self.assertFalse(os.path.exists(self.made), done)

    def run_as(self, user, bundle, *more):
        return self.world.ctl_as(user, "run", bundle, "--prompt", "x", *more)


class GrantedTest(DangerTest):

    def assertIsBoth(self, said):
        lines = said.split("\n")
        self.assertEqual(lines[:7], [str(BOTH.pw_uid), str(BOTH.pw_gid), str(BOTH.pw_gid),
                                     self.world.work, BOTH.pw_dir, os.readlink("/proc/self/ns/mnt"),
                                     "CapEff:\t" + "0" * 16], said)
        self.assertIn("NoNewPrivs:\t1", lines)
        self.assertRegex(said, r"/odyssey-\d+-\d+/exec-\d+\n")
        self.assertEqual(os.stat(self.made).st_uid, BOTH.pw_uid)

    def test_jobs_run_on_the_host_and_leftovers_are_told(self):
        bundle = self.bundle(
            bundles.bash("sleep 47130", "job", background=True),
            bundles.call("Job", "stopped", action="stop", job_id="job_1"),
            bundles.bash("sleep 47131 & sleep 0.3", "left"),
            bundles.say("@@${job.state} ${stopped.outcome} ${left.ended_processes | join \", \"}@@"))
        done = self.run_as(BOTH, bundle, FLAG)
        self.assertIn("@@running signalled sleep@@", done.out, done)
        self.assertEqual(subprocess.run(["pgrep", "-f", "sleep 4713[01]"], capture_output=True).stdout, b"")

    def test_the_variables_of_a_session_are_its_owners(self):
        bundle = self.bundle(bundles.bash("echo $PROBE_WORD"), bundles.say("@@${r.stdout}@@"),
                             mode="workspace_write", network=(), env={"PROBE_WORD": "PROBE_WORD"})
        mine = self.world.options_as(BOTH)
        mine["env"] = {**mine.get("env", os.environ), "PROBE_WORD": "mine"}
        done = self.world.ctl("session", "create", bundle, **mine)
        self.assertEqual(done.code, 0, done)
        again = ("run", "--session", done.out.strip(), bundle, "--prompt", "x")
        by_root = self.world.ctl(*again, env={**os.environ, "PROBE_WORD": "roots"})
        self.assertIn("@@mine", by_root.out, by_root)
        mine["env"]["PROBE_WORD"] = "changed"
        changed = self.world.ctl(*again, **mine)
        self.assertIn("@@changed", changed.out, changed)

    def test_an_agents_command_is_the_users_own(self):
        bundle = self.bundle(bundles.bash(SAYS), bundles.call("Write", "w", path="note", content="n"),
                             bundles.say("@@${r.stdout}@@${w.error}@@"))
        done = self.world.ctl_as(BOTH, "-o", "json", "run", bundle, "--prompt", "x", FLAG)
        self.assertEqual(done.code, 0, done)
        _, said, error, _ = done.lines()[-1]["payload"]["payload"]["message"].split("@@")
        self.assertIsBoth(said)
        self.assertEqual(error, "")
        self.assertEqual(os.stat(self.world.work + "/note").st_uid, BOTH.pw_uid)

        session = self.world.json("session", "list")["sessions"][0]
        self.assertEqual(session["owner_uid"], BOTH.pw_uid)
        cell = next(cell for cell in self.world.json("cell", "list")["cells"]
                    if cell["key"]["session_id"] == session["id"])
        self.assertEqual(cell["host_uid"], BOTH.pw_uid)
        self.assertIn("NOTHING CONFINES THIS", self.world.ctl("cell", "show", cell["cell_id"]).out)

    def test_it_is_audited(self):
        self.assertEqual(self.run_as(BOTH, self.marks(), FLAG).code, 0)
        session = self.world.json("session", "list")["sessions"][0]["id"]

        def records():
            log = self.world.ctl("audit", "tail", "-n", "200").out.splitlines()
            found = [line for line in log if session in line or "echo ran >made" in line]
            return found if any(" exec_end " in line for line in log) else []
        found = "\n".join(host.eventually(records, HANG_S, "the end of the command in the log"))
        self.assertRegex(found, rf" grant .*danger_full_access.*owner_uid={BOTH.pw_uid}\b|"
                                rf" grant .*owner_uid={BOTH.pw_uid}\b.*danger_full_access")
        self.assertRegex(found, rf" exec .*owner_uid={BOTH.pw_uid}\b|"
                                rf" exec .*argv=.*echo ran >made")

    def test_a_terminal_says_so(self):
        done = self.run_as(BOTH, self.marks(), FLAG)
        self.assertEqual(done.code, 0, done)
        self.assertIn("UNCONFINED on the host", done.out)

    def test_an_operator_names_the_owner(self):
        exec_ = ["exec", "--mode", "danger_full_access", "--workspace", self.world.work]
        full = ["--network", "full"]
        command = ["--", "sh", "-c", SAYS]
        done = self.world.ctl(*exec_, *full, FLAG, "--owner", str(BOTH.pw_uid), *command)
        self.assertEqual(done.code, 0, done)
        self.assertIsBoth(done.out)
        os.unlink(self.made)
        both, file, ceiling = (["--owner", str(user.pw_uid)] for user in (BOTH, FILE, CEILING))
        for words, why in (([*full, FLAG], "never for uid 0"),
                           ([*full, *both], "allow_danger"),
                           ([FLAG, *both], "bundle disables network"),
                           ([*full, FLAG, *ceiling], "does not name bin"),
                           ([*full, FLAG, *file], "mode: danger_full_access"),
                           ([*full, FLAG, "--owner", "54321"], "54321")):
            done = self.world.ctl(*exec_, *words, *command)
            self.assertRefused(done, why)
            self.assertEqual(done.code, 125, done)

    def test_who_is_taken_out_of_the_file_runs_no_more(self):
        session = self.world.ctl_as(BOTH, "session", "create", self.marks(), FLAG).out.strip()
        run = ["run", "--session", session, self.marks(), "--prompt", "x"]
        self.assertEqual(self.world.ctl_as(BOTH, *run).code, 0)
        self.assertEqual(os.stat(self.made).st_uid, BOTH.pw_uid)
        os.unlink(self.made)
        self.world.make("state/danger_full_access", "# nobody\n")
        try:
            done = self.world.ctl_as(BOTH, *run)
            self.assertIn("does not name games (uid 5)", done.out + done.err)
            self.assertFalse(os.path.exists(self.made), done)
        finally:
            self.world.make("state/danger_full_access", self.GRANTS)


class RefusedTest(DangerTest):
    """Each of what is needed, alone missing."""

    def assertRefused(self, done, *words):
        super().assertRefused(done, *words)
        self.assertEqual(host.pids_of(BOTH.pw_uid, FILE.pw_uid, CEILING.pw_uid), [])
        self.assertEqual(done.out, "", "no session, and no turn that is said to be unconfined")
        self.assertEqual(self.world.json("session", "list")["sessions"], [])

    def test_the_flag(self):
        self.assertRefused(self.run_as(BOTH, self.marks()), FLAG)

    def test_the_flag_for_less(self):
        self.assertRefused(self.run_as(BOTH, self.marks(mode="workspace_write", network=[]), FLAG),
                           "allow_danger", "workspace_write")

    def test_the_file(self):
        why = self.world.grant_file + " does not name bin (uid 2)"
        self.assertRefused(self.run_as(CEILING, self.marks(), FLAG), "create a session", why)
        self.assertRefused(self.world.ctl_as(CEILING, "session", "create", self.marks(), FLAG), why)

    def test_the_ceiling(self):
        self.assertRefused(self.run_as(FILE, self.marks(), FLAG), "mode: danger_full_access",
                           "operator")

    def test_the_network(self):
        self.assertRefused(self.run_as(BOTH, self.marks(network=[]), FLAG),
                           "bundle disables network but host execution cannot enforce that policy")

    def test_another_user_than_root(self):
        self.assertRefused(self.run_as(None, self.marks(), FLAG), "never for uid 0")

    def test_a_client_of_agentd(self):
        self.assertRefused(self.run_as(STRANGER, self.marks(), FLAG), str(STRANGER.pw_uid))

    def test_the_way_around_agentd(self):
        done = self.world.ctl_as(BOTH, "exec", "--mode", "danger_full_access", FLAG, "--network",
                                 "full", "--workspace", self.world.work, "--", "touch", "made")
        self.assertRefused(done, str(BOTH.pw_uid))

    def test_up_names_a_user_who_is_none(self):
        done = self.world.ctl("up", "--allow-user", "no-such-user")
        self.assertEqual(done.code, 1, done)
        self.assertIn("--allow-user no-such-user: no such user", done.err)


class OthersTest(DangerTest):
    """A session that acts as its owner is nobody else's, but root's."""

    def create(self, *steps, **options):
        done = self.world.ctl_as(BOTH, "session", "create", self.bundle(*steps, **options), FLAG)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def test_nobody_else_makes_it_act(self):
        session = self.create(bundles.bash("echo ran >made"), bundles.say("done"))
        for words in (["turn", "submit", session, "--prompt", "x"],
                      ["session", "exec", session, "--", "sh", "-c", "echo ran >made"],
                      ["session", "cancel", session], ["turn", "cancel", session],
                      ["session", "rm", session]):
            self.assertRefused(self.world.ctl_as(FILE, *words), "for its owner alone")
        for user in (BOTH, None):
            done = self.world.ctl_as(user, "session", "exec", session, "--", "id", "-u")
            self.assertEqual((done.code, done.out), (0, f"{BOTH.pw_uid}\n"), done)

    def test_nobody_else_answers_for_it(self):
        session = self.create(bundles.bash("echo ran >made"), bundles.say("done"),
                              rules={"ask": ["*"]})
        turn = self.world.ctl_as(BOTH, "turn", "submit", session, "--prompt", "x").out.strip()

        def open_():
            return self.world.json("approval", "list", "--session", session)["approvals"]
        request = host.eventually(open_, HANG_S, "a question")[0]["request"]["request_id"]
        self.assertRefused(self.world.ctl_as(FILE, "approval", "allow", request),
                           "for its owner alone")
        self.assertEqual(self.world.ctl_as(BOTH, "approval", "allow", request).code, 0)

        def ended():
            return self.world.json("turn", "status", session, turn)["turn"]["status"] == "completed"
        host.eventually(ended, HANG_S, "the end of the turn")
        self.assertEqual(os.stat(self.made).st_uid, BOTH.pw_uid)

    def test_a_confined_session_is_its_owners_too(self):
        """It has what its owner is granted, and shows his files."""
        bundle = self.bundle(bundles.bash("echo ran"), bundles.say("done"), mode="workspace_write",
                             network=[], rules={"ask": ["*"]})
        session = self.world.ctl_as(BOTH, "session", "create", bundle).out.strip()
        turn = self.world.ctl_as(BOTH, "turn", "submit", session, "--prompt", "x").out.strip()

        def listed(user, *words):
            done = self.world.ctl_as(user, "-o", "json", *words)
            self.assertEqual(done.code, 0, done)
            return done.out

        host.eventually(lambda: session in listed(BOTH, "approval", "list"), HANG_S, "a question")
        for words in (["session", "list"], ["approval", "list"]):
            self.assertIn(session, listed(BOTH, *words))
            self.assertIn(session, listed(None, *words))
            self.assertNotIn(session, listed(FILE, *words))
        for words in (["turn", "submit", session, "--prompt", "x"], ["turn", "cancel", session],
                      ["turn", "status", session, turn], ["session", "show", session],
                      ["session", "events", session], ["session", "exec", session, "--", "id"],
                      ["session", "rm", session]):
            self.assertRefused(self.world.ctl_as(FILE, *words), "for its owner alone")
        self.assertEqual(self.world.ctl_as(BOTH, "session", "rm", session).code, 0)


class ExplainTest(DangerTest):
    """What is told before anything runs."""

    SAYS = ("NOTHING CONFINES THIS", f"games (uid {BOTH.pw_uid})", "no cell, no namespace",
            "network full: the host's network")

    def assertTells(self, done, code, *words):
        self.assertEqual(done.code, code, done)
        for word in (*self.SAYS, f"needs the operator's grant file {self.world.grant_file} to name "
                     "games or 5\n", FLAG, *words):
            self.assertIn(word, done.out)
        self.assertFalse(os.path.exists(self.made))

    def test_exec_explain(self):
        done = self.world.ctl_as(None, "exec", "--explain", "--mode", "danger_full_access",
                                 "--network", "full", "--owner", str(BOTH.pw_uid), "--workspace",
                                 self.world.work, "--", "touch", "made")
        self.assertTells(done, 0, f"in {self.world.work}: commands start there",
                         "granted mode danger_full_access by", "ceiling for uid 5 (games)")

    def test_exec_explain_needs_the_owner(self):
        done = self.world.ctl_as(None, "exec", "--explain", "--mode", "danger_full_access",
                                 "--network", "full")
        self.assertEqual(done.code, 125, done)
        self.assertIn("--owner", done.err)

    def test_policy_explain_tells_the_same_digest_as_the_supervisor(self):
        bundle = self.marks()
        done = self.world.ctl_as(BOTH, "policy", "explain", bundle)
        self.assertTells(done, 0, f"in {self.world.work}: commands start there")
        self.assertEqual(self.run_as(BOTH, bundle, FLAG).code, 0)
        session = self.world.json("session", "list")["sessions"][0]["id"]
        cell = next(cell for cell in self.world.json("cell", "list")["cells"]
                    if cell["key"]["session_id"] == session)
        self.assertIn("policy digest " + cell["policy_digest"], done.out)

    def test_policy_explain_for_whom_the_ceiling_refuses(self):
        done = self.world.ctl_as(None, "policy", "explain", "--user", FILE.pw_name, self.marks())
        self.assertEqual(done.code, 1, done)
        for word in ("NOTHING CONFINES THIS", "daemon (uid 1)", "to name daemon or 1"):
            self.assertIn(word, done.out)
        self.assertIn("not granted by the operator's ceiling to uid 1 (daemon)", done.err)

    def test_policy_check(self):
        for words in (["--path", "/etc/passwd"], ["--path", "/nonexistent/x"]):
            done = self.world.ctl_as(BOTH, "policy", "check", self.marks(), *words)
            self.assertEqual(done.code, 0, done)
            self.assertIn("by mode danger_full_access", done.out)
        done = self.world.ctl_as(FILE, "policy", "check", self.marks())
        self.assertEqual(done.code, 3, done)
        self.assertIn("mode: danger_full_access: not granted", done.out)

    def test_json(self):
        done = self.world.ctl_as(BOTH, "-o", "json", "policy", "explain", self.marks())
        self.assertEqual((done.code, len(done.json()["needs"])), (0, 3), done)


class NobodyGrantedTest(DangerTest):
    GRANTS = None

    def test_there_is_nothing_that_could_become_a_user(self):
        self.assertFalse(os.path.exists(self.world.state + "/run/host.sock"))
        below = {host.name(pid) for pid in host.descendants(self.world.daemons.pid)}
        self.assertNotIn("odyssey-host-runner", below)

    def test_no_session_is_made(self):
        done = self.run_as(BOTH, self.marks(), FLAG)
        self.assertRefused(done, "the operator grants it to no user")
        self.assertEqual(done.out, "", done)
        self.assertEqual(self.world.json("session", "list")["sessions"], [])
        self.assertRefused(self.run_as(BOTH, self.marks(), FLAG), "no grant file")
        done = self.world.ctl_as(BOTH, "policy", "explain", self.marks())
        self.assertIn("there is none, so no user has it", done.out)


if __name__ == "__main__":
    main()
