#!/usr/bin/env python3
"""policy check, policy explain, bundle validate and exec say the same of a policy that no cell is made of, with
the same place."""

import os
import unittest

import bundles
from world import World, WorldTest, main


def write_policy(world, name, sandbox):
    """One of a file alone: its path. `sandbox` is indented by two."""
    return world.make(f"{name}.yaml", f"policy_version: odyssey.policy/v1\nsandbox:\n{sandbox}")


def reading(*sources):
    lines = "".join(f"        - {source}\n" for source in sources)
    return f"  permissions:\n    filesystem:\n      mounts:\n        read:\n{lines}"


class AgreeTest(WorldTest):

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        os.makedirs(self.base + "/extra/in")
        os.makedirs(self.base + "/.git/hooks")
        self.environment = {**os.environ, "HOME": self.base, "ODEK_APPROVE_PROJECT_SANDBOX": "1"}

    def ctl(self, *words):
        return self.world.ctl(*words, cwd=self.base, env=self.environment)

    def assertAllRefuse(self, file, place, exec_words=()):
        """Each of the three names `place`, which is LINE: KEY: and what follows."""
        for words, code in ((("policy", "check", file), 1), (("policy", "explain", file), 1),
                            (("exec", *exec_words, "--policy", file, "--", "true"), 125)):
            done = self.ctl(*words)
            self.assertEqual(done.code, code, done)
            self.assertIn(f"{file}:{place}", done.err)

    def project(self, content):
        return self.world.make(f"{self.base}/odek.json", content)

    def test_volumes_of_a_project(self):
        for volume, code in (("extra/in:/c", 1), ("extra/in:/c/d", 1), (".git/hooks:/d", 3)):
            with self.subTest(volume):
                file = self.project('{"sandbox_volumes": ["extra:/c",\n\n"%s"]}' % volume)
                done = self.ctl("policy", "check", file)
                self.assertEqual(done.code, code, done)
                for words in (("policy", "check", file), ("policy", "explain", file),
                              ("exec", "--policy", file, "--", "true")):
                    done = self.ctl(*words)
                    self.assertNotEqual(done.code, 0, done)
                    self.assertIn(f"{file}:3: sandbox_volumes[1]: ", done.out + done.err)
                    self.assertIn(volume.partition(":")[0], done.out + done.err)

    def test_variables_that_every_command_gets(self):
        for name in ("ODYSSEY_RUN", "ODYSSEY_SANDBOX"):
            file = self.project('{"sandbox_env": {\n"%s": "x"}}' % name)
            self.assertAllRefuse(file, f"2: sandbox_env.{name}: every command gets its own")
            file = write_policy(self.world, "env", f"  env:\n    {name}: HOME\n")
            self.assertAllRefuse(file, f"4: sandbox.env.{name}: every command gets its own")

    def test_programs_that_are_not_here(self):
        self.assertAllRefuse(
            write_policy(self.world, "tool", "  system_tools:\n  - sh\n  - no-such-tool\n"),
            "5: sandbox.system_tools[1]: missing system tool: no-such-tool")

    def test_places_that_may_be_elsewhere(self):
        """A warning, whose place the refusal of exec has too."""
        missing = self.base + "/nope"
        policy = write_policy(self.world, "place", reading(self.base + "/extra", missing))
        project = self.project('{"sandbox_volumes": ["extra:/c",\n"nope:/d"]}')
        for file, place, written in ((policy, "8: sandbox.permissions.filesystem.mounts.read[1]: ", ""),
                                     (project, "2: sandbox_volumes[1]: ", "nope:/d: mounts[1].source: ")):
            for words in (("policy", "check", file), ("policy", "explain", file)):
                done = self.ctl(*words)
                self.assertEqual(done.code, 0, done)
                self.assertIn(f"warning: {file}:{place}{written}{missing}: does not exist on this host", done.err)
            done = self.ctl("exec", "--policy", file, "--", "true")
            self.assertEqual((done.code, done.out), (125, ""), done)
            self.assertIn(f"{file}:{place}{written}open {missing}: No such file or directory", done.err)

    def test_what_is_another_users(self):
        """Of root's, for nobody: as exec says it, from the name of the field on."""
        shut = self.world.make_directory(self.base + "/shut/in")
        os.chmod(self.base + "/shut", 0o700)
        extra = self.base + "/extra"
        for mounts, place, why in (
                (f"read_write: [{extra}]", "read_write[0]", f"mount {extra}: it is uid 0's, and not the own of uid 65534"),
                (f"read_only: [{shut}]", "read_only[0]", f"open {shut}: Permission denied to uid 65534; what he reaches")):
            file = self.world.make(self.base + "/o.yaml", f"version: 1\nfilesystem_policy:\n  {mounts}\n")
            self.assertEqual(self.ctl("policy", "check", file).code, 0)
            for words, code in ((("policy", "check", file, "--user", "nobody"), 3),
                                (("policy", "explain", file, "--user", "nobody"), 1),
                                (("exec", "--owner", "nobody", "--policy", file, "--", "true"), 125)):
                done = self.ctl(*words)
                self.assertEqual(done.code, code, done)
                self.assertIn(f"{file}:3: filesystem_policy.{place}: {why}", done.out + done.err)
        file = self.world.make(self.base + "/o.yaml", f"version: 1\nfilesystem_policy: {{read_only: [{extra}]}}\n")
        self.assertEqual(self.ctl("policy", "check", file, "--user", "nobody").code, 0)
        self.assertEqual(self.ctl("exec", "--owner", "nobody", "--policy", file, "--", "true").code, 0)

    def test_what_a_grant_names_may_be_another_users(self):
        extra = self.base + "/extra"
        directory = self.world.make_directory(self.base + "/granted.d")
        self.world.make(directory + "/1.yaml",
                        f"version: odyssey.ceiling/v1\nbuiltin: false\ngrants: [{{users: [nobody], write: [{extra}]}}]\n")
        file = self.world.make(self.base + "/o.yaml", f"version: 1\nfilesystem_policy: {{read_write: [{extra}]}}\n")
        done = self.ctl("policy", "check", file, "--user", "nobody", "--ceiling", directory)
        self.assertEqual(done.code, 0, done)

    def test_who_is_not_root_cannot_look_as_somebody_else(self):
        file = self.world.make(self.base + "/o.yaml",
                               f"version: 1\nfilesystem_policy: {{read_only: [{self.base}/extra]}}\n")
        for user, doubts in (("daemon", 1), ("nobody", 0)):
            done = self.world.ctl("-o", "json", "policy", "check", file, "--user", user, user=65534, group=65534)
            self.assertEqual((done.code, len(done.json()["warnings"])), (0, doubts), done)
        os.chmod(self.base + "/extra", 0o750)
        done = self.world.ctl("policy", "check", file, user=65534, group=65534)
        self.assertEqual(done.code, 3, done)
        self.assertIn("it is uid 0's, and not the own of uid 65534", done.out)

    def test_places_of_the_wrong_kind(self):
        os.mkfifo(self.base + "/fifo")
        self.assertAllRefuse(
            write_policy(self.world, "kind", reading(self.base + "/extra", self.base + "/fifo")),
            "8: sandbox.permissions.filesystem.mounts.read[1]: ")

    def test_nested_sources(self):
        file = write_policy(self.world, "nested", reading(self.base + "/extra", self.base + "/extra/in"))
        self.assertEqual(self.ctl("policy", "check", file).code, 0)
        self.assertEqual(self.ctl("exec", "--policy", file, "--tools", "standard", "--", "true").code, 0)

    def test_limits(self):
        for name, value in (("pids", 40000), ("pids", 7), ("memory_mb", 8), ("open_files", 15), ("disk_mb", 15)):
            self.assertAllRefuse(
                write_policy(self.world, "limit", f"  resources:\n    {name}: {value}\n"),
                f"4: sandbox.resources.{name}: must be a whole number from ", exec_words=("--cell", "x"))

    def test_a_disk_takes_a_cell_that_is_kept(self):
        file = write_policy(self.world, "disk", "  resources:\n    disk_mb: 16\n")
        self.assertEqual(self.ctl("policy", "check", file).code, 0)
        done = self.ctl("exec", "--policy", file, "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn(f"{file}:4: sandbox.resources.disk_mb: 16: ", done.err)
        self.assertIn("--cell NAME", done.err)

    def test_a_directory_that_is_made_need_not_be_there(self):
        file = self.world.make(f"{self.base}/worker.yaml",
                               "name: w\ninstructions: x\nsandbox:\n  paths:\n    notes: {root: ./notes, mode: rw}\n")
        for words in (("policy", "check", file), ("policy", "explain", file)):
            done = self.ctl(*words)
            self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertFalse(os.path.exists(self.base + "/notes"))


class ValidateTest(unittest.TestCase):
    """Without daemons: what no host would give."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.data = self.world.make_directory("data/in")
        os.symlink(self.data, self.world.directory + "/link")

    def validate(self, **options):
        bundle = bundles.write(self.world.directory + "/bundle", [bundles.say("x")], **options)
        return self.world.ctl("-o", "json", "bundle", "validate", bundle)

    def test_says_what_no_cell_is_given(self):
        for key, options in (("resources.memory_mb", {"resources": {"memory_mb": 8}}),
                             ("resources.pids", {"resources": {"pids": 7}}),
                             ("resources.open_files", {"resources": {"open_files": 15}}),
                             ("resources.disk_mb", {"resources": {"disk_mb": 15}}),
                             ("env.ODYSSEY_RUN", {"env": {"ODYSSEY_RUN": "NOT_SET"}}),
                             ("permissions.filesystem.mounts.read[0]", {"read": ["/proc"]}),
                             ("permissions.filesystem.mounts.read[0]",
                              {"read": [self.world.directory + "/link"]})):
            done = self.validate(**options)
            self.assertEqual((done.code, done.json()["valid"]), (1, False), (key, done))
            problem, = done.json()["problems"]
            self.assertEqual(problem["key"], "sandbox." + key)
            self.assertGreater(problem["line"], 0)

    def test_what_a_bundle_executes_of_its_own(self):
        tools = ["sh", "/workspace/bin/tool"]
        done = self.validate(mode="read_only", tools=tools)
        self.assertEqual((done.code, done.json()["problems"]), (0, []), done)
        done = self.validate(mode="workspace_write", tools=tools)
        self.assertEqual(done.code, 1, done)
        problem, = done.json()["problems"]
        self.assertEqual(problem["key"], "sandbox.system_tools[1]")
        self.assertIn("/workspace/bin/tool: what the agent could write is not executed", problem["message"])

    def test_what_this_host_lacks_is_a_warning(self):
        for key, options in (("permissions.filesystem.mounts.read[0]", {"read": [self.data + "/nope"]}),
                             ("system_tools[0]", {"tools": ["no-such-tool"]})):
            done = self.validate(**options)
            self.assertEqual((done.code, done.json()["problems"]), (0, []), done)
            warning, = done.json()["warnings"]
            self.assertEqual(warning["key"], "sandbox." + key)
            self.assertIn("sandbox." + key, done.err)
        done = self.validate(env={"A": "GITHUB_TOKEN"}, read=["."], write_=[self.data])
        self.assertEqual((done.code, done.json()["warnings"], done.err), (0, [], ""), done)


if __name__ == "__main__":
    main()
