#!/usr/bin/env python3
"""The operator's ceiling, through odyssey-ctl and agentd: what a policy cannot lift, and what the commands say of it."""

import os
import re
import unittest

import bundles
from world import SOURCE, World, WorldTest, main

VERSION = "version: odyssey.ceiling/v1\n"
ALONE = "builtin: false\n"


def write_ceiling(world, text, name="10.yaml"):
    """A file of the ceiling, text beginning on line 2; its path."""
    return world.make(f"state/policy.d/{name}", VERSION + text + ALONE)


class CeilingTest(WorldTest):

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.granted = cls.world.make_directory("granted")
        cls.other = cls.world.make_directory("other")
        # agentd reaches its state, and the state is root's alone to write.
        os.makedirs(cls.world.state, mode=0o755)
        cls.file = write_ceiling(cls.world, f"""grants:
  - users: ["*"]
    read: [{cls.granted}]
    env: [LANG]
limits:
  max: {{pids: 200}}
""")
        cls.world.up()

    def bundle(self, **options):
        return bundles.write(self.world.directory + "/bundle", [bundles.bash("true"), bundles.say("ok")],
                             **options)

    def run_bundle(self, bundle, **options):
        return self.world.ctl("run", bundle, "--prompt", "x", **options)

    def test_exec(self):
        done = self.world.ctl("exec", "--read", self.granted, "--", "true")
        self.assertEqual(done.code, 0, done)
        done = self.world.ctl("exec", "--read", self.other, "--", "true")
        self.assertEnded(done, 125, f"--read: {self.other}: reading it is not granted",
                         f"{self.granted} ({self.file}:4)")
        done = self.world.ctl("exec", "--write", self.granted, "--", "true")
        self.assertEnded(done, 125, "writing it is not granted", f"reading it is, by {self.file}:4")
        done = self.world.ctl("exec", "--network", "full", "--", "true")
        self.assertEnded(done, 125, "network: full: not granted", "none is allowed")
        done = self.world.ctl("exec", "--landlock", "best_effort", "--", "true")
        self.assertEnded(done, 125, "landlock: best_effort: not granted")
        done = self.world.ctl("exec", "--pids", "201", "--", "true")
        self.assertEnded(done, 125, f"limits.pids: 201: at most 200 is allowed by {self.file}:7")
        done = self.world.ctl("exec", "--env", "A_TOKEN=x", "--", "true")
        self.assertEnded(done, 125, "env: A_TOKEN: it looks like a secret")

    def test_a_manifest_cannot_lift_it(self):
        for options, words in (
                ({"write_": [self.other]}, f"mounts.write[0]: {self.other}: writing it is not granted"),
                ({"network": ["*"]}, "network: egress: not granted"),
                ({"mode": "danger_full_access"}, "danger_full_access"),
                ({"resources": {"pids": 500}}, "resources.pids: 500: at most 200")):
            bundle = self.bundle(**options)
            for done in (self.run_bundle(bundle), self.world.ctl("session", "create", bundle)):
                self.assertEqual((done.code, done.out), (1, ""), done)
                self.assertIn(words, done.err)
        done = self.run_bundle(self.bundle(read=[self.granted]))
        self.assertEqual(done.code, 0, done)

    def test_a_secret_is_a_secret_under_any_name(self):
        environment = {**os.environ, "DEPLOY_TOKEN": "hunter2", "LANG": "C"}
        done = self.run_bundle(self.bundle(env={"LANG": "DEPLOY_TOKEN"}), env=environment)
        self.assertEqual(done.code, 1, done)
        self.assertIn("sandbox.env.LANG: DEPLOY_TOKEN: it looks like a secret", done.out + done.err)
        done = self.run_bundle(self.bundle(env={"LANG": "LANG"}), env=environment)
        self.assertEqual(done.code, 0, done)

    def test_sessions_have_an_owner(self):
        session = self.world.json("session", "create", self.bundle(read=[self.granted]))
        self.assertEqual(session["owner_uid"], os.getuid())

    def test_a_warm_cell_is_not_used_under_a_stricter_one(self):
        words = ["exec", "--cell", "warm", "--read", self.granted, "--", "true"]
        self.assertEqual(self.world.ctl(*words).code, 0)
        stricter = write_ceiling(self.world, f"forbidden: [{self.granted}]\n", "20.yaml")
        try:
            self.assertEnded(self.world.ctl(*words), 125, f"forbidden by {stricter}:2")
        finally:
            os.remove(stricter)
        self.assertEqual(self.world.ctl(*words).code, 0)

    def test_while_a_file_is_wrong_there_are_no_cells(self):
        wrong = write_ceiling(self.world, "grant: []\n", "20.yaml")
        try:
            words = f"{wrong}:2: grant: unknown field `grant`"
            self.assertEnded(self.world.ctl("exec", "--", "true"), 125, words)
            done = self.world.ctl("-o", "json", "doctor")
            self.assertEqual(done.code, 1, done)
            self.assertIn(words, done.out)
            self.assertEnded(self.world.ctl("policy", "explain"), 1, words)
        finally:
            os.remove(wrong)
        self.assertEqual(self.world.ctl("exec", "--", "true").code, 0)

    # What the commands say beforehand, which is what the supervisor says.

    def check(self, *words, code):
        done = self.world.ctl("-o", "json", "policy", "check", *words)
        self.assertEqual(done.code, code, done)
        return done.json()

    def test_check(self):
        good = self.bundle(read=[self.granted])
        self.assertEqual(self.check(good, code=0)["verdict"], "allow")
        answer = self.check(good, "--path", self.granted + "/x", code=0)
        self.assertIn(f"granted by {self.file}:4", answer["rule"])
        self.assertEqual(self.check(good, "--host", "example.com", code=3)["rule"], "network none")
        bad = bundles.write(self.world.directory + "/bad", [], read=[self.other])
        for question in ([], ["--path", self.other], ["--cmd", "true"], ["--host", "example.com"]):
            answer = self.check(bad, *question, code=3)
            self.assertEqual(answer["rule"], "operator's ceiling")
            self.assertRegex(answer["reason"], r"/odyssey.bundle.json5:\d+: sandbox.permissions.filesystem.mounts."
                                               r"read\[0\]: " + self.other)
        nothing = self.world.make_directory("nothing.d")
        self.world.make("nothing.d/1.yaml", VERSION + ALONE)
        self.assertEqual(self.check(good, "--ceiling", nothing, code=3)["rule"], "operator's ceiling")

    def test_check_for_somebody_else(self):
        directory = self.world.make_directory("users.d")
        self.world.make("users.d/1.yaml",
                        VERSION + f"grants: [{{users: [nobody], read: [{self.granted}]}}]\n" + ALONE)
        good = self.bundle(read=[self.granted])
        words = [good, "--ceiling", directory]
        self.assertIn("uid 0 (root)", self.check(*words, code=3)["reason"])
        self.check(*words, "--user", "nobody", code=0)
        done = self.world.ctl("policy", "check", *words, "--user", "no-such-user")
        self.assertEnded(done, 1, "--user no-such-user: no such user")

    def test_explain(self):
        done = self.world.ctl("policy", "explain")
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"users *: read {self.granted}  ({self.file}:4)", done.out)
        self.assertIn("at most pids 200", done.out)
        bundle = self.bundle(read=[self.granted])
        done = self.world.ctl("policy", "explain", bundle)
        self.assertIn(f"granted mounts[0].source {self.granted} by {self.file}:4", done.out)
        self.assertRegex(done.out, r"limits of the cell: .*\bpids 200\b")
        plan = self.world.ctl("-o", "json", "policy", "explain", bundle).json()
        self.assertEqual(plan["ceiling"]["granted"],
                         [{"key": "mounts[0].source", "value": self.granted, "rule": f"{self.file}:4"}])
        done = self.world.ctl("policy", "explain", self.bundle(read=[self.other]))
        self.assertEnded(done, 1, f"sandbox.permissions.filesystem.mounts.read[0]: {self.other}")
        done = self.world.ctl("exec", "--explain", "--read", self.other, "--", "true")
        self.assertEnded(done, 125, f"--read: {self.other}")


class DiffTest(unittest.TestCase):
    """policy diff: without daemons."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def bundle(self, name, **options):
        return bundles.write(f"{self.world.directory}/{name}", [], **options)

    def test_diff(self):
        data = self.world.make_directory("data")
        below = self.world.make_directory("data/below")
        a = self.bundle("a", read=[below], env={"KEY": "DEPLOY_TOKEN"})
        b = self.bundle("b", read=[data], network=["*"])
        done = self.world.ctl("policy", "diff", a, b)
        self.assertEqual(done.code, 1, done)
        # Each line begins with the file, its line and the key of the bundle that allows it.
        lines = [re.sub(r"odyssey\.bundle\.json5:\d+: sandbox\.", "", line)
                 for line in done.out.splitlines()]
        self.assertEqual(lines, [
            f"Each of {a} and {b} may allow what the other does not.", f"{b} allows what {a} does not:",
            f'  {b}/permissions.network: ["*"]: network: egress, where none is the most',
            f"  {b}/permissions.filesystem.mounts.read[0]: {data} (read)",
            f"{a} allows what {b} does not:", f"  {a}/env.KEY: DEPLOY_TOKEN: env: KEY"])
        done = self.world.ctl("-o", "json", "policy", "diff", a, b)
        self.assertEqual((done.code, done.json()["same"], done.json()["b_is"], len(done.json()["only_in_b"])),
                         (1, False, "different", 2))
        for words, code, same in ((["diff", a, a], 0, True), (["diff", a, "/no/such"], 2, None),
                                  (["diff", a], 2, None)):
            done = self.world.ctl("-o", "json", "policy", *words)
            self.assertEqual(done.code, code, done)
            if same is not None:
                self.assertEqual(done.json(), {"same": same, "b_is": "same", "only_in_a": [], "only_in_b": [],
                                               "undecided": []})


    def test_every_kind_of_policy_compares_with_itself(self):
        directory = SOURCE + "/examples/policies"
        names = [name for name in os.listdir(directory) if name != "README.md"]
        self.assertGreaterEqual(len(names), 5)
        for name in names:
            done = self.world.ctl("policy", "diff", f"{directory}/{name}", f"{directory}/{name}")
            self.assertEqual((done.code, done.out), (0, ""), (name, done))


class PackagedTest(unittest.TestCase):
    """The files that come with Odyssey: without daemons."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def rules(self, path):
        with open(path, encoding="utf-8") as file:
            self.world.make("packaged.d/" + os.path.basename(path), file.read())
        done = self.world.ctl("-o", "json", "policy", "explain", "--ceiling",
                              self.world.directory + "/packaged.d")
        self.assertEqual(done.code, 0, done)
        return [rule.split("  (")[0] for rule in done.json()["ceiling"]["rules"]]

    def test_the_default(self):
        rules = self.rules(SOURCE + "/packaging/policy.d/00-default.yaml")
        self.assertEqual([rule for rule in rules if rule.startswith("users *: write")],
                         ["users *: write ~", "users *: write /srv"])
        for words in ("danger", "protection none", "users *: write /home", "users *: write / "):
            self.assertEqual([rule for rule in rules if words in rule + " "], [])

    def test_the_examples(self):
        directory = SOURCE + "/examples/ceilings"
        for name in sorted(os.listdir(directory)):
            self.assertTrue(self.rules(f"{directory}/{name}"))


class StartTest(unittest.TestCase):
    """`up` under a ceiling that cannot be used."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        os.makedirs(self.world.state, mode=0o755)

    def refused(self, *words):
        done = self.world.start_up().ended()
        self.assertEqual(done.code, 1, done)
        for word in words:
            self.assertIn(word, done.err)
        self.assertNotIn("ready", done.out)

    def test_a_wrong_file(self):
        file = write_ceiling(self.world, "limits: {max: {memory: 4G}}\n")
        self.refused(f"{file}:2: limits.max.memory: unknown field `memory`", "`memory_mb`")

    def test_a_file_that_others_could_write(self):
        file = write_ceiling(self.world, "grants: []\n")
        os.chmod(file, 0o666)
        self.refused(f"{file}: its group or others may write it")

    def test_a_strangers_directory(self):
        file = write_ceiling(self.world, "grants: []\n")
        os.chown(os.path.dirname(file), 4242, 4242)
        self.refused(f"{os.path.dirname(file)}: it belongs to uid 4242")


if __name__ == "__main__":
    main()
