#!/usr/bin/env python3
"""odyssey-ctl exec: what its options do, and what wrong values of them say."""

import ctypes
import os
import shutil
import subprocess
import tempfile
import threading

from terminal import Terminal
from world import SOURCE, World, WorldTest, main

OWNER = 54321  # no user's
LIBC = ctypes.CDLL(None)
AT_FDCWD, RENAME_EXCHANGE = -100, 2


class CellTest(WorldTest):

    def test_other_options_do_not_end_what_runs_in_a_cell(self):
        running = self.world.start("exec", "--cell", "busy", "--", "sh", "-c", "echo began; read line; exit 7",
                                   stdin=subprocess.PIPE)
        running.until("began")
        self.assertEqual(self.world.ctl("exec", "--cell", "busy", "--", "true").code, 0)
        for other in (("--memory", "300m"), ("--env", "NAME=value"), ("--mode", "read_only")):
            refused = self.world.ctl("exec", "--cell", "busy", *other, "--", "true")
            self.assertEnded(refused, 125, "commands run in the cell of this name", "name another cell")
        running.process.stdin.write(b"go on\n")
        running.process.stdin.close()
        self.assertEqual(running.ended().code, 7)
        self.assertEqual(self.world.ctl("exec", "--cell", "busy", "--memory", "300m", "--", "true").code, 0)


class MountTest(WorldTest):

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        self.shared = self.world.make_directory(f"{self.base}/shared")
        self.world.make(f"{self.shared}/given", "from the host\n")
        for path in (self.shared, f"{self.shared}/given"):
            os.chown(path, OWNER, OWNER)
        # Nobody but its owner may enter, on the host.
        os.chmod(self.shared, 0o700)

    def exec(self, *words, **options):
        return self.world.ctl("exec", *words, **options)

    def shell(self, script, *options):
        return self.exec(*options, "--", "sh", "-c", script)

    def assertOwnersFile(self, path, content):
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), content)
        info = os.stat(path)
        self.assertEqual((info.st_uid, info.st_gid), (OWNER, OWNER))

    def test_a_workspace_is_written_as_its_owner(self):
        done = self.shell("cat given; id -u; mkdir d; echo new >d/file; echo more >>given",
                          "--workspace", self.shared)
        self.assertEqual((done.code, done.out), (0, "from the host\n1000\n"), done)
        self.assertOwnersFile(f"{self.shared}/d/file", "new\n")
        self.assertOwnersFile(f"{self.shared}/given", "from the host\nmore\n")

    def test_a_read_only_workspace(self):
        done = self.shell("cat given; echo x >new || echo x >>given", "--workspace", self.shared,
                          "--mode", "read_only")
        self.assertNotEqual(done.code, 0, done)
        self.assertEqual(done.out, "from the host\n")
        self.assertEqual(os.listdir(self.shared), ["given"])
        self.assertOwnersFile(f"{self.shared}/given", "from the host\n")

    def test_a_relative_workspace(self):
        done = self.exec("--workspace", "shared", "--", "cat", "given", cwd=self.base)
        self.assertEqual((done.code, done.out), (0, "from the host\n"), done)

    def make_tree(self):
        tree = self.world.make_directory(f"{self.base}/tree")
        os.makedirs(f"{tree}/a/part/deep")
        self.world.make(f"{tree}/a/part/old", "old\n")
        return tree

    def test_a_writable_part_of_a_read_only_directory(self):
        tree = self.make_tree()
        done = self.shell(f"cd {tree}; echo x >new; echo x >a/new; echo x >a/part/new; cat a/part/old",
                          "--read", tree, "--write", f"{tree}/a/part")
        self.assertEqual((done.code, done.out), (0, "old\n"), done)
        self.assertEqual(sorted(os.listdir(f"{tree}/a/part")), ["deep", "new", "old"])
        self.assertEqual((os.listdir(tree), os.listdir(f"{tree}/a")), (["a"], ["part"]))

    def test_a_read_only_part_of_a_writable_directory(self):
        tree = self.make_tree()
        done = self.shell(
            f"cd {tree}; echo x >new; echo x >a/part/new; rm a/part/old; mv a b; mv a/part a/other; rm -rf a; "
            "cat a/part/old", "--write", tree, "--read", f"{tree}/a/part")
        self.assertEqual((done.code, done.out), (0, "old\n"), done)
        self.assertEqual(sorted(os.listdir(tree)), ["a", "new"])
        self.assertEqual(sorted(os.listdir(f"{tree}/a/part")), ["deep", "old"])

    def test_parts_lie_in_parts(self):
        tree = self.make_tree()
        done = self.shell(f"cd {tree}; echo x >new; echo x >a/part/new; echo x >a/part/deep/new",
                          "--write", tree, "--read", f"{tree}/a/part", "--write", f"{tree}/a/part/deep")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(sorted(os.listdir(f"{tree}/a/part")), ["deep", "old"])
        self.assertEqual(os.listdir(f"{tree}/a/part/deep"), ["new"])

    def test_a_file_with_another_name_is_no_read_only_part(self):
        tree = self.make_tree()
        os.link(f"{tree}/a/part/old", f"{tree}/other")
        done = self.shell("true", "--write", tree, "--read", f"{tree}/a/part/old")
        self.assertEnded(done, 125, "a file with another name", "--read", f"{tree}/a/part/old")

    def test_parts_of_the_workspace(self):
        tree = self.make_tree()
        write = f"echo x >new; echo x >a/part/new; cat a/part/old {tree}/a/part/old"
        done = self.shell(write, "--workspace", tree, "--read", f"{tree}/a/part")
        self.assertEqual((done.code, done.out), (0, "old\nold\n"), done)
        self.assertEqual(os.listdir(f"{tree}/a/part").count("new"), 0)
        os.unlink(f"{tree}/new")
        done = self.shell(write, "--workspace", tree, "--mode", "read_only", "--write", f"{tree}/a/part")
        self.assertEqual((done.code, done.out), (0, "old\nold\n"), done)
        self.assertEqual((os.path.exists(f"{tree}/new"), os.path.exists(f"{tree}/a/part/new")), (False, True))

    def test_what_is_refused_in_a_part_names_the_option(self):
        tree = self.make_tree()
        done = self.shell("echo x >a/part/new", "--denials", "always", "--workspace", tree,
                          "--read", f"{tree}/a/part")
        self.assertIn(f"(mount /workspace/a/part read_only)", done.err)
        self.assertIn(f"; to allow: --write {tree}/a/part", done.err)

    def test_places_that_the_cell_has_itself(self):
        for base in ("/var/tmp", "/tmp", "/opt", "/usr/local"):
            with self.subTest(base):
                place = tempfile.mkdtemp(prefix="odyssey-e2e-", dir=base)
                self.addCleanup(shutil.rmtree, place)
                self.world.make(f"{place}/given", "given\n")
                os.chmod(f"{place}/given", 0o600)  # shown as its owner sees it
                done = self.shell(f"cat {place}/given; ls {base} >/dev/null; echo x >{place}/new", "--read", place)
                self.assertEqual((done.code, done.out), (2, "given\n"), done)
                done = self.shell(f"echo x >{place}/new", "--write", place)
                if base == "/usr/local":
                    self.assertEnded(done, 125, "may be shown read-only only")
                else:
                    self.assertEqual((done.code, os.path.exists(f"{place}/new")), (0, True), done)
        for place in ("/var/tmp", "/opt", "/usr", "/etc/ssl", "/proc/self", "/run"):
            self.assertEqual(self.shell("true", "--read", place).code, 125, place)

    def test_what_the_workspace_holds_runs(self):
        program = self.world.make(f"{self.shared}/tool", "#!/bin/sh\necho ran\n")
        os.chmod(program, 0o755)
        os.chown(program, OWNER, OWNER)
        self.assertEqual(self.exec("--workspace", self.shared, "--", "./tool").out, "ran\n")
        built = "cp /bin/true built && ./built && echo built; cp built /tmp/built; /tmp/built || echo no"
        self.assertEqual(self.shell(built, "--workspace", self.shared).out, "built\nno\n")
        self.assertEqual(self.shell(built).out, "built\nno\n", "in a private workspace too")
        done = self.exec("--denials", "always", "--tools", "standard", "--workspace", self.shared, "--", "./tool")
        self.assertEnded(done, 126, "(mount /workspace noexec)", "to allow: --tools workspace")
        policy = self.world.make("p.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n"
                                           "  system_tools_mode: standard\n")
        done = self.exec("--policy", policy, "--workspace", self.shared, "--", "./tool")
        self.assertEqual(done.code, 126, "a policy has its own default")

    def test_what_ends_a_command_is_answered_in_options(self):
        for options, script, words in (
                ((), "echo x >/dev/tcp/192.0.2.1/9", "--network full"),
                (("--timeout", "1s"), "sleep 9", "--timeout 2s"),
                (("--memory", "64m"), "head -c 200M /dev/zero | tail", "--memory 128m"),
                (("--workspace", self.shared, "--mode", "read_only"), "echo x >./new", "--mode workspace_write"),
                (("--write", self.shared), f"echo x >{self.shared}/.git/config",
                 'sandbox.protection: "none" in a policy file (--policy FILE)')):
            with self.subTest(words):
                if ".git" in script:
                    self.world.make(f"{self.shared}/.git/config", "")
                done = self.exec("--denials", "always", *options, "--", "bash", "-c", script)
                self.assertIn("; to allow: " + words, done.err, done)
                json = self.exec("-o", "json", *options, "--", "bash", "-c", script)
                self.assertIn(words, json.err.replace('\\"', '"'))

    def test_configuration_that_usr_links_to(self):
        wanted = set()
        for directory, _, files in os.walk("/usr/share"):
            for name in files:
                path = f"{directory}/{name}"
                if os.path.islink(path) and os.readlink(path).startswith("/etc/") and os.path.isfile(path):
                    wanted.add(path)
        hidden = ("/etc/environment", "/etc/machine-id")
        wanted = [path for path in sorted(wanted) if os.path.realpath(path) not in hidden
                  and os.stat(path).st_mode & 0o004 and "/doc/" not in path and "/man/" not in path]
        done = self.exec("--", "sh", "-c", "for f; do test -r $f || echo $f; done", "sh", *wanted)
        self.assertEqual((done.code, done.out), (0, ""), done)
        self.assertEqual(self.shell("cat /etc/machine-id /etc/shadow /etc/fstab 2>/dev/null").out, "")
        if shutil.which("mvn"):
            self.assertIn("Apache Maven", self.exec("--network", "none", "--", "mvn", "-v").out)

    def test_a_link_that_a_command_planted_is_not_followed(self):
        secret = self.world.make_directory(f"{self.base}/secret")
        self.world.make(f"{secret}/key", "the key\n")
        os.makedirs(f"{self.shared}/data")
        os.chown(f"{self.shared}/data", OWNER, OWNER)
        planted = self.shell(f"rmdir data && ln -s {secret} data", "--workspace", self.shared)
        self.assertEqual(planted.code, 0, planted)
        policy = self.world.make(f"{self.base}/policy.yaml", f"""
policy_version: odyssey.policy/v1
sandbox:
  permissions:
    filesystem:
      mounts: {{read: [], write: [{self.shared}/data]}}
""")
        for option, value in (("--workspace", f"{self.shared}/data"),
                              ("--write", f"{self.shared}/data"),
                              ("--read", f"{self.shared}/data/key"),
                              ("--policy", policy)):
            done = self.shell(f"cat {self.shared}/data/key {secret}/key key", option, value)
            self.assertEqual((done.code, done.out), (125, ""), done)
            self.assertIn(f"{self.shared}/data: is a symbolic link", done.err)
            self.assertIn(secret, done.err)  # what to name instead
        checked = self.world.ctl("policy", "check", policy)
        self.assertEqual(checked.code, 1, checked)
        self.assertRegex(checked.err, r"policy\.yaml:\d+: sandbox\.permissions\.filesystem\.mounts")

    def test_a_link_to_what_is_below_it_is_resolved_and_told(self):
        project = self.world.make_directory(f"{self.base}/project")
        self.world.make(f"{self.base}/real/file", "real\n")
        os.symlink("real", f"{self.base}/lnk")
        for option, path, command in (("--workspace", "../lnk", "cat file; touch made"),
                                      ("--read", "../lnk", f"cat {self.base}/real/file"),
                                      ("--write", f"{self.base}/lnk", f"cat {self.base}/real/file")):
            done = self.exec(option, path, "--", "sh", "-c", command, cwd=project)
            self.assertEqual((done.code, done.out), (0, "real\n"), done)
            self.assertIn(f"{option} {path}: {self.base}/lnk is a symbolic link: {self.base}/real is used",
                          done.err)
        self.assertTrue(os.path.exists(f"{self.base}/real/made"))

    def test_a_kept_cell_is_made_anew_when_another_directory_has_the_name(self):
        seen = []
        for change in ("", "", "mv work away; mkdir work", "rmdir work; mkdir work",
                       "mv data data.old; mkdir data", ""):
            subprocess.run(["sh", "-ec", f"mkdir -p work data; {change}"], cwd=self.base, check=True)
            done = self.shell("touch made; ls", "--cell", "kept", "--workspace",
                              f"{self.base}/work", "--read", f"{self.base}/data")
            self.assertEqual((done.code, done.out), (0, "made\n"), done)
            self.assertEqual(os.listdir(f"{self.base}/work"), ["made"])
            os.unlink(f"{self.base}/work/made")
            seen += [cell["revision"] for cell in self.world.json("cell", "list")["cells"]]
        self.assertEqual(seen, [1, 1, 2, 3, 4, 4])

    def test_read_is_at_the_same_path(self):
        done = self.shell(f"cat {self.shared}/given; echo x >{self.shared}/new",
                          "--read", self.shared)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(done.out, "from the host\n", done)
        self.assertEqual(os.listdir(self.shared), ["given"])

    def test_write_is_at_the_same_path(self):
        done = self.shell(f"echo x >{self.shared}/new", "--write", self.shared)
        self.assertEqual(done.code, 0, done)
        self.assertOwnersFile(f"{self.shared}/new", "x\n")

    def test_several_and_single_files(self):
        other = self.world.make(f"{self.base}/other/file", "other\n")
        done = self.shell(f"cat {self.shared}/given {other}; ls {os.path.dirname(other)}",
                          "--read", f"{self.shared}/given", "--read", other)
        self.assertEqual((done.code, done.out), (0, "from the host\nother\nfile\n"), done)

    def test_nothing_else_is_visible(self):
        secret = self.world.make(f"{self.base}/secret", "s")
        done = self.shell(f"cat {secret}", "--read", self.shared)
        self.assertNotEqual(done.code, 0, done)

    def test_nothing_in_a_mount_executes(self):
        script = self.world.make(f"{self.base}/tool", "#!/bin/sh\necho ran\n")
        os.chmod(script, 0o755)
        self.assertEqual(self.exec("--read", self.base, "--", script).code, 126)

    def test_cwd(self):
        done = self.exec("--cwd", "/cell/data", "--", "pwd")
        self.assertEqual((done.code, done.out), (0, "/cell/data\n"), done)
        self.assertEqual(self.exec("--", "pwd").out, "/workspace\n")


class Exchange:
    """Exchanges two names as fast as it can, within a with statement."""

    def __init__(self, one, other):
        self.names = [os.fsencode(one), os.fsencode(other)]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        one, other = self.names
        while not self.ended.is_set():
            for _ in range(1000):
                LIBC.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


class ExchangeTest(WorldTest):
    """As a command exchanges a directory of its workspace with a link to one that it is not shown."""

    ROUNDS = 40

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        self.hidden = self.world.make_directory(f"{self.base}/hidden")
        self.directory = self.world.make_directory(f"{self.base}/ws/d")
        for directory, text in ((self.hidden, "hidden\n"), (self.directory, "shown\n")):
            os.chmod(self.world.make(f"{directory}/f", text), 0o600)
        os.symlink(self.hidden, f"{self.base}/ws/other")

    def assertNothingReached(self, *words):
        outputs = set()
        with Exchange(self.directory, f"{self.base}/ws/other"):
            for _ in range(self.ROUNDS):
                done = self.world.ctl("exec", *words)
                self.assertNotIn("hidden", done.out, done)
                outputs.add(done.out)
        self.assertEqual(os.listdir(self.hidden), ["f"])
        with open(f"{self.hidden}/f", encoding="utf-8") as file:
            self.assertEqual(file.read(), "hidden\n")
        self.assertIn("shown\n", outputs, "the directory itself was never met")

    def test_read(self):
        self.assertNothingReached("--read", self.directory, "--", "sh", "-c",
                                  f"cat {self.directory}/f || cat {self.hidden}/f")

    def test_write(self):
        self.assertNothingReached("--write", self.directory, "--", "sh", "-c",
                                  f"cd {self.directory} || cd {self.hidden}; cat f; echo x >new")

    def test_workspace(self):
        self.assertNothingReached("--workspace", self.directory, "--", "sh", "-c", "cat f; echo x >new")

    def test_inject(self):
        self.assertNothingReached("--inject", f"{self.directory}/f", "--", "sh", "-c",
                                  "cat $ODYSSEY_RUN/inbox/f")

    def test_collect(self):
        self.assertNothingReached("--collect", self.directory, "--", "sh", "-c",
                                  "echo x >$ODYSSEY_RUN/outbox/$$.$(date +%N); echo shown")


class EnvironmentAndLimitsTest(WorldTest):

    def exec(self, *words, **options):
        return self.world.ctl("exec", *words, **options)

    def test_env(self):
        done = self.exec("--env", "GIVEN=a=b c", "--env", "TAKEN", "--", "sh", "-c",
                         'echo "$GIVEN|$TAKEN|$OTHER|$HOME|$ODYSSEY_SANDBOX"',
                         env={**os.environ, "TAKEN": "here", "OTHER": "secret"})
        self.assertEqual((done.code, done.out), (0, "a=b c|here||/cell/data/home|1\n"), done)

    def test_language_and_time_are_the_callers(self):
        show = ("--", "sh", "-c", "echo $LANG,$LC_ALL,$TERM,$PATH; date -d @0 +%H%Z")
        plain = {name: value for name, value in os.environ.items()
                 if name not in ("LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ")}
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.assertEqual(self.exec(*show, env=plain).out, f"C.UTF-8,,,{path}\n00UTC\n")
        done = self.exec(*show, env={"LANG": "C", "LC_ALL": "POSIX", "TERM": "vt52", "TZ": "Asia/Tokyo", "PATH": "/x"})
        self.assertEqual(done.out, f"C,POSIX,vt52,{path}\n09JST\n", done)

    def test_memory(self):
        grow = ("--", "python3", "-c", "x = b'a' * (150 << 20); print(len(x))")
        self.assertEqual(self.exec("--memory", "64m", *grow).code, 137)
        self.assertEqual(self.exec("--memory", "400m", *grow).code, 0)

    def test_pids(self):
        fork = ("--", "python3", "-c",
                "import os, signal\nfor n in range(40):\n  if os.fork() == 0: signal.pause()\n"
                "print(n + 1)")
        self.assertIn("BlockingIOError", self.exec("--pids", "20", *fork).err)
        self.assertEqual(self.exec("--pids", "100", *fork).out, "40\n")

    def test_cpus_are_in_the_plan(self):
        done = self.exec("--cpus", "1.5", "--explain")
        self.assertEqual(done.code, 0, done)
        self.assertIn("cpu_millis 1500", done.out)

    def test_cpus_bound_what_runs(self):
        # 0.2 cores for one second of wall clock cannot be half a second of cpu time.
        done = self.exec("--cpus", "0.2", "--", "python3", "-c",
                         "import time\nend = time.monotonic() + 1; used = time.process_time()\n"
                         "while time.monotonic() < end: pass\nprint(time.process_time() - used)")
        self.assertEqual(done.code, 0, done)
        self.assertLess(float(done.out), 0.5)

    def test_network_none_has_loopback_only(self):
        done = self.exec("--", "sh", "-c", "ls /proc/self/net >/dev/null; grep -c : /proc/net/dev")
        self.assertEqual(done.out, "1\n", done)

    def test_a_cell_is_kept_and_used_again(self):
        self.assertEqual(self.exec("--cell", "kept", "--", "sh", "-c", "echo 1 >x").code, 0)
        cells = self.world.json("cell", "list")["cells"]
        self.assertEqual([cell["key"]["component"] for cell in cells], ["kept"])
        done = self.exec("--cell", "kept", "--", "cat", "x")
        self.assertEqual((done.code, done.out), (0, "1\n"), done)
        self.assertEqual(self.world.json("cell", "list")["cells"][0]["cell_id"], cells[0]["cell_id"])
        self.assertEqual(self.exec("--", "cat", "x").code, 1)
        self.assertEqual(self.world.ctl("cell", "rm", cells[0]["cell_id"], "--purge").code, 0)
        self.assertEqual(self.world.json("cell", "list")["cells"], [])
        self.assertEqual(self.exec("--cell", "kept", "--", "cat", "x").code, 1)

    def test_a_cell_of_one_command_ends_with_it(self):
        self.assertEqual(self.exec("--", "sh", "-c", "sleep 1234 >/dev/null 2>&1 &").code, 0)
        self.assertEqual(self.world.cell_commands("1234"), [])

    def test_policy_file(self):
        done = self.exec("--policy", SOURCE + "/examples/bundles/hello", "--", "sh", "-c", "echo ok")
        self.assertEqual((done.code, done.out), (0, "ok\n"), done)


class ExplainTest(WorldTest):

    def test_runs_nothing(self):
        shared = self.world.make_directory("explained")
        done = self.world.ctl("exec", "--explain", "--workspace", shared, "--", "touch", "made")
        self.assertEqual(done.code, 0, done)
        self.assertIn(shared, done.out)
        self.assertRegex(done.out, "policy digest [0-9a-f]{64}")
        self.assertEqual(os.listdir(shared), [])
        self.assertEqual(self.world.json("cell", "list")["cells"], [])

    def test_needs_no_daemon_and_parses(self):
        stopped = World()
        self.addCleanup(stopped.close)
        plan = stopped.json("exec", "--explain", "--landlock", "best_effort", "--network", "full")
        self.assertRegex(plan["digest"], "^[0-9a-f]{64}$")
        self.assertTrue(any(line.startswith("network full") for line in plan["plan"]), plan)


class JsonOutputTest(WorldTest):

    def test_everything_that_prints_data_parses(self):
        self.assertEqual(self.world.ctl("exec", "--cell", "json", "--", "true").code, 0)
        cell = self.world.json("cell", "list")["cells"][0]["cell_id"]
        bundle = SOURCE + "/examples/bundles/hello"
        session = self.world.json("session", "create", bundle)["id"]
        for words in (["status"], ["version"], ["doctor"], ["cell", "show", cell], ["cell", "top"],
                      ["session", "list"], ["session", "show", session], ["approval", "list"],
                      ["session", "cancel", session], ["policy", "explain", bundle],
                      ["policy", "check", bundle, "--cmd", "ls"], ["bundle", "validate", bundle],
                      ["session", "rm", session], ["cell", "rm", cell]):
            done = self.world.ctl("-o", "json", *words)
            self.assertEqual(done.code, 0, (words, done))
            self.assertIsInstance(done.json(), dict, words)

    def test_the_outcome_of_a_command_is_its_own_output(self):
        done = self.world.ctl("-o", "json", "exec", "--", "echo", "plain")
        self.assertEqual((done.code, done.out), (0, "plain\n"))


class HelpTest(WorldTest):

    def test_of_everything(self):
        for words, part in ((["--help"], "session create"), (["help"], "session create"),
                            (["cell", "--help"], "cell top"), (["help", "cell"], "cell top"),
                            (["exec", "--help"], "--memory SIZE"), (["help", "exec"], "--memory SIZE"),
                            (["--version"], "odyssey-ctl "), (["version"], "odyssey-supervisor ")):
            with self.subTest(words=words):
                done = self.world.ctl(*words)
                self.assertEqual((done.code, done.err), (0, ""), done)
                self.assertIn(part, done.out)

    def test_fits_the_terminal(self):
        shown = Terminal(self.world.argv("exec", "--help"), columns=72)
        self.assertEqual(shown.ended(), 0)
        options = shown.text.replace("\r", "").partition("options:\n")[2].partition("\n\n")[0]
        self.assertIn("--collect DIR", options)
        self.assertLessEqual(max(map(len, options.splitlines())), 72, options)


class WrongValueTest(WorldTest):
    """Each names the option, the value, and what is allowed. For exec such an error is 125."""

    def assertRefused(self, words, code, *parts):
        done = self.world.ctl(*words)
        self.assertEqual((done.code, done.out), (code, ""), (words, done))
        for part in parts:
            self.assertIn(part, done.err, words)
        self.assertTrue(done.err.startswith("odyssey-ctl: "), done.err)

    def test_options_of_exec(self):
        wrong = [
            ("--mode", "danger", "read_only"), ("--tools", "some", "standard"),
            ("--network", "half", "none"),
            ("--landlock", "none", "best_effort"), ("--env", "1BAD=x", "letter"), ("--env", "=x", "--env"),
            ("--env", "NO_SUCH_VARIABLE_HERE", "NO_SUCH_VARIABLE_HERE=VALUE"),
            ("--memory", "0", "512m"), ("--memory", "12q", "512m"), ("--memory", "-1", "512m"),
            ("--memory", "1k", "--memory: 1k: limits.memory_bytes: 1024: 16777216 to "),
            ("--cpus", "zero", "1.5"), ("--cpus", "0", "1.5"), ("--pids", "0", "8"),
            ("--pids", "40000", "32768"), ("--timeout", "5x", "60s"),
            ("--timeout", "-3s", "60s"), ("--cell", "a/b", "letters"), ("--cell", "x" * 129, "128"),
            ("--workspace", "/no/such", "No such file"), ("--read", "/no/such", "No such file"),
            ("--write", "/no/such", "No such file"), ("--policy", "/no/such", "No such file"),
        ]
        for option, value, allowed in wrong:
            with self.subTest(option=option, value=value):
                self.assertRefused(["exec", option, value, "--", "true"], 125, option,
                                   value.partition("=")[0], allowed)
        self.assertRefused(["exec", "--no-such", "--", "true"], 125, "--no-such", "usage:")
        self.assertRefused(["exec", "--memory"], 125, "--memory")
        self.assertEqual(self.world.json("cell", "list")["cells"], [])

    def test_a_mount_that_cannot_be(self):
        self.assertRefused(["exec", "--read", "/proc", "--", "true"], 125, "/proc")
        self.assertRefused(["exec", "--workspace", self.world.directory, "--", "true"], 125,
                           self.world.directory)

    def test_words_and_options_of_other_commands(self):
        bundle = SOURCE + "/examples/bundles/hello"
        for words, parts in (
                (["no-such-command"], ["no-such-command"]),
                ([], ["usage"]),
                (["session"], ["session", "verb", "create, list"]),
                (["session", "make"], ["session", '"make"', "create, list", "session --help"]),
                (["session", "show"], ["ID"]),
                (["status", "extra"], ["extra"]),
                (["-o", "xml", "status"], ["xml", "json"]),
                (["run", bundle], ["--prompt"]),
                (["run", bundle, "--prompt", "x", "--approve", "maybe"], ["maybe", "deny"]),
                (["run", bundle, "--prompt", "x", "--save", "nowhere"], ["--save", "nowhere", "="]),
                (["session", "events", "ses_x", "--after", "-1"], ["--after", "-1"]),
                (["policy", "check", bundle, "--cmd", "a", "--path", "/b"], ["--cmd", "--path"]),
                (["policy", "check", bundle, "--path", "x"], ['--path "x"', "an absolute path"]),
                (["policy", "check", bundle, "--host", "a b"], ["--host"])):
            with self.subTest(words=words):
                self.assertRefused(words, 2, *parts)

    def test_names_that_nothing_has(self):
        for words in (["session", "show"], ["session", "rm"], ["session", "events"],
                      ["session", "cancel"], ["cell", "show"], ["cell", "rm"]):
            with self.subTest(words=words):
                self.assertRefused([*words, "ses_none"], 1, "ses_none")
        self.assertRefused(["session", "exec", "ses_none", "--", "true"], 125, "ses_none")
        self.assertRefused(["run", "/no/such", "--prompt", "x"], 1, "/no/such")


if __name__ == "__main__":
    main()
