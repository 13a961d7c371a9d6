#!/usr/bin/env python3
"""A value of a policy file that is refused after the file was read is named with its file and line."""

import os
import unittest

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
        done = self.world.ctl("policy", "check", file, env={**os.environ, "GH_TOKEN": "x"})
        self.assertEqual(done.code, 1, done)
        self.assertIn(f"{file}:4: sandbox.env.A: the variable GH_TOKEN looks like a secret", done.err)

    def test_what_an_option_says_is_not_the_files(self):
        file = self.world.make("n.yaml", "policy_version: odyssey.policy/v1\nsandbox: {}\n")
        done = self.world.ctl("exec", "--policy", file, "--read", "/proc", "--explain")
        self.assertEqual(done.code, 125, done)
        self.assertIn("mounts[0].source /proc", done.err)
        self.assertNotIn("n.yaml", done.err)


class LocatedExecTest(WorldTest):

    def test_the_supervisors_refusal(self):
        file = self.world.make("p.yaml", POLICY % self.world.make_directory("data"))
        done = self.world.ctl("exec", "--policy", file, "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn(f"{file}:8: {KEY}", done.err)


if __name__ == "__main__":
    main()
