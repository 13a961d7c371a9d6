#!/usr/bin/env python3
"""One policy held against another: --within of policy check and explain, policy diff; --cmd of workers. Without daemons."""

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
        self.assertEqual(done.out.splitlines(), [f"{b} is wider than {a}.", f"{b} allows what {a} does not:",
                                                 "  agent.tools: Write",
                                                 "  agent.tools.deny: Bash(curl:*) is not there"])

    def test_diff_tells_workers_and_endpoints(self):
        worker = "sandbox: {paths: {n: {root: %s}}}\nshell_rules: [{pattern: git push, approval_required: %s}]\n"
        endpoint = "version: 1\nnetwork_policies:\n  x:\n    binaries: [{path: /usr/bin/curl}]\n" \
                   "    endpoints: [{host: a.example.com, port: 443, protocol: rest, access: %s}]\n"
        for name, first, second, words in (
                ("worker", worker % (self.data, "true"), worker % (self.data, "false"),
                 "shell `git push`: runs without asking"),
                ("paths", worker % (self.data + "/below", "true"), worker % (self.data, "true"),
                 f"sandbox.paths.n.root: {self.data} (read)"),
                ("endpoints", endpoint % "read-only", endpoint % "full", "every request")):
            a = self.world.make(f"{name}/a.yaml", first)
            b = self.world.make(f"{name}/b.yaml", second)
            for files, order, side in (((a, b), "wider", "only_in_b"), ((b, a), "narrower", "only_in_a")):
                done = self.world.ctl("-o", "json", "policy", "diff", *files)
                self.assertEqual((done.code, done.json()["b_is"]), (1, order), done)
                self.assertEqual(len(done.json()[side]), 1, done)
                self.assertIn(words, done.json()[side][0])
            self.assertIn(f"{b} is wider than {a}.", self.world.ctl("policy", "diff", a, b).out)

    def assert_within(self, narrow, wide, words):
        """The one is within the other, and not the other way round, because of these words."""
        self.assertEqual(self.world.ctl("policy", "check", narrow, "--within", wide).code, 0)
        done = self.world.ctl("-o", "json", "policy", "check", wide, "--within", narrow)
        self.assertEqual((done.code, done.json()["rule"]), (3, "within " + narrow), done)
        self.assertIn(words, done.json()["reason"])

    def test_what_no_cell_enforces_is_held_against_the_parent_too(self):
        worker = "sandbox: {paths: {n: {root: %s, mode: rw, write_approval: %s}}}\n%s"
        plain = self.world.make("w/plain.yaml", worker % (self.data, "true", ""))
        for i, (write, rest, words) in enumerate((
                ("false", "", "sandbox.paths.n.write_approval: without asking"),
                ("true", "shell_rules: [{pattern: rm, approval_required: false}]\n", "shell `rm`: runs without asking"),
                ("true", "attachment_policy: {max_count: 99}\n", "attachment_policy.max_count: 99, where 4"),
                ("true", "toolsets: {delegation: {allow_workers: ['*']}}\n", "allow_workers: *"))):
            wide = self.world.make(f"w/{i}.yaml", worker % (self.data, write, rest))
            self.assert_within(plain, wide, words)

    def test_endpoints_are_held_against_the_parent_too(self):
        endpoint = "version: 1\nnetwork_policies:\n  x:\n    binaries: [{path: /usr/bin/curl}]\n" \
                   "    endpoints: [{host: '%s.example.com', port: 443}]\n"
        a, b, both = (self.world.make(f"e/{i}.yaml", endpoint % host) for i, host in enumerate(("a", "b", "*")))
        done = self.world.ctl("policy", "check", a, "--within", both)
        self.assertEqual(done.code, 0, done)
        for child, parent, rule, words in ((both, a, "within " + a, "*.example.com"),
                                           (b, a, "within " + a, "b.example.com")):
            done = self.world.ctl("-o", "json", "policy", "check", child, "--within", parent)
            self.assertEqual((done.code, done.json()["rule"]), (3, rule), done)
            self.assertIn(words, done.json()["reason"])

    def test_a_worker_answers_for_a_command(self):
        file = self.world.make("w.yaml", "instructions: i\nshell_rules:\n- {pattern: git status, "
                                         "approval_required: false}\n- {pattern: git}\n")
        for command, code, rule in (("git status -s", 0, f"{file}:3: shell_rules[0].pattern"),
                                    ("git statusx", 4, f"{file}:4: shell_rules[1].pattern"), ("ls", 3, "")):
            done = self.world.ctl("-o", "json", "policy", "check", file, "--cmd", command)
            self.assertEqual((done.code, done.json()["rule"]), (code, rule), done)
        done = self.world.ctl("policy", "check", self.parent, "--cmd", "ls")
        self.assertEqual(done.code, 1, done)
        self.assertIn("has no rules about commands", done.err)


if __name__ == "__main__":
    main()
