#!/usr/bin/env python3
"""Policy files of every dialect: what policy check and explain say, and what a command in their cell finds."""

import json
import os
import unittest

from world import SOURCE, World, WorldTest, main

EXAMPLES = SOURCE + "/examples/policies"

# file of the examples → how it is called, and lines of its explanation.
EXPLAINED = {
    EXAMPLES + "/odyssey-policy.yaml": ("odyssey.policy/v1", ["network none", "pids 512"]),
    EXAMPLES + "/reviewers": ("odyssey.ai/bundle.v1", ["mode workspace_write", "pids 256"]),
    EXAMPLES + "/reviewers/agents/fixer/agent.yaml": ("odyssey.ai/bundle.v1", ["pids 256"]),
    SOURCE + "/examples/bundles/hello": ("odyssey.bundle/v1", ["network none"]),
    EXAMPLES + "/odek.json": ("odek", ["mode read_only", "cpu_millis 1500", "/fixtures: ",
                                       "not part of the cell: dangerous"]),
}

OPENSHELL = "version: 1\n"
NETWORK = OPENSHELL + "network_policies:\n  a:\n    endpoints:\n    - {%s}\n    binaries: [{path: /**}]\n"

# name, content, and the line and key of what is wrong in it.
BAD = [
    ("p.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  mode: danger\n", 3, "sandbox.mode"),
    ("p.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  deny: [/x]\n", 3, "sandbox.deny[0]"),
    ("p.json5", "{policy_version: 'odyssey.policy/v1',\nsandbox: {user: 0}}", 2, "sandbox.user"),
    ("p.yaml", "policy_version: odyssey.policy/v1\nsandbox: {}\nsandbox: {}\n", 3, None),
    ("w.yaml", "sandbox:\n  paths:\n    a: {root: x, mode: rwx}\n", 3, "sandbox.paths.a.mode"),
    ("w.yaml", "sandbox: {}\nattachment_policy: {max_attachments: -1}\n", 2,
     "attachment_policy.max_attachments"),
    ("w.yaml", "shell_rules:\n- {pattern: a, grants: {root: true}}\n", 2, "shell_rules[0].grants.root"),
    ("odek.json", '{\n"sandbox_volumes": ["./x:/proc"]}', 2, "sandbox_volumes[0]"),
    ("odek.json", '{\n"sandbox_volumes": ["./x:/tmp:exec"]}', 2, "sandbox_volumes[0]"),
    ("odek.json", '{\n"sandbox_volumes": ["./x:/workspace/.git/hooks"]}', 2, "sandbox_volumes[0]"),
    ("odek.json", '{\n"sandbox_volumes": ["./x:/c:rshared"]}', 2, "sandbox_volumes[0]"),
    ("odek.json", '{"sandbox_memory": "lots"}', 1, "sandbox_memory"),
    ("odek.json", '{"sandbox_netwrk": "none"}', 1, "sandbox_netwrk"),
    ("o.yaml", OPENSHELL + "process: {run_as_user: root}\n", 2, "process.run_as_user"),
    ("o.yaml", OPENSHELL + "filesystem_policy:\n  read_write: [/]\n", 3, "filesystem_policy.read_write[0]"),
    ("o.yaml", OPENSHELL + "filesystem_policy:\n  read_only: [/usr/../etc]\n", 3,
     "filesystem_policy.read_only[0]"),
    ("o.yaml", OPENSHELL + "filesystem_policy:\n  read_only: [srv]\n", 3, "filesystem_policy.read_only[0]"),
    ("o.yaml", OPENSHELL + f"filesystem_policy:\n  read_only: {[f'/srv/{i}' for i in range(257)]}\n", 3,
     "filesystem_policy"),
    ("o.yaml", OPENSHELL + "filesystem_policy: {read_only: [/does/not/exist]}\n"
     "landlock: {compatibility: hard_requirement}\n", 2, "filesystem_policy.read_only[0]"),
    ("o.yaml", OPENSHELL + "landlock: {compatibility: hard}\n", 2, "landlock.compatibility"),
    ("o.yaml", NETWORK % "host: a.b, port: 80, protocol: rest, access: full, enforcement: enforc", 5,
     "network_policies.a.endpoints[0].enforcement"),
    ("o.yaml", NETWORK % "host: a.b, port: 80, protocol: rest, access: readonly", 5,
     "network_policies.a.endpoints[0].access"),
    ("o.yaml", NETWORK % "host: a.b, port: 80, tls: none", 5, "network_policies.a.endpoints[0].tls"),
    ("o.yaml", NETWORK % "host: '*.com', port: 443", 5, "network_policies.a.endpoints[0].host"),
    ("o.yaml", NETWORK % "host: 127.0.0.1, port: 3128, allowed_ips: [127.0.0.0/8]", 5,
     "network_policies.a.endpoints[0].host"),
    ("o.yaml", NETWORK % "host: a.b, port: 443, credential_binding: {provider: x}", 5,
     "network_policies.a.endpoints[0]"),
    ("what.yaml", "colour: red\n", 1, None),
    ("two.yaml", "version: 1\nlandlock: {}\nsandbox_image: x\n", 1, "sandbox_image"),
]


class DialectFilesTest(unittest.TestCase):
    """Without daemons."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.project = self.world.make_directory("project")
        for name in ("fixtures", "coverage"):  # that examples name
            self.world.make_directory("project/" + name)

    def test_every_example_is_valid(self):
        for path in [*EXPLAINED, EXAMPLES + "/llm-do-worker.yaml", EXAMPLES + "/openshell-policy.yaml"]:
            done = self.world.ctl("-o", "json", "policy", "check", path, cwd=self.project)
            code, verdict = ((4, "ask") if path.endswith("odek.json") else
                             (3, "deny") if "openshell-policy" in path else (0, "allow"))  # for its middleware
            self.assertEqual((done.code, done.err), (code, ""), (path, done))
            self.assertEqual(done.json()["verdict"], verdict)

    def test_every_example_is_explained(self):
        for path, (dialect, lines) in EXPLAINED.items():
            done = self.world.ctl("policy", "explain", path, cwd=self.project)
            self.assertEqual((done.code, done.err), (0, ""), (path, done))
            self.assertEqual(done.out.splitlines()[0], f"policy {dialect}")
            for line in lines:
                self.assertIn(line, done.out, path)
            parsed = self.world.ctl("-o", "json", "policy", "explain", path, cwd=self.project).json()
            self.assertEqual(parsed["policy"]["dialect"], dialect)
            self.assertEqual(parsed["policy"]["warnings"], [])

    def test_what_egress_does_not_do_is_refused(self):
        done = self.world.ctl("policy", "explain", EXAMPLES + "/openshell-policy.yaml")
        self.assertEqual(done.code, 1, done)
        self.assertIn("network_middlewares.redact: middleware is not there", done.err)
        self.assertIn("network_policies.github.endpoints[1] on line 26: api.github.com:443/graphql", done.out)

    def test_what_is_wrong_has_its_line_and_key(self):
        for name, content, line, key in BAD:
            path = self.world.make(name, content)
            place = f"{path}:{line}: " + (f"{key}: " if key else "")
            for command in (["policy", "check", path], ["policy", "explain", path]):
                done = self.world.ctl(*command, cwd=self.world.directory)
                self.assertEqual((done.code, done.out), (1, ""), (content, done))
                self.assertIn(place, done.err)
            done = self.world.ctl("exec", "--policy", path, "--", "true", cwd=self.world.directory)
            self.assertEqual(done.code, 125, done)
            self.assertIn(place, done.err)

    def test_every_problem_is_told(self):
        path = self.world.make("o.yaml", OPENSHELL + "proces: {}\nlandlock: {x: 1}\nprocess: {run_as_user: 0}\n")
        done = self.world.ctl("policy", "check", path)
        self.assertEqual(done.code, 1)
        told = [line.split(": ")[:2] for line in done.err.splitlines() if line.startswith(path)]
        self.assertEqual(told, [[f"{path}:2", "proces"], [f"{path}:3", "landlock.x"],
                                [f"{path}:4", "process.run_as_user"]])
        self.assertIn("3 problems", done.err)

    def test_warnings_do_not_fail(self):
        path = self.world.make("project/odek.json", json.dumps(
            {"sandbox_network": "host", "sandbox_volumes": ["/etc:/c", "./kept:/kept"]}, indent=1))
        project = os.path.dirname(path)
        done = self.world.ctl("policy", "explain", path, cwd=project)
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"warning: {path}:2: sandbox_network: `host` destroys container isolation. "
                      "Forcing 'none'.", done.err)
        self.assertIn("sandbox_volumes[0]: `/etc:/c` is left out: (host path /etc is outside", done.err)
        self.assertIn("network none", done.out)
        self.assertIn(f"/kept: the host's {project}/kept", done.out)
        parsed = self.world.ctl("-o", "json", "policy", "explain", path, cwd=project).json()
        self.assertEqual(len(parsed["policy"]["warnings"]), 3)
        self.assertIn(f"{project}/kept: does not exist on this host", parsed["policy"]["warnings"][2])

    def test_odek_reads_its_layers(self):
        home = self.world.make_directory("home")
        self.world.make("home/.odek/config.json", '{"sandbox_memory": "1g", "sandbox_cpus": "1"}')
        path = self.world.make("project/odek.json", '{"sandbox_memory": "2g", "sandbox_cpus": "2"}')
        done = self.world.ctl("policy", "explain", path, cwd=os.path.dirname(path),
                              env={**os.environ, "HOME": home, "ODEK_SANDBOX_CPUS": "0.5"})
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"also read {home}/.odek/config.json", done.out)
        for line in ("memory_bytes 2147483648", "cpu_millis 500"):
            self.assertIn(line, done.out)
        self.world.make("project/odek.json", '{"sandbox_cpus": "two"}')
        done = self.world.ctl("policy", "check", path, cwd=os.path.dirname(path),
                              env={**os.environ, "HOME": home, "ODEK_SANDBOX_CPUS": "0.5"})
        self.assertEqual(done.code, 1, done)
        self.assertIn(f"{path}:1: sandbox_cpus: must be a number of cores", done.err)

    def test_an_agents_file_answers_for_itself(self):
        reviewers = EXAMPLES + "/reviewers"
        for path, code in ((reviewers, 0), (reviewers + "/agents/reviewer/agent.yaml", 0),
                           (reviewers + "/agents/fixer/agent.yaml", 3)):
            done = self.world.ctl("policy", "check", path, "--cmd", "git push")
            self.assertEqual(done.code, code, (path, done))

    def test_a_workshop_is_checked_as_a_whole_and_is_no_link(self):
        path = self.world.make("shop/w.yaml", "sandbox: {network: false}\n")
        workshop = self.world.make("shop/workshop.yaml", "model: m\nsandbox:\n  network: maybe\n")
        done = self.world.ctl("policy", "check", path)
        self.assertEqual((done.code, done.out), (1, ""), done)
        self.assertIn(f"{workshop}:3: sandbox.network: must be true or false", done.err)
        os.rename(workshop, self.world.directory + "/elsewhere.yaml")
        os.symlink(self.world.make("elsewhere.yaml", "sandbox: {network: false}\n"), workshop)
        for words in (["policy", "check", path], ["policy", "explain", path],
                      ["exec", "--policy", path, "--", "true"]):
            done = self.world.ctl(*words)
            self.assertNotEqual(done.code, 0, done)
            self.assertIn(f"{workshop}: is a symbolic link", done.err)

    def test_paths_of_other_dialects(self):
        path = self.world.make("w.yaml", "sandbox: {paths: {a: {root: data, mode: rw}}}\n")
        data = self.world.make_directory("data")
        done = self.world.ctl("-o", "json", "policy", "check", path, "--path", data + "/x")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(done.json()["reason"], "read and write, as /workspace/mount/a/x")
        self.assertEqual(self.world.ctl("policy", "check", path, "--path", "/home").code, 3)


class DialectExecTest(WorldTest):
    """One command in the cell of a policy's file."""

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])

    def policy(self, name, content):
        return self.world.make(f"{self.base}/{name}", content)

    def shell(self, policy, script, *options, **more):
        return self.world.ctl("exec", "--policy", policy, *options, "--", "sh", "-c", script,
                              cwd=self.base, **more)

    def test_a_policy_of_our_own(self):
        self.world.make(f"{self.base}/given", "here\n")
        policy = self.policy("p.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n"
                             "  system_tools_mode: standard\n  env: {WORD: GIVEN_WORD}\n"
                             "  permissions: {filesystem: {mounts: {read: [.]}}}\n"
                             "  resources: {open_files: 77}\n")
        done = self.shell(policy, "cat mount/read/current/given; ulimit -n; echo $WORD; "
                          "echo x >mount/read/current/new", env={**os.environ, "GIVEN_WORD": "w"})
        self.assertEqual(done.out, "here\n77\nw\n", done)
        self.assertNotEqual(done.code, 0)
        self.assertFalse(os.path.exists(f"{self.base}/new"))

    def test_a_worker_of_llm_do(self):
        self.world.make(f"{self.base}/shop/in/a.md", "a\n")
        policy = self.policy("shop/workers/w.yaml",
                             "sandbox:\n  paths:\n    in: {root: in}\n    out: {root: made/here, mode: rw}\n"
                             "  network: false\n")
        done = self.shell(policy, "cat mount/in/a.md; echo new >mount/out/b; ls /sys/class/net; "
                          "echo x >mount/in/b")
        self.assertEqual(done.out, "a\n", done)
        self.assertNotEqual(done.code, 0)
        with open(f"{self.base}/shop/made/here/b", encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")
        self.assertEqual(os.listdir(f"{self.base}/shop/in"), ["a.md"])

    def test_missing_roots_of_a_worker_are_made(self):
        home = self.world.make_directory(f"{self.base}/home")
        policy = self.policy("shop/w.yaml", "sandbox:\n  paths:\n"
                             "    mine: {root: ~/made/mine, mode: rw}\n"
                             f"    there: {{root: {self.base}/made/there, mode: rw}}\n"
                             "    up: {root: ../made/up, mode: rw}\n")
        checked = self.world.ctl("policy", "check", policy, env={**os.environ, "HOME": home})
        self.assertEqual((checked.code, checked.err), (0, ""), checked)
        self.assertFalse(os.path.exists(home + "/made"), "checking makes nothing")
        done = self.shell(policy, "for at in mine there up; do echo new >mount/$at/x; done",
                          env={**os.environ, "HOME": home})
        self.assertEqual((done.code, done.err), (0, ""), done)
        for path in (home + "/made/mine", self.base + "/made/there", self.base + "/made/up"):
            self.assertEqual(os.listdir(path), ["x"])

    def test_nothing_is_made_that_a_cell_may_not_be_shown(self):
        policy = self.policy("w.yaml", "sandbox:\n  paths:\n"
                             f"    a: {{root: {self.base}/made, mode: rw}}\n"
                             "    b: {root: /etc/odyssey-e2e/x}\n")
        done = self.shell(policy, "true")
        self.assertEnded(done, 125, f"{policy}:4: sandbox.paths.b.root: /etc/odyssey-e2e/x")
        for path in (self.base + "/made", "/etc/odyssey-e2e"):
            self.assertFalse(os.path.exists(path), path)

    def test_roots_are_made_with_the_rights_of_whom_they_are_for(self):
        own = self.world.make_directory(f"{self.base}/own")
        os.chown(own, 4242, 4242)
        policy = self.policy("w.yaml", f"sandbox: {{paths: {{a: {{root: {own}/made, mode: rw}}}}}}\n")
        done = self.shell(policy, "echo new >mount/a/x", "--owner", "4242")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertEqual(os.stat(own + "/made").st_uid, 4242)
        policy = self.policy("w.yaml", f"sandbox: {{paths: {{a: {{root: {self.base}/no}}}}}}\n")
        done = self.shell(policy, "true", "--owner", "4242")
        self.assertEnded(done, 125, f"create directory {self.base}/no: Permission denied")
        policy = self.policy("w.yaml", "sandbox: {paths: {a: {root: ~/no}}}\n")
        self.assertEnded(self.shell(policy, "true", "--owner", "4242"), 125,
                         f"{policy}:1: sandbox.paths.a.root: `~`")

    def test_a_project_of_odek(self):
        self.world.make(f"{self.base}/given", "here\n")
        self.world.make(f"{self.base}/data/file", "data\n")
        policy = self.policy("odek.json", json.dumps(
            {"sandbox_readonly": True, "sandbox_env": {"A": "b"}, "sandbox_volumes": ["data:/data:ro"]}))
        done = self.shell(policy, "pwd; cat given /data/file; echo $A; "
                          "touch new 2>&1; cp /bin/true /tmp/t && /tmp/t; echo $?",
                          env={**os.environ, "ODEK_APPROVE_PROJECT_SANDBOX": "1"})
        self.assertEqual(done.code, 0, done)
        lines = done.out.splitlines()
        self.assertEqual(lines[:4], ["/workspace", "here", "data", "b"])
        self.assertIn("Read-only file system", lines[4])
        self.assertEqual(lines[-1], "126", done)
        self.assertFalse(os.path.exists(f"{self.base}/new"))

    def test_a_policy_of_openshell(self):
        tools, hidden, out = (self.world.make_directory(f"{self.base}/{name}")
                              for name in ("tools", "hidden", "out"))
        os.chmod(self.world.make(f"{tools}/run", "#!/bin/sh\nid -u; id -g\n"), 0o755)
        policy = self.policy("o.yaml", "version: 1\nprocess: {run_as_user: 4242, run_as_group: 4242}\n"
                             f"filesystem_policy:\n  read_only: [/usr, /lib, /etc, /proc, {tools}]\n"
                             f"  read_write: [/tmp, /dev/null, {out}]\n")
        done = self.shell(policy, f"{tools}/run; echo new >{out}/file; echo x >/tmp/y; "
                          f"echo x >{tools}/new; ls -d {hidden}")
        self.assertNotEqual(done.code, 0, done)
        self.assertEqual(done.out, "4242\n4242\n", done)
        self.assertEqual(os.listdir(tools), ["run"])
        with open(f"{out}/file", encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")

    def test_endpoints_are_served_and_never_dropped(self):
        policy = self.policy("o.yaml", NETWORK % "host: a.b, port: 443")
        done = self.shell(policy, "echo ran")
        self.assertEqual((done.code, done.out), (0, "ran\n"), done)
        for more in ("protocol: sql, enforcement: audit", "credential_binding: {provider: p}"):
            refused = self.policy("r.yaml", NETWORK % ("host: a.b, port: 443, " + more))
            done = self.shell(refused, "echo ran")
            self.assertEqual((done.code, done.out), (125, ""), done)
        done = self.shell(policy, "echo ran", "--network", "none")
        self.assertEqual((done.code, done.out), (0, "ran\n"), done)


if __name__ == "__main__":
    main()
