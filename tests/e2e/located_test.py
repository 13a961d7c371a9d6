#!/usr/bin/env python3
"""A value of a policy file that is refused after the file was read is named with its file and line."""

import os
import unittest

import bundles
from world import World, WorldTest, main

# The source /proc is never shown; the file itself is valid.
POLICY = """policy_version: odyssey.policy/v1
sandbox:
  permissions:
    filesystem:
      mounts:
        read:
        - %s
        - /proc
"""
KEY = "sandbox.permissions.filesystem.mounts.read[1]: /proc: nothing of "


class LocatedTest(unittest.TestCase):
    """Without daemons."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.file = self.world.make("p.yaml", POLICY % self.world.make_directory("data"))

    def test_check_and_explain(self):
        done = self.world.ctl("-o", "json", "policy", "check", self.file)
        self.assertEqual(done.code, 3, done)
        self.assertTrue(done.json()["reason"].startswith(f"{self.file}:8: {KEY}"), done)
        done = self.world.ctl("policy", "explain", self.file)
        self.assertEqual(done.code, 1, done)
        self.assertIn(f"{self.file}:8: {KEY}", done.err)

    def test_every_problem_is_a_line_that_begins_with_its_place(self):
        one = self.world.make("one.yaml", "policy_version: odyssey.policy/v1\nsandbox: {mode: x}\n")
        two = self.world.make("two.yaml", "policy_version: odyssey.policy/v1\nsandbox: {mode: x, user: 0}\n")
        for file, keys in ((one, ["mode"]), (two, ["mode", "user"])):
            for verb in ("check", "explain"):
                done = self.world.ctl("policy", verb, file)
                self.assertEqual((done.code, len(done.err.splitlines())), (1, len(keys) + 2), done)
                for line, key in zip(done.err.splitlines(), keys):
                    self.assertTrue(line.startswith(f"{file}:2: sandbox.{key}: "), done)
                self.assertIn("docs/policy/dialects.md", done.err)

    def test_a_variable_without_a_grant(self):
        file = self.world.make("e.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  env:\n    A: GH_TOKEN\n")
        odek = self.world.make("odek.json", '{"sandbox_env": {\n"A": "${GH_TOKEN}"}}')
        granted = self.world.make_directory("granted.d")
        self.world.make("granted.d/1.yaml", "version: odyssey.ceiling/v1\ngrants: [{users: ['*'], env: [A, GH_TOKEN], "
                                            "write: [/]}]\nbuiltin: false\n")
        for path, place in ((file, f"{file}:4: sandbox.env.A: "), (odek, f"{odek}:2: sandbox_env.A: ")):
            for environment in ({**os.environ, "GH_TOKEN": "hunter2"}, os.environ):  # whether he has it or not
                environment = {**environment, "ODEK_APPROVE_PROJECT_SANDBOX": "1"}
                for command, code in (("check", 3), ("explain", 1)):
                    done = self.world.ctl("policy", command, path, env=environment)
                    self.assertEqual(done.code, code, done)
                    said = done.out + done.err
                    self.assertIn(place, said)
                    self.assertIn("GH_TOKEN: it looks like a secret, and no grant of the operator's ceiling", said)
                    self.assertNotIn("hunter2", said)
                done = self.world.ctl("policy", "check", path, "--ceiling", granted, env=environment)
                self.assertEqual(done.code, 0, done)

    def test_what_an_option_says_is_not_the_files(self):
        file = self.world.make("n.yaml", "policy_version: odyssey.policy/v1\n"
                               "sandbox: {resources: {memory_mb: 64}}\n")
        for option, value, said in (("--read", "/proc", "--read: /proc"),
                                    ("--memory", "1k", "--memory: 1k: limits.memory_bytes: 1024")):
            done = self.world.ctl("exec", "--policy", file, option, value, "--explain")
            self.assertEqual(done.code, 125, done)
            self.assertIn(said, done.err)
            self.assertNotIn("n.yaml", done.err)


class LocatedExecTest(WorldTest):

    def test_the_supervisors_refusal(self):
        file = self.world.make("p.yaml", POLICY % self.world.make_directory("data"))
        done = self.world.ctl("exec", "--policy", file, "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn(f"{file}:8: {KEY}", done.err)

    def test_a_secret_of_the_clients_under_any_name(self):
        """The supervisor is told the variable's name, and its value only once that is granted."""
        file = self.world.make("s.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  env:\n    A: GH_TOKEN\n")
        done = self.world.ctl("exec", "--policy", file, "--", "env", env={**os.environ, "GH_TOKEN": "hunter2"})
        self.assertEqual((done.code, done.out), (125, ""), done)
        self.assertIn(f"{file}:4: sandbox.env.A: GH_TOKEN: it looks like a secret", done.err)
        self.assertNotIn("hunter2", done.err)


class LocatedSessionTest(WorldTest):
    """What a bundle asks for: said as in its files, whoever refuses it, and when."""

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        os.makedirs(cls.world.state, mode=0o755)
        cls.world.make("state/policy.d/10.yaml", "version: odyssey.ceiling/v1\ngrants: [{users: ['*'], read: [/]}]\n"
                                                 "limits: {max: {pids: 200, memory_mb: 1024}}\nbuiltin: false\n")
        cls.world.up()

    def refused(self, name, **options):
        bundle = bundles.write(os.path.join(self.world.directory, name), [bundles.say("ok")], **options)
        done = self.world.ctl("run", bundle, "--prompt", "x")
        self.assertEqual(done.code, 1, done)
        return done.out + done.err

    def line(self, name, text):
        with open(os.path.join(self.world.directory, name), encoding="utf-8") as file:
            return 1 + [text in line for line in file].index(True)

    def test_the_supervisors_refusals(self):
        for name, options, text, words in (
                ("mount", {"read": ["/proc"]}, '"/proc"',
                 "permissions.filesystem.mounts.read[0]: /proc: nothing of /proc"),
                ("network", {"network": ["*"]}, '"*"',
                 'permissions.network: ["*"]: network: egress: not granted by the operator'),
                ("pids", {"resources": {"pids": 500}}, '"pids"', "resources.pids: 500: at most 200 is allowed"),
                ("memory", {"resources": {"memory_mb": 2048}}, '"memory_mb"',
                 "resources.memory_mb: 2048: limits.memory_bytes: 2147483648: at most 1073741824"),
                ("tool", {"tools": ["no-such-tool"]}, '"no-such-tool"',
                 "system_tools[0]: missing system tool: no-such-tool")):
            said = self.refused(name, **options)
            line = self.line(f"{name}/odyssey.bundle.json5", text)
            self.assertIn(f"odyssey.bundle.json5:{line}: sandbox.{words}", said)
            self.assertNotIn(self.world.state + "/agentd", said)

    def test_what_an_agents_file_says(self):
        for model, words in (
                ({"provider": "nobody", "name": "x"}, "model.provider: nobody: allowed are script, direct, openai"),
                ({"provider": "script", "name": "none.yaml"}, "model.name: does not exist: `none.yaml`"),
                ({"provider": "script", "name": "scenario.yaml", "config": {"a": 1}},
                 "model.config: provider script has no options")):
            said = self.refused("model", model=model)
            key = words.split(":")[0].split(".")[1]
            line = self.line("model/agent.yaml", f'"{key}"')
            self.assertIn(f"agent.yaml:{line}: {words}", said)


if __name__ == "__main__":
    main()
