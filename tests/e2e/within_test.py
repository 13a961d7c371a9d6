#!/usr/bin/env python3
"""One policy held against another: --within of policy check and explain, tools in policy diff. Without daemons."""

import unittest

import bundles
from world import World, main

POLICY = "policy_version: odyssey.policy/v1\nsandbox:\n  resources: {pids: %d}\n  permissions:\n    filesystem:\n" \
         "      mounts:\n        read: [%s]\n"


class WithinTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.data = self.world.make_directory("data")
        below = self.world.make_directory("data/below")
        other = self.world.make_directory("other")
        self.parent = self.world.make("parent.yaml", POLICY % (100, self.data))
        self.inside = self.world.make("inside.yaml", POLICY % (50, below))
        self.beyond = self.world.make("beyond.yaml", POLICY % (200, f"{below}, {other}"))

    def test_check(self):
        self.assertEqual(self.world.ctl("policy", "check", self.inside, "--within", self.parent).code, 0)
        done = self.world.ctl("-o", "json", "policy", "check", self.beyond, "--within", self.parent)
        self.assertEqual((done.code, done.json()["verdict"]), (3, "deny"), done)
        self.assertEqual(done.json()["rule"], "within " + self.parent)
        place = f"{self.beyond}:7: sandbox.permissions.filesystem.mounts.read[1]: "
        self.assertEqual(done.json()["reason"], f"{place}{self.world.directory}/other (read)")
        done = self.world.ctl("policy", "check", self.inside, "--within", "/no/such")
        self.assertEqual(done.code, 1, done)
        self.assertIn("/no/such", done.err)

    def test_explain_is_the_plan_of_what_both_give(self):
        done = self.world.ctl("policy", "explain", self.beyond, "--within", self.parent)
        self.assertEqual(done.code, 0, done)
        self.assertIn("pids 100", done.out)
        self.assertIn(self.data + "/below", done.out)
        self.assertNotIn(self.world.directory + "/other", done.out)

    def test_diff_tells_tools_and_rules(self):
        a = bundles.write(self.world.directory + "/a", [], rules={"allow": ["Bash"], "deny": ["Bash(curl:*)"]})
        b = bundles.write(self.world.directory + "/b", [], rules={"allow": ["Bash", "Write"]})
        done = self.world.ctl("policy", "diff", a, b)
        self.assertEqual(done.code, 1, done)
        self.assertEqual(done.out.splitlines(), [f"{b} allows what {a} does not:", "  agent.tools: Write",
                                                 "  agent.tools.deny: Bash(curl:*) is not there"])


if __name__ == "__main__":
    main()
