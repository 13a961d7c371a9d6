#!/usr/bin/env python3
"""What a project's own file adds counts once its user has approved it, and only as long as it stays so."""

import os

from terminal import Terminal
from world import WorldTest, main

ADDS = '{\n"sandbox_network": "none",\n"sandbox_env": {"WORD": "added"}}'
TELLS = "sandbox_env.WORD"
SCRIPT = ("sh", "-c", "echo ran $WORD")


class ProjectTest(WorldTest):

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        self.environment = {**os.environ, "HOME": self.world.make_directory("home")}
        self.environment.pop("ODEK_APPROVE_PROJECT_SANDBOX", None)
        self.file = self.write(ADDS)

    def write(self, content):
        return self.world.make(f"{self.base}/odek.json", content)

    def argv(self):
        return ("exec", "--policy", self.file, "--", *SCRIPT)

    def run_it(self, **more):
        return self.world.ctl(*self.argv(), cwd=self.base, env={**self.environment, **more})

    def check(self, **more):
        done = self.world.ctl("-o", "json", "policy", "check", self.file, cwd=self.base,
                              env={**self.environment, **more})
        return done.code, done.json()["verdict"]

    def answer(self, text):
        """What is shown when the question is answered so, and how it ended."""
        shown = Terminal(self.world.argv(*self.argv()), cwd=self.base, env=self.environment)
        shown.until("N: no")
        shown.type(text + "\n")
        code = shown.ended()
        return code, shown.text

    def assertRefused(self, done):
        self.assertEqual((done.code, done.out), (125, ""), done)
        self.assertIn(f"{self.file}:3: {TELLS}: WORD", done.err)
        self.assertIn("ODEK_APPROVE_PROJECT_SANDBOX=1", done.err)

    def test_nobody_to_ask_is_no(self):
        self.assertRefused(self.run_it())
        self.assertRefused(self.run_it(ODEK_APPROVE_PROJECT_SANDBOX="yes"))
        self.assertEqual(self.check(), (4, "ask"))

    def test_the_users_environment_approves_that_once(self):
        done = self.run_it(ODEK_APPROVE_PROJECT_SANDBOX="1")
        self.assertEqual((done.code, done.out), (0, "ran added\n"), done)
        self.assertRefused(self.run_it())

    def test_what_takes_away_needs_nobody(self):
        self.write('{"sandbox_readonly": true, "sandbox_network": "none", "sandbox_memory": "64m"}')
        self.assertEqual(self.run_it().out, "ran\n")
        self.assertEqual(self.check(), (0, "allow"))

    def test_no_and_once(self):
        code, shown = self.answer("n")
        self.assertEqual(code, 125, shown)
        self.assertNotIn("ran added", shown)
        self.assertIn(f"{self.file}:3: {TELLS}", shown)
        code, shown = self.answer("y")
        self.assertEqual(code, 0, shown)
        self.assertIn("ran added", shown)
        self.assertRefused(self.run_it())

    def test_always_until_something_changes(self):
        code, shown = self.answer("t")
        self.assertEqual(code, 0, shown)
        done = self.run_it()
        self.assertEqual((done.code, done.out), (0, "ran added\n"), done)
        self.assertEqual(self.check(), (0, "allow"))
        # The same bytes in another project, other bytes here, another policy around it.
        other = self.world.make_directory(f"{self.base}/other")
        copy = self.world.make(f"{other}/odek.json", ADDS)
        done = self.world.ctl("exec", "--policy", copy, "--", *SCRIPT, cwd=other, env=self.environment)
        self.assertEqual((done.code, done.out), (125, ""), done)
        self.assertRefused(self.run_it(ODEK_SANDBOX_MEMORY="64m"))
        self.write(ADDS + "\n")
        self.assertRefused(self.run_it())
        self.write(ADDS)
        self.assertEqual(self.run_it().out, "ran added\n")

    def test_approvals_are_in_no_cell(self):
        self.assertEqual(self.answer("t")[0], 0)
        kept = self.world.state + "/supervisor/project_approvals"
        names = os.listdir(kept)
        self.assertTrue(names)
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(f"{kept}/{names[0]}").st_mode & 0o777, 0o600)
        for option in ("--read", "--write"):
            done = self.world.ctl("exec", option, kept, "--", "true")
            self.assertEqual(done.code, 125, done)
            self.assertIn(kept, done.err)


class OwnPolicyTest(WorldTest):
    """A cell does not write what the next one is made by."""

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])

    def assertKept(self, policy, *files, script, options=(), env=None):
        before = {}
        for file in files:
            with open(file, encoding="utf-8") as content:
                before[file] = content.read()
        done = self.world.ctl("exec", "--policy", policy, *options, "--", "sh", "-c", script, cwd=self.base, env=env)
        self.assertEqual((done.code, done.out), (0, "done\n"), done)
        self.assertEqual(done.err.count("Read-only") + done.err.count("busy"), 2 * len(files), done)
        for file, content in before.items():
            with open(file, encoding="utf-8") as now:
                self.assertEqual(now.read(), content)

    def test_odysseys_own(self):
        policy = self.world.make(self.base + "/in/box.yaml", "policy_version: odyssey.policy/v1\n"
                                 "sandbox: {system_tools_mode: standard, permissions: {filesystem: {mounts: {write: ['.']}}}}\n")
        self.assertKept(policy, policy, script="cd mount/write/current; echo x >>in/box.yaml;"
                        " mv in/box.yaml y; echo >in/other; echo done")

    def box(self):
        return self.world.make(self.base + "/in/box.yaml", "policy_version: odyssey.policy/v1\n"
                               "sandbox: {system_tools_mode: standard}\n")

    def test_in_the_workspace(self):
        self.assertKept(self.box(), self.base + "/in/box.yaml", options=("--workspace", self.base),
                        script="echo x >>in/box.yaml; mv in/box.yaml y; echo >in/other; echo done")

    def test_what_a_link_leads_to(self):
        link = self.world.make_directory("links") + "/" + os.path.basename(self.base)
        os.symlink(self.box(), link)
        self.assertKept(link, self.base + "/in/box.yaml", options=("--write", self.base),
                        script=f"cd {self.base}; echo x >>in/box.yaml; mv in/box.yaml y; echo done")

    def test_the_users_own_below_another_home(self):
        """One that no entry of /etc/passwd names, and so no table of names."""
        own = self.world.make(self.base + "/home/.odek/config.json", '{"sandbox_network": "none"}')
        project = self.world.make(self.base + "/odek.json", '{"sandbox_network": "none"}')
        self.assertKept(project, own, project, env={**os.environ, "HOME": self.base + "/home"},
                        script="echo x >>home/.odek/config.json; rm home/.odek/config.json;"
                        " echo x >>odek.json; rm odek.json; echo done")

    def test_a_worker_and_what_is_read_with_it(self):
        worker = self.world.make(self.base + "/w.worker",
                                 "sandbox: {paths: {proj: {root: ., mode: rw}}}\n")
        done = self.world.ctl("exec", "--denials", "always", "--policy", worker, "--", "sh", "-c",
                              "w=$(find / -name w.worker 2>/dev/null); echo $w; echo x >${w%/*}/workshop.yaml",
                              cwd=self.base)
        self.assertEqual(done.code, 0, done)
        inside = done.out.strip().rpartition("/")[0]
        file = self.world.make(self.base + "/workshop.yaml", "sandbox: {network: false}\n")
        self.assertKept(worker, worker, file, script=f"cd {inside}; echo x >>w.worker; mv w.worker y;"
                        " echo x >>workshop.yaml; rm workshop.yaml; echo done")


if __name__ == "__main__":
    main()
