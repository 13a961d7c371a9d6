#!/usr/bin/env python3
"""odyssey-ctl up without root: what works as it does for root, what is weaker, and what is refused (docs/ROOTLESS.md)."""

import os
import re
import shutil
import socket
import subprocess
import unittest

import bundles
import host
from world import CTL, HANG_S, Ended, World, main

UID, GID, OTHER_GROUP = 4711, 4712, 4713
AS_USER = ("setpriv", f"--reuid={UID}", f"--regid={GID}", f"--groups={OTHER_GROUP}", "--inh-caps=-all")
# Of the list in status and doctor, where no control group is delegated and /dev/fuse is root's.
WEAKER = {"audit", "cpu", "danger", "deny", "disk", "groups", "kernel_limits", "memory", "mounts", "network", "pids",
          "suspend", "uid"}


class UsersWorld(World):
    """A world whose daemons and clients are an ordinary user's, with a home that has nothing in it."""

    def __init__(self, prefix=()):
        super().__init__([*prefix, *AS_USER])
        os.chown(self.directory, UID, GID)
        self.home = self.own_directory("home")
        self.project = self.own_directory("project")
        self.environment = {"HOME": self.home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}

    def own_directory(self, name):
        path = self.make_directory(name)
        os.chown(path, UID, GID)
        return path

    def start_up(self, *arguments, env=None):
        return super().start_up(*arguments, env={"HOME": self.home, **(env or {})})

    def typed(self, line, cwd=None):
        """What a person types in a shell, without --state."""
        done = subprocess.run([*self.prefix, "sh", "-c", line], capture_output=True, text=True, timeout=HANG_S,
                              check=False, cwd=cwd or self.project,
                              env={**self.environment, "PATH": os.path.dirname(CTL) + ":" + os.environ["PATH"]})
        return Ended(done.returncode, done.stdout, done.stderr)


class UsersTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.world = UsersWorld()
        cls.addClassCleanup(cls.world.close)
        cls.world.up()

    def exec(self, *words, **options):
        return self.world.ctl("exec", *words, cwd=self.world.project, **options)

    def shell(self, script, *options):
        return self.exec(*options, "--", "sh", "-c", script)

    def policy(self, text):
        return self.world.make("policy.yaml", "policy_version: odyssey.policy/v1\nsandbox: {mode: workspace_write, "
                               "system_tools_mode: standard, " + text + "}\n")

    def assertEnded(self, done, code, *words):
        self.assertEqual(done.code, code, done)
        for word in words:
            self.assertIn(word, done.err)


class TypedTest(unittest.TestCase):
    """What a person types, in an empty folder, with a home of their own and no option that says where."""

    def setUp(self):
        self.world = UsersWorld()
        self.addCleanup(shutil.rmtree, self.world.directory)

    def type(self, line, code=0):
        done = self.world.typed(line)
        self.assertEqual(done.code, code, done)
        return done

    def assertWorks(self, state, option=""):
        ctl = "odyssey-ctl" + option
        try:
            done = self.type(ctl + " up --detach")
            self.assertIn(f"the daemons serve on {state}", done.err)
            self.assertEqual((os.stat(state).st_uid, os.stat(state).st_mode & 0o777), (UID, 0o700))
            done = self.type(ctl + " exec -- sh -c 'id; echo hi > x; cat x'")
            self.assertEqual(done.out, "uid=1000(agent) gid=1000(agent) groups=1000(agent),65534(nogroup)\nhi\n")
            self.assertEqual(os.listdir(self.world.project), [])
            self.type(ctl + " exec --workspace . -- sh -c 'echo hi > written'")
            written = os.path.join(self.world.project, "written")
            self.assertEqual((os.stat(written).st_uid, os.stat(written).st_gid), (UID, GID))
            with open(written, encoding="utf-8") as file:
                self.assertEqual(file.read(), "hi\n")
            bundles.write(os.path.join(self.world.home, "bundle"), [bundles.bash("id -u; pwd"), bundles.say("done")])
            done = self.type(ctl + " run ~/bundle 'go'")
            self.assertIn("done", done.out)
        finally:
            done = self.world.typed(ctl + " down")
        self.assertEqual((done.code, done.out), (0, "stopped\n"), done)
        host.eventually(lambda: not host.pids_of(UID), HANG_S,
                        lambda: [host.command_line(pid) for pid in host.pids_of(UID)])

    def test_in_the_home(self):
        self.assertWorks(self.world.home + "/.odyssey")

    def test_in_a_state_directory_that_an_option_names(self):
        state = self.world.own_directory("states") + "/odyssey"
        self.assertWorks(state, " --state " + state)


class CellTest(UsersTest):
    """Commands in cells work as they do with root."""

    def test_directories_of_the_user_are_written_as_the_user(self):
        other = self.world.own_directory("other")
        done = self.shell(f"touch a '{other}/b' && ls -ln a", "--workspace", self.world.project, "--write", other)
        self.assertEqual(done.code, 0, done)
        self.assertIn(" 1000 1000 ", done.out)
        for path in (self.world.project + "/a", other + "/b"):
            self.assertEqual((os.stat(path).st_uid, os.stat(path).st_gid), (UID, GID))

    def test_changes_are_reviewed(self):
        place = self.world.own_directory("reviewed")
        self.world.make("reviewed/old", "old\n")
        os.chown(place + "/old", UID, GID)
        done = self.shell("echo new >new; echo changed >old; mkdir -p d/e; echo x >d/e/f", "--review", "--cell", "rev",
                          "--workspace", place)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(sorted(os.listdir(place)), ["old"])
        done = self.world.ctl("commit", "rev")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(sorted(os.listdir(place)), ["d", "new", "old"])
        self.assertEqual(os.stat(place + "/new").st_uid, UID)
        done = self.world.ctl("undo", "rev")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(sorted(os.listdir(place)), ["old"])

    def test_a_kept_cell_is_removed_with_what_it_has(self):
        script = "mkdir -p /cell/data/home/closed/in && chmod 0 /cell/data/home/closed && sleep 1000"
        cells = self.world.state + "/supervisor/cells"
        others, trees = self.cell_pids(), os.listdir(cells)
        running = self.world.start("exec", "--cell", "kept", "--", "sh", "-c", "echo began; " + script)
        running.until("began")
        before = self.cell_pids() - others
        self.assertTrue(before)
        self.assertEqual(self.world.ctl("cell", "rm", "kept", "--purge").code, 0)
        self.assertEqual(self.cell_pids() & before, set())  # at once: none is left when it returns
        self.assertEqual(os.listdir(cells), trees)

    def cell_pids(self):
        """Processes in pid namespaces below the host's."""
        found = set()
        for pid in host.pids_of(UID):
            try:
                with open(f"/proc/{pid}/status", encoding="utf-8") as status:
                    if re.search(r"^NSpid:\t\d+\t\d", status.read(), re.MULTILINE):
                        found.add(pid)
            except OSError:
                continue
        return found

    def test_a_deadline_kills_everything(self):
        done = self.shell("setsid sleep 4321 </dev/null >/dev/null 2>&1 & sleep 4321", "--timeout", "300ms")
        self.assertEnded(done, 124, "timed out")
        host.eventually(lambda: not [pid for pid in host.pids_of(UID) if "4321" in host.command_line(pid)], HANG_S,
                        "sleep is killed")

    def test_cells_end_with_the_worker_that_was_killed(self):
        running = self.world.start("exec", "--cell", "dying", "--", "sh", "-c", "echo began; sleep 4322")
        running.until("began")
        os.kill(self.world.worker, 9)
        self.assertEqual(running.ended().code, 125)
        host.eventually(lambda: not self.cell_pids(), HANG_S, self.cell_pids)
        host.eventually(lambda: self.exec("--", "true").code == 0, HANG_S, "a new worker serves")
        self.world._remember()

    def test_approvals_are_recorded(self):
        bundle = bundles.write(self.world.directory + "/asking", [bundles.bash("echo approved"), bundles.say("done")],
                               rules={"ask": ["Bash"]})
        done = self.world.ctl("run", bundle, "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertIn("approved", done.out + done.err)

    def test_what_is_weaker_is_said(self):
        names = {feature["name"][len("rootless_"):] for feature in
                 self.world.json("status")["supervisor"]["info"]["features"]
                 if feature["name"].startswith("rootless_") and not feature.get("inForce", feature.get("in_force"))}
        self.assertEqual(names, WEAKER)
        status = self.world.ctl("status")
        doctor = self.world.ctl("doctor")
        for name in WEAKER:
            self.assertRegex(status.out, rf"(?m)^  weaker without root: {name}: \w")
            self.assertIn(f"rootless_{name}", doctor.out)
        self.assertIn("allowed without root", doctor.out)


class RefusedTest(UsersTest):
    """What this mode cannot enforce is refused by key, value and what is allowed."""

    def test_limits_without_a_control_group(self):
        for option, value, key in (("--memory", "512m", "limits.memory_bytes: 536870912"),
                                   ("--memory", "2g", "limits.memory_bytes: 2147483648"),
                                   ("--cpus", "2", "limits.cpu_millis: 2000")):
            self.assertEnded(self.exec(option, value, "--", "true"), 125, option, key, "runs without root",
                             "no control group is delegated")

    def test_a_manifest_that_asks_also_for_the_default(self):
        steps = [bundles.bash("true"), bundles.say("done")]
        silent = bundles.write(self.world.directory + "/silent", steps)
        self.assertEqual(self.world.ctl("run", silent, "go").code, 0)
        for number, (key, value) in enumerate((("memory_mb", 512), ("cpu", 1), ("memory_mb", 64))):
            asking = bundles.write(f"{self.world.directory}/asking-{number}", steps, resources={key: value})
            done = self.world.ctl("run", asking, "go")
            self.assertNotEqual(done.code, 0, done)
            self.assertIn("runs without root", done.out + done.err)

    def test_a_ceiling_that_bounds_what_nothing_enforces(self):
        directory = self.world.own_directory("state/policy.d")
        self.addCleanup(shutil.rmtree, directory)
        path = directory + "/bound.yaml"
        with open(path, "w", encoding="utf-8") as file:
            file.write("version: odyssey.ceiling/v1\nlimits:\n  max: {memory_mb: 256}\n")
        os.chown(path, UID, GID)
        os.chmod(path, 0o644)
        self.assertEnded(self.exec("--", "true"), 125, "limits.memory_bytes: 268435456", "policy.d")

    def test_the_hosts_network(self):
        self.assertEnded(self.exec("--network", "full", "--", "true"), 125, "network", "full", "runs without root")

    def test_a_disk(self):
        policy = self.policy("resources: {disk_mb: 64}")
        self.assertEnded(self.exec("--policy", policy, "--cell", "disk", "--", "true"), 125, "disk", "67108864",
                         "loop device")

    def test_denied_names(self):
        policy = self.policy("deny: ['**/.env']")
        self.assertEnded(self.exec("--policy", policy, "--workspace", self.world.project, "--", "true"), 125, "deny",
                         "**/.env", "/dev/fuse")

    def test_danger(self):
        done = self.exec("--mode", "danger_full_access", "--dangerous-sandbox-mode", "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn("danger_full_access", done.err)

    def test_suspending(self):
        running = self.world.start("exec", "--cell", "still", "--", "sh", "-c", "echo began; sleep 1000")
        running.until("began")
        done = self.world.ctl("cell", "suspend", "still", "--reason", "x")
        self.assertNotEqual(done.code, 0)
        self.assertIn("cgroup", done.err)

    def test_a_quarantine_ends_the_cell_until_its_user_releases_it(self):
        self.assertEqual(self.exec("--cell", "bad", "--", "true").code, 0)
        self.assertEqual(self.world.ctl("cell", "quarantine", "bad", "--reason", "odd").code, 0)
        self.assertEqual(self.exec("--cell", "bad", "--", "true").code, 125)
        self.assertEqual(self.world.ctl("cell", "release", "bad").code, 0)
        self.assertEqual(self.exec("--cell", "bad", "--", "true").code, 0)

    def test_other_users(self):
        other = UsersWorld()
        self.addCleanup(other.close)
        done = other.ctl("up", "--allow-user", "daemon")
        self.assertEqual(done.code, 1, done)
        self.assertIn(f"without root the daemons serve uid {UID} alone", done.err)

    def test_the_supervisor_takes_no_other_uid(self):
        program = os.path.join(os.path.dirname(CTL), "odyssey-supervisor")
        places = ["--state", self.world.directory + "/s", "--run", self.world.directory + "/r"]
        for uid, words in (("0", "root is not allowed"), (str(UID), "as the uid of --rootless")):
            started = subprocess.Popen([program, *places, "--rootless", uid], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            self.addCleanup(started.terminate)
            self.assertEqual(started.stdout.readline(), "")  # and not "ready"
            self.assertIn(words, started.communicate()[1])


# Run in a cell: each attack as a name, and what came of it, a line each.
ATTACK = r"""
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def tell(name, attack):
    try:
        print(name, "ESCAPED", attack())
    except OSError as error:
        print(name, os.strerror(error.errno or 0).replace(" ", "_"))
def ptrace(pid):
    if libc.ptrace(16, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
def connect(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address)
def tcp(port):
    with socket.socket() as s:
        s.connect(("127.0.0.1", port))
pids, paths, directories, abstract, port = eval(sys.argv[1])
for pid in pids:
    tell("signal", lambda: os.kill(pid, 0))
    tell("ptrace", lambda: ptrace(pid))
    tell("memory", lambda: open(f"/proc/{pid}/mem", "rb").close())
    tell("root", lambda: os.listdir(f"/proc/{pid}/root/"))
for path in paths:
    tell("socket", lambda: connect(path))
for path in directories:
    tell("list", lambda: os.listdir(path))
    tell("write", lambda: open(path + "/planted", "w").close())
tell("abstract", lambda: connect("\0" + abstract))
tell("tcp", lambda: tcp(port))
tell("passwd", lambda: os.chmod("/etc/passwd", 0o666))
tell("top", lambda: os.chmod("/", 0o777))
tell("init", lambda: os.chmod("/.odyssey", 0o777))
tell("mirror", lambda: os.chmod("/workspace/mount", 0o777))
tell("setuid", lambda: os.chmod("/tmp/x" if open("/tmp/x", "w").close() is None else "", 0o4755))
names = [open(f"/proc/{pid}/comm").read().strip() for pid in os.listdir("/proc") if pid.isdigit()]
print("processes", *sorted(set(names)))
tell("signal", lambda: os.kill(-1, 9))
"""


class ClaimsTest(UsersTest):
    """A command has the uid of the daemons, and nothing else of them."""

    def daemons(self):
        return [self.world.daemons.pid, self.world.keeper, self.world.worker, self.world.rpc, self.world.agentd]

    def test_it_reaches_no_daemon(self):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        name = f"odyssey-e2e-{os.getpid()}"
        listener.bind("\0" + name)
        listener.listen()
        on_loopback = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(on_loopback.close)
        read = self.world.own_directory("read")
        before = self.daemons()
        attacked = (before, [self.world.socket(which) for which in ("supervisor", "agentd")],
                    [self.world.state, self.world.state + "/run", self.world.state + "/supervisor", self.world.home],
                    name, on_loopback.getsockname()[1])
        mirrored = self.policy(f"permissions: {{filesystem: {{mounts: {{read: ['{read}']}}}}}}")
        done = self.exec("--policy", mirrored, "--", "python3", "-c", ATTACK, repr(attacked))
        self.assertEqual(done.code, 0, done)
        found = {}
        for line in done.out.splitlines():
            what, *came = line.split()
            found.setdefault(what, set()).update([" ".join(came)] if what == "processes" else came)
        self.assertNotIn("ESCAPED", done.out)
        self.assertEqual(found["signal"], {"No_such_process"})
        self.assertLessEqual(found["ptrace"], {"No_such_process", "Operation_not_permitted"})
        for what in ("memory", "root", "list", "write", "socket"):
            self.assertEqual(found[what], {"No_such_file_or_directory"}, what)
        self.assertEqual(found["abstract"] | found["tcp"], {"Connection_refused"})
        for what in ("passwd", "top", "init", "mirror"):
            self.assertEqual(found[what], {"Read-only_file_system"}, what)
        self.assertEqual(found["setuid"], {"Operation_not_permitted"})
        self.assertNotIn("odyssey-super", " ".join(found["processes"]))
        self.assertEqual(self.daemons(), before)

    def test_no_policy_shows_the_state(self):
        for option in ("--read", "--write", "--workspace"):
            for path in (self.world.state, self.world.state + "/run", self.world.state + "/agentd",
                         self.world.state + "/egress", self.world.state + "/log", self.world.directory):
                done = self.exec(option, path, "--", "true")
                self.assertEnded(done, 125, "Odyssey's own directories may not be shown")

    def test_what_belongs_to_others_stays_closed(self):
        secret = self.world.make("secret/file", "root's\n")
        os.chmod(secret, 0o600)
        done = self.shell(f"cat '{secret}'", "--read", os.path.dirname(secret))
        self.assertNotEqual(done.code, 0)
        self.assertEqual(done.out, "")
        done = self.exec("--write", os.path.dirname(secret), "--", "true")
        self.assertEnded(done, 125, "uid 65534's")

    def test_no_capability_anywhere(self):
        for pid in (self.world.rpc, self.world.agentd):
            with open(f"/proc/{pid}/status", encoding="utf-8") as status:
                self.assertEqual(set(re.findall(r"^Cap(?:Prm|Eff|Amb):\t(\S+)", status.read(), re.MULTILINE)),
                                 {"0" * 16})
        done = self.shell("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; cat /proc/self/uid_map")
        self.assertEqual(set(re.findall(r"Cap\w+:\t(\S+)", done.out)), {"0" * 16})
        self.assertIn("NoNewPrivs:\t1\nSeccomp:\t2\n", done.out)
        self.assertEqual(done.out.splitlines()[-1].split(), ["1000", str(UID), "1"])

    def test_a_fork_bomb_ends_at_the_limit(self):
        done = self.shell("for i in $(seq 200); do sleep 1000 & done; wait", "--pids", "32")
        self.assertIn("fork", done.err)
        # Of the cell alone: the user's own programs, and other cells, go on.
        running = self.world.start("exec", "--pids", "32", "--", "sh", "-c",
                                   "for i in $(seq 200); do sleep 1000 & done; echo full; wait")
        host.eventually(lambda: "fork" in running.err, HANG_S, lambda: running.err)
        self.assertEqual(self.exec("--", "sh", "-c", "true & wait; echo ok").out, "ok\n")


class ForbiddenTest(unittest.TestCase):
    """A host that lets users make no user namespace. In a user namespace of the test's own, whose bound is zero."""

    def setUp(self):
        holder = subprocess.Popen(["unshare", "--user", "sh", "-c", "echo made; read x"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate, b"\n")
        self.assertEqual(holder.stdout.readline(), b"made\n")
        for ids in ("uid_map", "gid_map"):
            with open(f"/proc/{holder.pid}/{ids}", "w", encoding="ascii") as file:
                file.write("0 0 100000\n")
        enter = ["nsenter", f"--user=/proc/{holder.pid}/ns/user", "--setuid=0", "--setgid=0", "--"]
        subprocess.run([*enter, "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces"], check=True)
        self.world = UsersWorld(enter)
        self.addCleanup(self.world.close)

    def test_up_says_so_and_doctor_names_the_command(self):
        done = self.world.ctl("up")
        self.assertEqual(done.code, 1, done)
        for words in ("without root", "user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=65536"):
            self.assertIn(words, done.err)
        self.assertFalse(os.path.exists(self.world.state))
        checks = {check["name"]: check for check in self.world.ctl("-o", "json", "doctor").json()["checks"]}
        self.assertEqual((checks["user namespaces"]["verdict"], checks["user namespaces"]["mend"]),
                         ("missing", "sysctl -w user.max_user_namespaces=65536"))


class ProbeTest(UsersTest):
    """doctor --probe without root: what fails is what the list says."""

    def test_only_what_is_said_is_weaker(self):
        done = self.world.ctl("-o", "json", "doctor", "--probe", timeout=3 * HANG_S)
        report = done.json()
        failed = [result for result in report["results"] if result["verdict"] in ("ESCAPED", "BROKEN")]
        self.assertEqual(failed, [])
        self.assertTrue(report["good"])
        weaker = {}
        for result in report["results"]:
            if result["verdict"] == "weaker":
                weaker.setdefault(result["weakness"], set()).add(result["id"])
        self.assertEqual(weaker.pop("memory"), {"limits.memory"})
        self.assertEqual(weaker.pop("groups"), {"leak.groups"})
        sockets = weaker.pop("mounts")
        self.assertIn("network.host_ro_listeners", sockets)
        self.assertEqual([name for name in sockets if "_ro_" not in name], [])
        self.assertEqual(weaker, {})
        refused = {cell["name"]: cell["why"] for cell in report["cells"] if not cell["offered"]}
        self.assertEqual(len(refused), 2)
        for name, why in refused.items():
            self.assertIn("network full", name)
            self.assertIn("runs without root", why)
        contained = {result["id"] for result in report["results"] if result["verdict"] == "contained"}
        self.assertGreater(len(contained), 700)


if __name__ == "__main__":
    main()
