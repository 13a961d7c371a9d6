#!/usr/bin/env python3
"""policy check, policy explain, bundle validate: what they print and how they exit. Without daemons."""

import os
import re
import socket
import subprocess
import unittest

import bundles
from world import SOURCE, World, main

REPORT = SOURCE + "/examples/bundles/repo-report"

WRONG_MANIFEST = """// line 1
{
  id: 'Wrong Id',
  version: '0.1.0',
  manifest_version: 'odyssey.bundle/v2',
  readme: 'missing.md',
  agent_spec: '../outside.yaml',
  executor: { type: 'custom', id: 'react' },
  tools: [{ name: 'Raed' }],
  colour: 'red',
  sandbox: {
    mode: 'nope',
    permissions: { network: ['example.com'] },
    env: { '1BAD': 'X' },
    resources: { cpu: 'many' },
  },
}
"""


class PolicyTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def bundle(self, rules=None, **options):
        return bundles.write(self.world.directory + "/bundle", [bundles.say("x")], rules=rules,
                             **options)

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def lines_of(self, path, *words):
        """The number of the one line of the file that has the word, for each."""
        lines = self.read(path).splitlines()
        out = []
        for word in words:
            number, = [i for i, line in enumerate(lines, 1) if word in line]
            out.append(number)
        return out

    def check(self, *words):
        """Exit code and verdict of policy check; its text and its JSON have to agree."""
        text = self.world.ctl("policy", "check", *words)
        done = self.world.ctl("-o", "json", "policy", "check", *words)
        self.assertEqual(text.code, done.code)
        verdict = done.json()
        parse = ["commands", "risk"] if "commands" in verdict else []  # of a command line
        self.assertEqual(sorted(verdict), sorted(["answered_by", "problems", "reason", "rule", "verdict",
                                                  "warnings"] + parse))
        told = [line.partition("warning: ")[2] for line in text.err.splitlines()]
        self.assertEqual(verdict["warnings"], told)
        self.assertTrue(text.out.startswith(verdict["verdict"]), text)
        self.assertIn(verdict["rule"], text.out)
        return done.code, verdict["verdict"], verdict["rule"]

    def test_commands(self):
        bundle = self.bundle({"allow": ["Bash(git:*)"], "ask": ["Bash(cargo test:*)"],
                              "deny": ["Bash(curl:*)"]})
        self.assertEqual(self.check(bundle, "--cmd", "git status"), (0, "allow", "Bash(git:*)"))
        self.assertEqual(self.check(bundle, "--cmd", "cargo test --all"),
                         (4, "ask", "Bash(cargo test:*)"))
        for command in ("curl x", "git log; curl x", "sh -c 'curl x'"):
            self.assertEqual(self.check(bundle, "--cmd", command), (3, "deny", "Bash(curl:*)"))
        self.assertEqual(self.check(bundle, "--cmd", "rm x"), (0, "allow", ""))
        worker = self.world.make("worker.yaml", "shell_rules: [{pattern: git status}]\n")
        free = self.world.make("free.yaml", "toolsets: {shell: {default: {approval_required: false}}}\n")
        for path in (bundle, worker, free):  # none would run it
            for command in ("git status 'x", "  \t"):
                self.assertEqual(self.check(path, "--cmd", command), (3, "deny", ""))

    def test_warnings(self):
        plural = [self.world.make(f"plural/{name}.yaml", f"sandboxes: {{{name}: {{path: .}}}}\n")
                  for name in ("a", "b")]
        self.assertEqual(self.check(plural[0])[:2], (0, "allow"))
        self.check(plural[0], "--within", plural[1])
        for words, count in (([], 1), (["--within", plural[0]], 2)):
            for command, of in (("check", lambda out: out), ("explain", lambda out: out["policy"])):
                done = self.world.ctl("-o", "json", "policy", command, plural[0], *words)
                self.assertEqual(len(of(done.json())["warnings"]), count, done)
                self.assertIn("`sandboxes` is deprecated", of(done.json())["warnings"][0])

    def test_paths(self):
        project = self.world.make_directory("project")
        bundle = self.bundle(read=["."])
        inside, outside = project + "/file", self.world.make("outside")
        self.world.make("project/file")
        for path, code, verdict in ((inside, 0, "allow"), (outside, 3, "deny"),
                                    ("/etc/shadow", 3, "deny"), ("/usr/bin/sh", 0, "allow")):
            done = self.world.ctl("-o", "json", "policy", "check", bundle, "--path", path, cwd=project)
            self.assertEqual((done.code, done.json()["verdict"]), (code, verdict), (path, done))

    def test_links_inside_a_mount_lead_where_the_cell_has_them(self):
        rw, ro, other = (self.world.make_directory(name) for name in ("rw", "ro", "other"))
        policy = self.world.make("o.yaml", "version: 1\nfilesystem_policy:\n"
                                           f"  read_write: [{rw}]\n  read_only: [{ro}]\n")
        for name, leads in (("passwd", "/etc/passwd"), ("hidden", other), ("ro", ro), ("own", "file")):
            os.symlink(leads, f"{rw}/{name}")
        for name, code, words in (("passwd", 3, "is /etc/passwd in the cell: nothing of the policy shows"),
                                  ("hidden/x", 3, f"is {other}/x in the cell: nothing of the policy shows"),
                                  ("ro/x", 0, f"; to write: filesystem_policy.read_write: [{ro}]"),
                                  ("ro/x", 0, f"is {ro}/x in the cell: read-only"),
                                  ("own", 0, f"is {rw}/file in the cell: read and write"),
                                  ("plain", 0, f"read and write, as {rw}/plain")):
            done = self.world.ctl("-o", "json", "policy", "check", policy, "--path", f"{rw}/{name}")
            self.assertEqual(done.code, code, done)
            self.assertIn(words, done.json()["reason"])

    def test_a_whole_file(self):
        self.assertEqual(self.check(self.bundle())[:2], (0, "allow"))
        for path in (REPORT, REPORT + "/odyssey.bundle.json5"):
            self.assertEqual(self.check(path)[:2], (0, "allow"))

    def test_files_that_do_not_validate(self):
        bundle = self.bundle()
        self.world.make(bundle + "/odyssey.bundle.json5", WRONG_MANIFEST)
        for words in ([], ["--cmd", "ls"], ["--path", "/etc"]):
            done = self.world.ctl("policy", "check", bundle, *words)
            self.assertEqual((done.code, done.out), (1, ""), done)
            self.assertIn("odyssey.bundle.json5:", done.err)
            self.assertIn("bundle validate", done.err)
        for command in (["policy", "check"], ["policy", "explain"], ["bundle", "validate"]):
            done = self.world.ctl(*command, "/no/such/file")
            self.assertEqual(done.code, 1, done)
            self.assertIn("/no/such/file", done.err)

    def test_json_says_what_is_refused(self):
        """One object on stdout, whatever is wrong, with the places; exit code and stderr are those of the text."""
        bundle = self.bundle()
        wrong = self.world.make(bundle + "/odyssey.bundle.json5", WRONG_MANIFEST)
        worker = self.world.make("w.yaml", "sandbox:\n  network: true\n")
        ceiling = self.world.make_directory("ceiling")
        self.world.make("ceiling/a.yaml", "version: odyssey.ceiling/v1\nbuiltin: false\n")
        endpoints = self.world.make("o.yaml", "version: 1\nnetwork_policies:\n  x:\n    binaries: [{path: /**}]\n"
                                              "    endpoints: [{host: a.example.com, port: 443, protocol: sql, "
                                              "access: full, enforcement: audit}]\n")
        refused = ["--ceiling", ceiling]
        for words, code, verdict, place in (
                (["check", bundle], 1, "invalid", (wrong, 5, "manifest_version")),
                (["explain", bundle], 1, "invalid", (wrong, 5, "manifest_version")),
                (["diff", bundle, worker], 2, "invalid", (wrong, 5, "manifest_version")),
                (["check", "/no/such"], 1, "invalid", ("/no/such", 0, "")),
                (["explain", worker, *refused], 1, "deny", (worker, 2, "sandbox.network")),
                (["check", worker, *refused], 3, "deny", (worker, 2, "sandbox.network")),
                (["explain", endpoints], 1, "deny", (endpoints, 3, "network_policies"))):
            text = self.world.ctl("policy", *words)
            done = self.world.ctl("-o", "json", "policy", *words)
            self.assertEqual((done.code, done.err), (text.code, text.err), done)
            self.assertEqual((done.code, done.json()["verdict"]), (code, verdict), done)
            problem = done.json()["problems"][0]
            self.assertEqual((problem["file"], problem["line"], problem["key"]), place)
            self.assertTrue(problem["message"])
        self.assertIn("a.example.com:443", done.json()["policy"]["not_part_of_the_cell"][0])
        everything = self.world.ctl("-o", "json", "policy", "check", bundle).json()["problems"]
        self.assertGreater(len(everything), 5)

    def test_limits_that_no_cell_can_have(self):
        for name, value, words in (("memory_mb", 1, "must be a whole number from 16 to 16777216, not 1"),
                                   ("pids", 3, "must be a whole number from 8 to 32768, not 3")):
            done = self.world.ctl("policy", "check", self.bundle(resources={name: value}))
            self.assertEqual((done.code, done.out), (1, ""), done)
            self.assertIn(words, done.err)
            self.assertRegex(done.err, rf"odyssey\.bundle\.json5:\d+: sandbox\.resources\.{name}: ")

    def test_explain(self):
        project = self.world.make_directory("project")
        bundle = self.bundle(read=["."], resources={"cpu": 3, "memory_mb": 256})
        done = self.world.ctl("policy", "explain", bundle, cwd=project)
        self.assertEqual(done.code, 0, done)
        for words in ("mode workspace_write", "network none", "executables standard", project,
                      "memory_bytes 268435456", "cpu_millis 3000"):
            self.assertIn(words, done.out)
        plan = self.world.ctl("-o", "json", "policy", "explain", bundle, cwd=project).json()
        self.assertEqual([line for line in plan["plan"] if line not in done.out], [])
        self.assertIn(plan["digest"], done.out)
        again = self.world.ctl("-o", "json", "policy", "explain", bundle, cwd=project).json()
        self.assertEqual(again, plan)

    def test_only_regular_files_are_read(self):
        policy = "policy_version: odyssey.policy/v1\nsandbox: {}\n"
        good = self.world.make("good.yaml", policy)
        fifo = self.world.directory + "/fifo"
        os.mkfifo(fifo)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.world.directory + "/socket")
            for path, kind in ((fifo, "a FIFO"), ("/dev/zero", "a character device"),
                               (self.world.directory + "/socket", "a socket")):
                for words, code in ((["policy", "check", path], 1), (["policy", "explain", path], 1),
                                    (["policy", "check", good, "--within", path], 1),
                                    (["policy", "diff", good, path], 2),
                                    (["exec", "--policy", path, "--", "true"], 125)):
                    done = self.world.ctl(*words)
                    self.assertEqual(done.code, code, (words, done))
                    self.assertIn(f"{path}: it is {kind}, not a regular file", done.err)
        # Files of a bundle: its manifest, and what that names.
        for name in ("odyssey.bundle.json5", "agent.yaml", "README.md", "scenario.yaml"):
            bundle = self.bundle()
            os.remove(bundle + "/" + name)
            os.mkfifo(bundle + "/" + name)
            done = self.world.ctl("bundle", "validate", bundle)
            self.assertEqual(done.code, 1, (name, done))
            self.assertIn("must be a file, not a FIFO: `" + name, done.out)
            os.remove(bundle + "/" + name)
        # What is open already is read to its end.
        self.assertEqual(self.world.ctl("policy", "check", "/dev/stdin", input=policy).code, 0)
        with open(good, encoding="utf-8") as file:
            self.assertEqual(self.world.ctl("policy", "check", "/dev/stdin", input=file).code, 0)
        done = subprocess.run(["bash", "-c", '"$@" <(cat "$0")', good,
                               *self.world.argv("policy", "check")],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout[:5]), (0, "allow"), done)

    def test_explain_says_what_waits_for_approval(self):
        bundle = self.bundle({"ask": ["Write", "Bash(cargo:*)"], "deny": ["Edit"]})
        done = self.world.ctl("policy", "explain", bundle)
        self.assertEqual(done.code, 0, done)
        write, cargo = self.lines_of(bundle + "/agent.yaml", '"Write"', "cargo")
        rest = "commands that cannot be known beforehand, since there are rules such as Bash(cargo:*)"
        waits = "waits for approval in a session: agent probe: "
        self.assertEqual(
            [line for line in done.out.splitlines() if "approval" in line],
            [f"{waits}Write ({bundle}/agent.yaml:{write}: tools.ask[0])",
             f"{waits}Bash(cargo:*) ({bundle}/agent.yaml:{cargo}: tools.ask[1])",
             f"{waits}Bash {rest}"])
        for path in (bundle, bundle + "/agent.yaml"):
            policy = self.world.ctl("-o", "json", "policy", "explain", path).json()["policy"]
            self.assertEqual(policy["waits_for_approval"], [
                {"agent": "probe", "rule": "Write", "tools": ["Write"], "why": "",
                 "file": bundle + "/agent.yaml", "line": write, "key": "tools.ask[0]"},
                {"agent": "probe", "rule": "Bash(cargo:*)", "tools": ["Bash"], "why": "",
                 "file": bundle + "/agent.yaml", "line": cargo, "key": "tools.ask[1]"},
                {"agent": "probe", "rule": "", "tools": ["Bash"], "why": rest,
                 "file": "", "line": 0, "key": ""}])
        policy = self.world.ctl("-o", "json", "policy", "explain", self.bundle()).json()["policy"]
        self.assertEqual(policy["waits_for_approval"], [])
        # One agent of several: its own alone.
        reviewers = SOURCE + "/examples/policies/reviewers"
        agents = lambda path: {approval["agent"] for approval in self.world.ctl(
            "-o", "json", "policy", "explain", path).json()["policy"]["waits_for_approval"]}
        self.assertEqual(agents(reviewers + "/agents/fixer/agent.yaml"), {"fixer"})
        self.assertEqual(agents(reviewers + "/agents/reviewer/agent.yaml"),
                         agents(reviewers) - {"fixer"})

    def test_validate_says_every_problem(self):
        bundle = self.bundle()
        self.assertEqual(self.world.ctl("bundle", "validate", bundle).out, "valid\n")
        manifest = self.world.make(bundle + "/odyssey.bundle.json5", WRONG_MANIFEST)
        done = self.world.ctl("bundle", "validate", bundle)
        self.assertEqual(done.code, 1, done)
        lines = done.out.splitlines()
        for line in lines:
            self.assertRegex(line, r"^" + re.escape(manifest) + r":\d+: [^ ]+: .")
        expected = {3: "id", 5: "manifest_version", 6: "readme", 7: "agent_spec",
                    8: "executor.type", 9: "tools[0].name", 10: "colour", 12: "sandbox.mode",
                    13: "sandbox.permissions.network", 14: "sandbox.env.1BAD",
                    15: "sandbox.resources.cpu"}
        found = {int(line.split(":")[1]): line.split(": ")[1] for line in lines}
        self.assertEqual(found, expected)
        self.assertEqual(len(lines), len(expected))
        parsed = self.world.ctl("-o", "json", "bundle", "validate", bundle)
        self.assertEqual(parsed.code, 1)
        self.assertEqual((parsed.json()["valid"], len(parsed.json()["problems"])), (False, len(lines)))

    def test_validate_says_what_no_session_could_copy(self):
        bundle = self.bundle()
        os.rename(bundle + "/agent.yaml", bundle + "/real.yaml")
        os.symlink("real.yaml", bundle + "/agent.yaml")
        os.mkdir(bundle + "/data")
        os.mkfifo(bundle + "/data/pipe")
        done = self.world.ctl("bundle", "validate", bundle)
        end = "; a bundle holds regular files and directories"
        self.assertEqual((done.code, done.out.splitlines()),
                         (1, [f"{bundle}: bundle entry {bundle}/agent.yaml is a symbolic link{end}",
                              f"{bundle}: bundle entry {bundle}/data/pipe is a special file{end}"]), done)

    def test_validate_says_that_too_many_programs_are_named(self):
        for count, code in ((256, 0), (257, 1)):
            bundle = self.bundle(tools=[f"no-such-{i}" for i in range(count)])
            done = self.world.ctl("bundle", "validate", bundle)
            self.assertEqual(done.code, code, done)
        self.assertRegex(done.out, r"odyssey\.bundle\.json5:\d+: sandbox\.system_tools: 257 entries: at most 256")

    def test_a_network_that_cannot_be_is_refused_where_the_file_says_it(self):
        bundle = self.bundle(mode="danger_full_access")
        manifest = bundle + "/odyssey.bundle.json5"
        line, = self.lines_of(manifest, '"network"')
        done = self.world.ctl("bundle", "validate", bundle)
        self.assertEqual(done.code, 1, done)
        self.assertTrue(done.out.startswith(f"{manifest}:{line}: sandbox.permissions.network: "), done)
        self.assertIn('["*"]', done.out)
        endpoints = self.world.make("o.yaml", "version: 1\nnetwork_policies:\n  x:\n    binaries: [{path: /**}]\n"
                                              "    endpoints: [{host: a.example.com, port: 443, protocol: sql, "
                                              "access: full, enforcement: audit}]\n")
        refused = self.world.ctl("policy", "explain", endpoints)
        self.assertIn(f"{endpoints}:3: network_policies: ", refused.err)
        self.assertIn("protocol sql is not there in this version", refused.err)
        for said in (done.out, refused.err):
            self.assertNotIn("NETWORK_", said)

    def test_validate_refuses_tools_that_no_session_has(self):
        bundle = self.bundle()
        manifest = f"{bundle}/odyssey.bundle.json5"
        with open(manifest, encoding="utf-8") as file:
            text = file.read()
        tools = re.compile(r'"tools": \[[^]]*\]')
        self.assertRegex(text, tools)
        self.world.make(manifest, tools.sub("tools: [{name: 'Read'}, {name: 'Question'}]", text))
        done = self.world.ctl("bundle", "validate", bundle)
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.out, re.escape(manifest) + r":\d+: tools\[1\].name: unknown tool `Question`, expected one of `Bash`")
        silent = self.world.ctl("bundle", "validate", self.bundle({"allow": ["Task"]}))
        self.assertEqual(silent.code, 1, silent)
        self.assertRegex(silent.out, r"agent\.yaml:\d+: tools\.allow\[0\]: .*unknown tool `Task`")

    def test_validate_looks_into_the_agents(self):
        for wrong, words in (({"ask": ["Bash(find:*"]}, "must end with `)`"),
                             ({"allow": [""]}, "cannot be empty"),
                             ({"deny": ["Bash()"]}, "missing a matcher target")):
            done = self.world.ctl("bundle", "validate", self.bundle(wrong))
            self.assertEqual(done.code, 1, done)
            self.assertRegex(done.out, r"agent\.yaml:\d+: [^ ]+: .")
            self.assertIn(words, done.out)

    def test_validate_looks_into_the_scenarios(self):
        steps = [{"shout": "a"}, {"say": "${nobody}"}, {"call": {"tool": "Curl"}}]
        bundle = bundles.write(self.world.directory + "/bundle", steps)
        scenario = bundle + "/scenario.yaml"
        done = self.world.ctl("bundle", "validate", bundle)
        self.assertEqual(done.code, 1, done)
        lines = done.out.splitlines()
        self.assertEqual(len(lines), 3, done)
        step, text, tool = self.lines_of(scenario, "shout", "nobody", "Curl")
        for line, number, key, words in zip(
                lines, (step - 1, text, tool),  # a step begins at its brace
                ("steps[0]", "steps[1].say", "steps[2].call.tool"),
                ("exactly one of", "not set by an earlier step", "unknown tool `Curl`")):
            self.assertTrue(line.startswith(f"{scenario}:{number}: {key}: "), (line, number))
            self.assertIn(words, line)
        # With those of the manifest, and where it cannot be read.
        self.world.make(bundle + "/odyssey.bundle.json5", self.read(bundle + "/odyssey.bundle.json5")
                        .replace('"version"', '"colour": 1, "version"'))
        os.remove(scenario)
        lines = self.world.ctl("bundle", "validate", bundle).out.splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("odyssey.bundle.json5:", lines[0])
        number, = self.lines_of(bundle + "/agent.yaml", '"name"')
        self.assertIn(f"{bundle}/agent.yaml:{number}: model.name: does not exist: `scenario.yaml`",
                      lines[1])

    def test_a_path_cannot_add_a_line(self):
        name = "a\nodyssey-ctl: all is well\tb\x1b\r"
        bundle = bundles.write(os.path.join(self.world.directory, name), [bundles.say("x")])
        self.world.make(bundle + "/odyssey.bundle.json5", WRONG_MANIFEST)
        shown = r"a\nodyssey-ctl: all is well\tb\e\r"
        for command in (["policy", "check"], ["policy", "explain"], ["bundle", "validate"]):
            for path in (bundle, bundle + "/none"):
                done = self.world.ctl(*command, path)
                self.assertEqual(done.code, 1, done)
                for line in (done.out + done.err).split("\n")[:-1]:
                    self.assertTrue(shown in line or line.startswith("  "), (line, done))

    def test_syntax_errors_have_a_line(self):
        bundle = self.bundle()
        for text, line in (("{\n id: 'a',\n id: 'b',\n}", 3), ("{\n  id: 'a'\n  x: }", 3),
                           ("", 1), ("{ 'a': 1", 1), ("\0", 1)):
            self.world.make(bundle + "/odyssey.bundle.json5", text)
            done = self.world.ctl("bundle", "validate", bundle)
            self.assertEqual(done.code, 1, (text, done))
            self.assertRegex(done.out, rf"odyssey\.bundle\.json5:{line}: ", text)


if __name__ == "__main__":
    main()
