#!/usr/bin/env python3
"""What the daemons answer, case by case, in the order of the original's description.

Every class uses one pair of daemons and one model server. Where cases are alike they are rows of a table, with the
number of the case that they come from where it has one. What needs daemons of its own is in the other files.
"""

import glob
import json
import os
import shutil
import stat
import struct
import time
import unittest

import bundles
import host
from bundle_store_test import encode, foreign_archive
from model_test import KEY, FakeModel, says
from world import SOURCE, World, WorldTest, main

SCRIPT = {"provider": "script", "name": "scenario.yaml"}
ALL = ("Bash", "Edit", "Glob", "Grep", "LS", "MultiEdit", "Read", "Write")

WORLD = World()
ANSWERS = []
MODEL = FakeModel(ANSWERS)


def answer(*answers):
    """What the model server says to the next requests."""
    ANSWERS[len(MODEL.requests):] = answers


def setUpModule():
    unittest.addModuleCleanup(MODEL.close)
    unittest.addModuleCleanup(WORLD.close)
    WORLD.up(env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": MODEL.url})


def changed(value, changes):
    """A copy of the map with other values at dotted keys; None takes a key out."""
    value = json.loads(json.dumps(value))
    for key, new in changes.items():
        *path, last = key.split(".")
        place = value
        for name in path:
            place = place.setdefault(name, {})
        if new is None:
            del place[last]
        else:
            place[last] = new
    return value


class ContractTest(WorldTest):

    @classmethod
    def setUpClass(cls):
        cls.world = WORLD
        cls.directory = WORLD.make_directory(cls.__name__)
        cls.made = 0

    def new(self):
        """A name below the class's directory that nothing has."""
        type(self).made += 1
        return f"{self.directory}/{self.made}"

    def ok(self, *words, **options):
        done = self.world.ctl(*words, **options)
        self.assertEqual(done.code, 0, done)
        return done.out

    def bundle(self, steps, **options):
        options.setdefault("offered", ALL)
        return bundles.write(self.new(), steps, **options)

    def events(self, *words, code=0, **options):
        done = self.world.ctl("-o", "json", "run", *words, **options)
        self.assertEqual(done.code, code, done)
        return [line["payload"] for line in done.lines()]

    def results(self, steps, *words, ctl=None, **options):
        """What each call of the steps returned, in order."""
        told = self.events(self.bundle([*steps, bundles.say("done")], **options), "go", *words, **(ctl or {}))
        return [event["payload"]["result"] for event in told if event["type"] == "tool_call_finished"]


class ManifestTest(ContractTest):
    """Files of a bundle: what validate says, and that agentd makes a session of nothing else."""

    MANIFEST = {"id": "demo", "version": "0.1.0", "manifest_version": "odyssey.bundle/v1", "readme": "README.md",
                "agent_spec": "agent.yaml", "executor": {"type": "prebuilt", "id": "react"}}
    AGENT = {"id": "demo", "prompt": "x", "model": SCRIPT}

    def files(self, manifest, agent=None):
        """A bundle in a directory of its own, beside files that it must not reach."""
        around = self.new()
        directory = around + "/bundle"
        os.makedirs(directory + "/skills/bookstore")
        os.mkdir(directory + "/folder")
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        spec = agent if isinstance(agent, str) else json.dumps(agent or self.AGENT)
        for name, content in (("bundle/odyssey.bundle.json5", text), ("bundle/agent.yaml", spec),
                              ("bundle/README.md", "# demo\n"), ("outside.yaml", "{ not: [ yaml"),
                              ("bundle/skills/bookstore/SKILL.md", "# x\n\nSells.\n"),
                              ("bundle/scenario.yaml", '{"scenario": 1, "steps": [{"say": "x"}]}')):
            self.world.make(f"{around}/{content and name}", content)
        if "link.yaml" in text:
            os.symlink("../outside.yaml", directory + "/link.yaml")
        return directory

    def assertRefused(self, directory, *words):
        for verb in (("bundle", "validate", directory), ("session", "create", directory)):
            done = self.world.ctl(*verb)
            self.assertEqual(done.code, 1, done)
            for word in words:
                self.assertIn(word, done.out + done.err, verb)

    REFUSED = (
        ("id", {"id": " "}, "bundle id cannot be empty"),
        ("id", {"id": "/abs"}, "bundle id must be a relative path component"),
        ("id", {"id": ".."}, "bundle id must not contain path separators or traversal segments"),
        ("id", {"id": "nested/path"}, "bundle id must not contain path separators or traversal segments"),
        ("id", {"id": "a" * 129}, "[A-Za-z0-9][A-Za-z0-9._-]{0,127}"),
        ("id", {"id": None}, "id"),
        ("version", {"version": ""}, "bundle version cannot be empty"),
        ("version", {"version": "1/2"}, "bundle version must not contain path separators"),
        ("ODY-003", {"manifest_version": "odyssey.bundle/v2"}, "odyssey.bundle/v2", "odyssey.bundle/v1"),
        ("ODY-002", {"executor.type": "custom"}, "only prebuilt executors are supported in v1"),
        ("executor", {"executor.id": ""}, "executor id cannot be empty"),
        ("ODY-003", {"executor.id": "planner"}, "unsupported prebuilt executor: planner"),
        ("ODY-003", {"memory": {"type": "custom", "id": "x"}}, "only prebuilt memory providers are supported in v1"),
        ("memory", {"memory": {"type": "prebuilt", "id": ""}}, "memory provider id cannot be empty"),
        ("memory", {"memory": {"type": "prebuilt", "id": "vector"}}, "unsupported prebuilt memory provider: vector"),
        ("ODY-004", {"sandbox.permissions.network": ["api.example.com"]},
         'sandbox.permissions.network only supports [] or ["*"] in v1'),
        ("ODY-005", {"sandbox.permissions.network": ["*", "*"]},
         'sandbox.permissions.network only supports [] or ["*"] in v1'),
        ("mounts", {"sandbox.permissions.filesystem": {"mounts": {"read": ["./x"]}}},
         "read mount must be an absolute host path or `.`"),
        ("mounts", {"sandbox.permissions.filesystem": {"mounts": {"write": ["x"]}}},
         "write mount must be an absolute host path or `.`"),
        ("mounts", {"sandbox.permissions.filesystem": {"mounts": {"write": [""]}}}, "write mount"),
        ("exec", {"sandbox.permissions.filesystem": {"exec": ["../x"]}},
         "sandbox exec path must stay inside the project root"),
        ("exec", {"sandbox.permissions.filesystem": {"exec": [""]}}, "sandbox exec path cannot be empty"),
        ("ODY-009", {"sandbox.env": {"1BAD": "A"}},
         "sandbox.env target entry `1BAD` must start with an ASCII letter or underscore"),
        ("ODY-009", {"sandbox.env": {"A": "BAD-NAME"}},
         "sandbox.env source entry `BAD-NAME` must contain only ASCII letters, digits, or underscores"),
        ("ODY-009", {"sandbox.env": {"A": ""}}, "sandbox.env source entries cannot be empty"),
        ("ODY-009", {"sandbox.env": {"": "A"}}, "sandbox.env target entries cannot be empty"),
        ("ODY-014", {"readme": "folder"}, "readme path must be a file"),
        ("ODY-014", {"readme": "none.md"}, "readme path does not exist"),
        ("readme", {"readme": ""}, "bundle readme cannot be empty"),
        ("ODY-012", {"agent_spec": "../outside.yaml"}, "agent spec path must stay inside the project root"),
        ("ODY-013", {"agent_spec": "link.yaml"}, "agent spec path must stay inside the project root"),
        ("agent", {"agent_spec": "/etc/hostname"}, "agent spec path must be relative to the project root"),
        ("agent", {"agent_spec": "folder"}, "agent spec path must be a file"),
        ("ODY-016", {"nope": 1}, "nope"),
        ("ODY-016", {"executor.nope": 1}, "executor.nope"),
        ("ODY-016", {"memory": {"type": "prebuilt", "id": "sliding_window", "nope": 1}}, "memory.nope"),
        ("ODY-016", {"skills": [{"name": "a", "path": "skills/bookstore", "nope": 1}]}, "skills[0].nope"),
        ("ODY-016", {"tools": [{"name": "Read", "nope": 1}]}, "tools[0].nope"),
        ("ODY-016", {"sandbox.nope": 1}, "sandbox.nope"),
        ("ODY-016", {"sandbox.permissions.nope": 1}, "sandbox.permissions.nope"),
        ("tools", {"sandbox.permissions.tools": []}, "sandbox.permissions.tools"),
        ("ODY-016", {"sandbox.permissions.filesystem": {"nope": 1}}, "filesystem.nope"),
        ("ODY-016", {"sandbox.permissions.filesystem": {"mounts": {"nope": []}}}, "mounts.nope"),
        ("ODY-016", {"sandbox.resources": {"nope": 1}}, "resources.nope"),
        ("ODY-017", {"tools": [{"name": "Read", "source": "mcp"}]}, "only builtin tools are supported in v1"),
        ("ODY-021", {"tools": [{"name": "Raed"}]}, "Raed"),
        ("ODY-022", {"skills": [{"name": "../../evil", "path": "skills/bookstore"}]}, "skill name"),
        ("ODY-022", {"skills": [{"name": "/tmp/evil", "path": "skills/bookstore"}]}, "skill name"),
        ("skills", {"skills": [{"name": "a", "path": "skills/none"}]}, "skill path does not exist"),
        ("mode", {"sandbox.mode": "danger"}, "read_only", "workspace_write", "danger_full_access"),
        ("tools_mode", {"sandbox.system_tools_mode": "some"}, "explicit", "standard"),
        ("resources", {"sandbox.resources": {"memory_mb": 2 ** 64 - 1}}, "memory_mb"),
        ("resources", {"sandbox.resources": {"disk_mb": 2 ** 50}}, "disk_mb"),
        ("resources", {"sandbox.resources": {"cpu": "two"}}, "resources.cpu"),
    )

    def test_what_is_refused(self):
        for case, changes, *words in self.REFUSED:
            with self.subTest(case=case, changes=changes):
                self.assertRefused(self.files(changed(self.MANIFEST, changes)), *words)

    def test_a_file_outside_is_not_opened(self):
        done = self.world.ctl("bundle", "validate", self.files(changed(self.MANIFEST,
                                                                       {"agent_spec": "../outside.yaml"})))
        self.assertNotIn("yaml:", done.out.replace("agent.yaml:", "").replace("../outside.yaml", ""))

    AGENTS = (
        ("ODY-020", {"prompt": None}, "prompt"),
        ("ODY-020", {"prompt": "  "}, "agent prompt cannot be empty"),
        ("ODY-020", {"model": {"provider": "script", "name": " "}}, "agent model provider and name are required"),
        ("id", {"id": ""}, "agent id cannot be empty"),
        ("unknown", {"nope": 1}, "nope"),
        ("unknown", {"model.nope": 1}, "model.nope"),
        ("provider", {"model.provider": "bogus"}, "bogus"),
        ("config", {"model": {"provider": "openai", "name": "x", "config": {"nope": 1}}}, "nope"),
        ("config", {"model": {"provider": "openai", "name": "x", "config": {"api_key": "k"}}}, "api_key"),
        ("ODY-018", {"tools": {"ask": ["Bash(find:*"]}},
         "agent.tools.ask entry `Bash(find:*` must end with `)` when using a granular matcher"),
        ("ODY-019", {"tools": {"allow": [""]}}, "agent.tools.allow entries cannot be empty"),
        ("ODY-019", {"tools": {"deny": ["(x)"]}}, "agent.tools.deny entry `(x)`", "missing a tool name"),
        ("ODY-019", {"tools": {"deny": ["Bash()"]}}, "missing a matcher target"),
        ("ODY-019", {"tools": {"deny": ["Bash(a(b))"]}}, "cannot contain nested parentheses"),
        ("ODY-019", {"tools": {"deny": ["Bash)"]}}, "unmatched closing parenthesis"),
    )

    def test_what_an_agent_may_not_say(self):
        for case, changes, *words in self.AGENTS:
            with self.subTest(case=case, changes=changes):
                self.assertRefused(self.files(self.MANIFEST, changed(self.AGENT, changes)), *words)

    ACCEPTED = (
        ("ODY-007", {"sandbox.permissions.filesystem": {"mounts": {"read": ["."]}}}),
        ("ODY-007", {"sandbox.permissions.filesystem": {"mounts": {"read": ["./"]}}}),
        ("ODY-007", {"sandbox.permissions.filesystem": {"mounts": {"read": ["./."]}}}),
        ("filesystem without exec or mounts", {"sandbox.permissions.filesystem": {}}),
        ("ODY-024", {"skills": [{"name": "shop", "path": "skills/bookstore"}]}),
        ("memory", {"memory": {"type": "prebuilt", "id": "sliding_window", "config": {"window_size": 5}}}),
        ("ODY-023", {"sandbox.resources": {}}),
    )

    def test_what_is_accepted(self):
        for case, changes in self.ACCEPTED:
            with self.subTest(case=case):
                directory = self.files(changed(self.MANIFEST, changes))
                self.assertEqual(self.ok("bundle", "validate", directory), "valid\n")
                self.ok("session", "create", directory)

    def test_json5_as_people_write_it(self):
        directory = self.files("// a comment\n{ id: 'demo', version: '0.1.0', /* and */ readme: \"README.md\",\n"
                               "  manifest_version: 'odyssey.bundle/v1', agent_spec: 'agent.yaml',\n"
                               "  executor: { type: 'prebuilt', id: 'react', config: null, },\n}\n")
        self.assertEqual(self.ok("bundle", "validate", directory), "valid\n")

    def test_defaults_and_limits_field_by_field(self):
        """ODY-001, ODY-023."""
        for resources, cpu, memory in ((None, 1000, 512), ({}, 1000, 512), ({"cpu": 2}, 2000, 512),
                                       ({"memory_mb": 64}, 1000, 64)):
            directory = self.files(changed(self.MANIFEST, {} if resources is None
                                           else {"sandbox.resources": resources}))
            said = self.ok("policy", "explain", directory)
            for line in ("mode workspace_write", "network none", f"cpu_millis {cpu}",
                         f"memory_bytes {memory * 1024 * 1024}"):
                self.assertIn(line, said)

    def test_init_makes_the_starter(self):
        """ODY-026."""
        where = self.world.make_directory(self.new()) + "/My Cool Bundle"
        self.assertEqual(self.ok("bundle", "init", where).split()[:2], ["initialized", "my-cool-bundle"])
        self.assertEqual(sorted(os.listdir(where)),
                         ["README.md", "agent.yaml", "odyssey.bundle.json5", "resources", "skills"])
        self.assertEqual(self.ok("bundle", "validate", where), "valid\n")
        shown = self.world.json("bundle", "inspect", where)["manifest"]
        self.assertEqual(shown["id"], "my-cool-bundle")
        self.assertEqual((shown["sandbox"]["mode"], shown["sandbox"]["permissions"]["network"],
                          shown["sandbox"]["system_tools_mode"]), ("read_only", ["*"], "standard"))
        self.assertLessEqual({"Bash", "Edit", "Glob", "Grep", "LS", "Read", "Skill", "Write"},
                             {tool["name"] for tool in shown["tools"]})


class RulesTest(ContractTest):
    """Matchers, precedence, the permission corpus, and the tools that a model is offered."""

    # How often a session may ask within a minute, and how many tools an answer of a scenario may call.
    ASKS, CALLS = 30, 16

    @staticmethod
    def corpus():
        """(rules, [(verdict, line)]) of policy/rules/corpus.txt."""
        sets = []
        with open(SOURCE + "/policy/rules/corpus.txt", encoding="utf-8") as file:
            for text in filter(None, (line.rstrip("\n") for line in file)):
                word, rest = text.split(" ", 1)
                if word in ("#", "risk"):
                    continue
                if word == "rule":
                    if not sets or sets[-1][1]:
                        sets.append(({"allow": ["*"], "ask": [], "deny": []}, []))  # every tool is offered
                    verdict, entry = rest.split(" ", 1)
                    sets[-1][0][verdict].append(entry)
                else:
                    sets[-1][1].append((word, rest.replace("␤", "\n")))
        return sets

    def verdicts(self, rules, lines):
        """What agentd decides of each line, where the client answers no question."""
        calls = [{"tool": "Bash", "args": {"command": line.replace("${", "$${")}} for line in lines]
        steps = [{"call": calls[at:at + self.CALLS]} for at in range(0, len(calls), self.CALLS)]
        found = []
        bundle = self.bundle([*steps, bundles.say("done")], rules=rules, resources={"wall_clock_s": 5})
        for event in self.events(bundle, "go", "--approve", "deny"):
            if event["type"] == "tool_call_started":
                found.append("allow")
            elif event["type"] == "permission_requested":
                found[-1] = "ask"
            elif event["type"] == "exec_command_begin":
                self.assertEqual(found[-1], "allow", event)
            elif event["type"] == "tool_call_finished" and found[-1] == "allow":
                error = event["payload"]["result"].get("error", "")
                if " is denied" in error:
                    found[-1] = "deny"
        return found

    def parts(self, cases):
        """The cases, in lists that a session can take."""
        part, asks = [], 0
        for wanted, line in cases:
            if asks == self.ASKS:
                yield part
                part, asks = [], 0
            part.append((wanted, line))
            asks += wanted in ("ask", "held")
        yield part

    def test_the_corpus(self):
        corpus = list(self.corpus())
        self.assertGreater(len(corpus), 1)
        for rules, cases in corpus:
            for part in self.parts(cases):
                for (wanted, line), got in zip(part, self.verdicts(rules, [line for _, line in part]), strict=True):
                    with self.subTest(rules=rules, line=line):
                        self.assertIn(got, ("ask", "deny") if wanted == "held" else (wanted,))

    # rules, and what each call comes to.
    WORKED = (
        ({"ask": ["Bash(find:*)"], "deny": ["Bash(cargo build:*)"]},
         {"find ./src -name '*.rs'": "ask", "cargo build --workspace": "deny", "cargo test -p t": "allow"}),
        ({"allow": ["Bash(curl:*)"], "ask": ["Bash"]},
         {"curl -s x": "allow", "curl x; rm -rf ~": "ask", "ls": "ask"}),  # ODY-066
        ({"allow": ["Bash"], "deny": ["Bash(curl:*)"]}, {"curl -s x": "deny", "ls": "allow"}),
        ({"allow": ["Bash(a:*)"], "deny": ["Bash(a b:*)"]}, {"a b c": "deny", "a c": "allow"}),
        ({"ask": ["Bash(*)"]}, {"ls": "ask", "x y": "ask"}),  # ODY-063
        ({"deny": ["Bash(git*:*)"]}, {"git-lfs x": "deny", "git x": "deny", "gi x": "allow"}),
        ({"deny": ["Bash(cargo test:)"]}, {"cargo test": "deny", "cargo test x": "allow"}),
        ({"allow": ["Bash( a:* )"]}, {"a x": "allow"}),
    )

    def test_the_worked_examples(self):
        for rules, cases in self.WORKED:
            with self.subTest(rules=rules):
                self.assertEqual(dict(zip(cases, self.verdicts(rules, list(cases)))), cases)

    def test_a_rule_for_read_is_about_read(self):
        """ODY-067."""
        steps = [bundles.bash("mkdir secrets && echo key >secrets/a && echo key >b"),
                 bundles.call("Read", path="secrets/a"), bundles.call("Read", path="x/../secrets/a"),
                 bundles.call("Grep", pattern="key"), bundles.call("Edit", path="secrets/a", old_text="key", new_text="k"),
                 bundles.call("Write", path="secrets/n", content="x")]
        _, read, dots, grep, edit, write = self.results(steps, rules={"allow": ["*"], "deny": ["Read(secrets/*)"]})
        self.assertIn("permission denied: tool Read(secrets/*) is denied", read["error"])
        self.assertIn("is denied", dots["error"])
        self.assertEqual([match["path"] for match in grep["matches"] if "yaml" not in match["path"]], ["b"])
        self.assertTrue(edit["edited"])
        self.assertEqual(write["bytes"], 1)

    def test_a_line_that_does_not_parse(self):
        """ODY-062: by whatever rules."""
        for rules in ({"allow": ["*"]}, {"ask": ["Bash"]}, {"deny": ["Bash(curl:*)"]}):
            told = self.events(self.bundle([bundles.bash("echo 'unterminated"), bundles.say("x")], rules=rules), "go",
                               "--approve", "all")
            result, = [event["payload"]["result"] for event in told if event["type"] == "tool_call_finished"]
            self.assertEqual(result["error"], "invalid arguments: invalid shell command: missing closing quote")
            self.assertNotIn("permission_requested", [event["type"] for event in told])

    # tools of the manifest, rules, tools that the model is offered.
    OFFERED = (
        ((), {}, [*sorted(ALL)]),
        (("Read", "Bash"), {}, ["Bash", "Read"]),
        ((), {"allow": ["Read"], "ask": ["Bash(cargo test:*)"]}, ["Bash", "Read"]),  # ODY-052
        (("Bash", "Write", "Read"), {"deny": ["Write", "Bash(curl:*)"]}, ["Bash", "Read"]),  # ODY-053
        (("Bash", "Read"), {"allow": ["*"], "ask": ["Bash"]}, ["Bash", "Read"]),  # ODY-054
        (("Bash", "Read"), {"ask": ["Bash"]}, ["Bash"]),
        (("Bash", "Read"), {"deny": ["*"]}, []),  # ODY-064
        (("Bash", "Read"), {"ask": ["*"]}, ["Bash", "Read"]),
    )

    def test_which_tools_are_offered(self):
        for tools, rules, offered in self.OFFERED:
            with self.subTest(tools=tools, rules=rules):
                answer(says("ok"))
                self.ok("run", self.bundle([], rules=rules, offered=tools, model={"provider": "openai", "name": "m"}),
                        "go")
                names = [tool["function"]["name"] for tool in MODEL.requests[-1].get("tools", [])]
                # Job, which drives the background jobs of Bash, comes with it.
                self.assertEqual(names, sorted([*offered, "Job"]) if "Bash" in offered else offered)


class CellTest(ContractTest):
    """Directories, access, mounts, programs, environment and limits of a session's cell."""

    def shell(self, command, *words, ctl=None, **options):
        """The result of one command line of a turn."""
        return self.results([bundles.bash(command)], *words, ctl=ctl, **options)[0]

    def test_the_directories_of_a_cell(self):
        """ODY-085."""
        told = self.shell("pwd; echo $HOME $TMPDIR $XDG_DATA_HOME $XDG_CACHE_HOME; ls -d /cell/data /cell/data/home "
                          "/cell/cache /cell/tmp /cell/runs", bundle_id="a.b")
        self.assertEqual(told["stdout"].split(), [
            "/workspace", "/cell/data/home", "/cell/tmp", "/cell/data", "/cell/cache", "/cell/cache", "/cell/data",
            "/cell/data/home", "/cell/runs", "/cell/tmp"])
        path, = glob.glob(f"{self.world.state}/supervisor/cells/tooling-*/a_b-*/*/*")
        self.assertRegex(path, r"/tooling-[0-9a-f]{12}/a_b-[0-9a-f]{12}/ses_[0-9a-f]+-[0-9a-f]{12}/tools-[0-9a-f]{12}$")
        self.assertLessEqual({"app", "cache", "data", "runs", "tmp"}, set(os.listdir(path)))

    def test_a_link_in_place_of_a_directory(self):
        """ODY-087."""
        bundle = self.bundle([bundles.bash("true")], bundle_id="planted")
        session = self.ok("session", "create", bundle).strip()
        self.ok("run", bundle, "go", "--session", session)
        self.ok("cell", "rm", *[cell["cell_id"] for cell in self.world.json("cell", "list")["cells"]
                                if cell["key"]["session_id"] == session])
        agent, = glob.glob(f"{self.world.state}/supervisor/cells/tooling-*/planted-*")
        os.rename(agent, agent + ".away")
        os.symlink(agent + ".away", agent)
        try:
            done = self.world.ctl("run", bundle, "go", "--session", session)
            self.assertEqual(done.code, 1, done)
            self.assertIn("sandbox path must not be a symlink", done.out + done.err)
        finally:
            os.unlink(agent)
            os.rename(agent + ".away", agent)

    def test_what_each_mode_lets_write(self):
        """ODY-088."""
        line = "touch $HOME/x $TMPDIR/x /cell/cache/x /cell/data/x && echo cell; touch x && echo workspace; touch /usr/x"
        for mode, wrote in (("read_only", "cell\n"), ("workspace_write", "cell\nworkspace\n")):
            self.assertEqual(self.shell(line, mode=mode)["stdout"], wrote)

    def test_the_environment_of_a_command(self):
        """ODY-089: exactly this, whatever the client's has."""
        told = self.shell("exec env", env={"KEPT": "GIVEN_A", "GONE": "NOT_SET_ANYWHERE"},
                          ctl={"env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "Asia/Tokyo",
                                       "GIVEN_A": "a", "SECRET_X": "1"}})
        found = dict(line.split("=", 1) for line in told["stdout"].splitlines())
        for name in ("PWD", "SHLVL", "_", "OLDPWD"):  # the shell's own
            found.pop(name, None)
        own = ["LOGNAME", "ODYSSEY_RUN", "SHELL", "USER", "npm_config_fetch_retries",  # docs/policy/environment.md
               "OMP_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT", "PYTEST_XDIST_AUTO_NUM_WORKERS"]
        self.assertEqual(sorted(set(found) - set(own)), [
            "HOME", "KEPT", "LANG", "ODYSSEY_SANDBOX", "PATH", "TMPDIR", "TZ", "XDG_CACHE_HOME", "XDG_DATA_HOME"])
        self.assertEqual((found["KEPT"], found["LANG"], found["ODYSSEY_SANDBOX"], found["TZ"]),
                         ("a", "C.UTF-8", "1", "Asia/Tokyo"))

    def test_a_manifest_names_its_own_home(self):
        told = self.shell("[ $HOME = /cell/data/other ] && echo own", env={"HOME": "GIVEN_HOME"},
                          ctl={"env": {**os.environ, "GIVEN_HOME": "/cell/data/other"}})
        self.assertEqual(told["stdout"], "own\n")

    def test_mounts_are_mirrored(self):
        """ODY-075, and the rows of the mirroring."""
        given = self.world.make_directory(self.new())
        here = self.world.make_directory(self.new())
        self.world.make(given + "/notes/a", "given\n")
        self.world.make(here + "/b", "here\n")
        steps = [bundles.call("LS"), bundles.call("LS", path="mount"), bundles.call("LS", path="mount/read"),
                 bundles.call("Read", path="mount/read/current/b"),
                 bundles.call("Read", path=f"mount/read/abs{given}/notes/a"),
                 bundles.call("Write", path="mount/read/current/new.txt", content="x"),
                 bundles.call("Write", path="mount/write/current/new.txt", content="new"),
                 bundles.bash("cat mount/write/current/new.txt; touch mount/read/current/x")]
        root, mount, read, current, absolute, denied, wrote, shell = self.results(
            steps, read=[".", given], write_=["."], ctl={"cwd": here})
        self.assertIn({"name": "mount", "path": "mount", "type": "dir"}, root["entries"])
        self.assertEqual([entry["path"] for entry in mount["entries"]], ["mount/read", "mount/write"])
        self.assertEqual([entry["name"] for entry in read["entries"]], ["abs", "current"])
        self.assertEqual((current["content"], absolute["content"]), ("here\n", "given\n"))
        self.assertTrue(denied["error"].startswith("permission denied: "), denied)
        self.assertIn("mount/read/current/new.txt", denied["error"])
        self.assertEqual((wrote["bytes"], shell["stdout"], shell["status_code"]), (3, "new", 1))
        self.assertEqual(sorted(os.listdir(here)), ["b", "new.txt"])

    def test_sources_that_are_refused(self):
        for source in ("/proc", "/sys", "/dev", "/run", self.world.state, "/none/such"):
            done = self.world.ctl("run", self.bundle([bundles.say("x")], read=[source]), "go")
            self.assertEqual(done.code, 1, (source, done))
            self.assertIn("sandbox.permissions.filesystem.mounts.read[0]", done.out + done.err)
            self.assertIn(source, done.out + done.err)

    def test_programs_of_each_mode(self):
        """ODY-092, ODY-094; both names of the one shell."""
        for tools, ran in ((("sh",), False), (("sh", "ls"), True)):
            told = self.shell("/bin/sh -c 'echo bin'; /usr/bin/sh -c 'echo usr'; ls / >/dev/null && echo listed",
                              tools=tools)
            self.assertEqual(told["stdout"], "bin\nusr\n" + ("listed\n" if ran else ""), told)
        told = self.shell("cp /bin/ls ./mine; chmod +x mine; ./mine && echo ran; /lib64/ld-linux-x86-64.so.2 ./mine "
                          "&& echo loaded; true", tools=("sh", "cp", "chmod", "ls"))
        self.assertEqual(told["stdout"], "", told)
        self.assertEqual(self.shell("git --version >/dev/null && python3 -c 'print(1)'")["stdout"], "1\n")

    def test_a_program_that_is_not_there_ends_the_turn_before_the_model(self):
        """ODY-093."""
        asked = len(MODEL.requests)
        bundle = self.bundle([], tools=["no-such"], model={"provider": "openai", "name": "m"})
        done = self.world.ctl("run", bundle, "go")
        self.assertEqual(done.code, 1)
        self.assertIn("no-such", done.out + done.err)
        self.assertEqual(len(MODEL.requests), asked)

    def test_output_is_cut_and_says_so(self):
        """ODY-095."""
        told = self.shell("head -c 200000 /dev/zero | tr '\\0' a; head -c 70000 /dev/zero | tr '\\0' b >&2; exit 3")
        self.assertEqual((told["status_code"], told["stdout_truncated"], told["stderr_truncated"]), (3, True, True))
        self.assertEqual(told["stdout"], "a" * 65536 + "\n...[stdout truncated by sandbox]")
        self.assertEqual(told["stderr"], "b" * 65536 + "\n...[stderr truncated by sandbox]")

    def test_the_wall_clock_ends_everything(self):
        """ODY-096: also what has left its session and closed its streams."""
        for line in ("sleep 7171", "exec >/dev/null 2>&1; sleep 7171",
                     "setsid sh -c '(sleep 7171 & sleep 7171) &' & sleep 7171"):
            told = self.shell(line, resources={"wall_clock_s": 1})
            self.assertEqual((told["outcome"], told["status_code"]), ("timed_out", None), told)
            self.assertIn("command exceeded wall clock limit of 1 seconds", told["error"])
            self.assertEqual(self.world.cell_commands("7171"), [])

    def test_memory_and_processes_end_where_the_limit_is(self):
        """ODY-097: the cell and its neighbours live on."""
        hungry, bomb, after = self.results(
            [bundles.bash("python3 -c \"x = b'x' * (256 << 20)\""),
             bundles.bash("n=0; while [ $n -lt 200 ]; do sleep 30 & n=$((n+1)); done 2>&1 | grep -c fork; true"),
             bundles.bash("echo alive")], resources={"memory_mb": 64, "pids": 32})
        self.assertEqual((hungry["outcome"], hungry["status_code"]), ("oom_killed", None), hungry)
        self.assertNotEqual(bomb["stdout"].strip(), "0", bomb)
        self.assertEqual(after["stdout"], "alive\n")

    def test_a_signal_is_no_success(self):
        told = self.events(self.bundle([bundles.bash("kill -SEGV $$"), bundles.say("x")]), "go")
        call, = [event["payload"] for event in told if event["type"] == "tool_call_finished"]
        self.assertFalse(call["success"])
        self.assertEqual((call["result"]["status_code"], call["result"]["signal"]), (None, 11))
        end, = [event["payload"] for event in told if event["type"] == "exec_command_end"]
        self.assertEqual((end["exit_code"], end["outcome"]), (-1, "signalled"))

    def test_what_a_cell_does_not_see(self):
        """ODY-101."""
        told = self.shell(f"ls {self.world.state} /run/odyssey /home/* /root 2>/dev/null | grep -v ^$; "
                          "cut -d: -f1 /etc/passwd; ls /dev/pts; ls /proc | grep -c '^[0-9]'")
        lines = told["stdout"].split()
        self.assertNotIn("agentd.sock", lines)
        self.assertLessEqual(set(lines[:-1]), {"root", "nobody", "cell", "agent", "user", "ptmx", "daemon"}, lines)
        self.assertLess(int(lines[-1]), 12)


class ToolTest(ContractTest):
    """The tools' arguments, results and errors."""

    # name, arguments that are required, keys of a result.
    TABLE = {"Bash": (["command"], ["status_code", "stderr", "stderr_truncated", "stdout", "stdout_truncated"]),
             "Edit": (["path", "old_text", "new_text"], ["edited", "path"]),
             "Glob": (["pattern"], ["matches"]), "Grep": (["pattern"], ["matches"]), "LS": ([], ["entries", "path"]),
             "Read": (["path"], ["content", "path"]), "Skill": ([], []), "Write": (["path", "content"], ["bytes", "path"])}

    def test_the_published_schemas(self):
        tools = {tool["name"]: tool for tool in self.world.json("tool", "list")["tools"]}
        for name, (required, keys) in self.TABLE.items():
            self.assertEqual(tools[name]["input_schema"]["required"], required, name)
            self.assertLessEqual(set(keys), set(tools[name]["output_schema"]["properties"]), name)

    def test_a_story_of_two_notes(self):
        """ODY-069, ODY-070."""
        steps = [bundles.bash("mkdir docs; printf 'hello world\\nhello odyssey\\n' >docs/notes.txt"),
                 bundles.call("Read", path="docs/notes.txt"),
                 bundles.call("Write", path="docs/new.txt", content="new file"),
                 bundles.call("Edit", path="docs/new.txt", old_text="new", new_text="updated"),
                 bundles.call("Read", path="docs/new.txt"), bundles.call("LS", path="docs"),
                 bundles.call("Glob", pattern="docs/*.txt"), bundles.call("Grep", pattern="hello", path="docs"),
                 bundles.bash("stat -c '%Y %i' docs/new.txt"),
                 bundles.call("Edit", path="docs/new.txt", old_text="absent", new_text="x"),
                 bundles.bash("stat -c '%Y %i' docs/new.txt; cat docs/new.txt")]
        _, notes, wrote, edited, read, listed, glob, grep, before, absent, after = self.results(steps)
        self.assertEqual(notes, {"path": "docs/notes.txt", "content": "hello world\nhello odyssey\n"})
        self.assertEqual(wrote, {"path": "docs/new.txt", "bytes": 8})
        self.assertEqual(edited, {"path": "docs/new.txt", "edited": True})
        self.assertEqual(read["content"], "updated file")
        self.assertEqual(listed, {"path": "docs", "entries": [
            {"name": "new.txt", "path": "docs/new.txt", "type": "file"},
            {"name": "notes.txt", "path": "docs/notes.txt", "type": "file"}]})
        self.assertEqual(glob["matches"], ["docs/new.txt", "docs/notes.txt"])
        self.assertEqual(grep["matches"], [{"path": "docs/notes.txt", "line": 1, "text": "hello world"},
                                           {"path": "docs/notes.txt", "line": 2, "text": "hello odyssey"}])
        self.assertEqual(absent, {"error": "execution failed: old_text not found"})
        self.assertEqual(after["stdout"], before["stdout"] + "updated file")

    def test_entries_are_sorted_by_type_and_name(self):
        _, listed = self.results([bundles.bash("mkdir d z; touch b a; ln -s a l"), bundles.call("LS")])
        self.assertEqual([(entry["type"], entry["name"]) for entry in listed["entries"]
                          if len(entry["name"]) == 1],
                         [("dir", "d"), ("dir", "z"), ("file", "a"), ("file", "b"), ("symlink", "l")])

    # tool, arguments, and what the error begins with or holds.
    ERRORS = (
        ("Read", {"path": "../x"}, "permission denied: ", "path traversal is not allowed", "../x"),  # ODY-080
        ("Read", {"path": "/etc/passwd"}, "permission denied: ", "/etc/passwd is outside the visible workspace"),
        ("Read", {"path": "link"}, "permission denied: sandbox policy blocks Read access to /etc/passwd"),
        ("Read", {"path": ""}, "invalid arguments: ", "path cannot be empty"),
        ("Write", {"path": "", "content": "x"}, "invalid arguments: ", "path cannot be empty"),
        ("Edit", {"path": "", "old_text": "a", "new_text": "b"}, "invalid arguments: ", "path cannot be empty"),
        ("Edit", {"path": "a", "old_text": "", "new_text": "b"}, "invalid arguments: ", "old_text cannot be empty"),
        ("Read", {"path": "none"}, "execution failed: ", "none"),
        ("Read", {"path": "d"}, "execution failed: ", "d"),
        ("Read", {"path": "binary"}, "execution failed: stream did not contain valid UTF-8"),
        ("Read", {}, 'invalid arguments: missing argument "path"'),
        ("Read", {"path": 1}, 'invalid arguments: argument "path" must be of type string'),
        ("Read", {"path": "a", "nope": 1}, 'invalid arguments: unknown argument "nope"'),
        ("LS", {"path": "a"}, "execution failed: ", "is not a directory"),
        ("Write", {"path": "/etc/x", "content": "x"}, "permission denied: ", "/etc/x"),
        ("Write", {"path": "link", "content": "x"}, "permission denied: sandbox policy blocks "),
        ("Write", {"path": "a/x", "content": "x"}, "invalid arguments: write /workspace/a: Not a directory"),
        ("Bash", {"command": " \n"}, "invalid arguments: command cannot be empty"),
        ("Bash", {"command": "pwd", "cwd": "none"}, "execution failed: ", "none"),
        ("Bash", {"command": "pwd", "cwd": "a"}, "execution failed: ", "a"),
        ("Grep", {"pattern": "["}, "invalid arguments: "),  # ODY-076
        ("Grep", {"pattern": ""}, "invalid arguments: "),
        ("Glob", {"pattern": ""}, "invalid arguments: "),
        ("Glob", {"pattern": "["}, 'invalid arguments: pattern "["'),  # ODY-083
        ("Skill", {"name": "none"}, "execution failed: skills are not enabled"),
    )

    def test_errors(self):
        made = bundles.bash("touch a; mkdir d; printf '\\377' >binary; ln -s /etc/passwd link")
        told = self.results([made, *(bundles.call(tool, **arguments) for tool, arguments, *_ in self.ERRORS)],
                            offered=(*ALL, "Skill"))
        for (tool, arguments, begin, *words), got in zip(self.ERRORS, told[1:], strict=True):
            with self.subTest(tool=tool, arguments=arguments):
                self.assertTrue(got.get("error", str(got)).startswith(begin), got)
                for word in words:
                    self.assertIn(word, got["error"])

    def test_globs(self):
        """ODY-083."""
        steps = [bundles.bash("mkdir -p src/x; touch src/a.rs src/x/b.rs a1 a12 'a[1' 'a+b' aab")]
        steps += [bundles.call("Glob", pattern=pattern) for pattern in ("src/**/*.rs", "a?", "a+b", "src/*", "a.rs")]
        _, both, one, plus, level, name = self.results(steps)
        self.assertEqual([each["matches"] for each in (both, one, plus, level, name)],
                         [["src/a.rs", "src/x/b.rs"], ["a1"], ["a+b"], ["src/a.rs"], ["src/a.rs"]])

    def test_a_file_of_a_gibibyte(self):
        """ODY-082."""
        steps = [bundles.bash("truncate -s 1G big; printf '%0300000d' 0 >long"), bundles.call("Read", path="long"),
                 bundles.call("Read", path="long", offset="${r.next_offset}"),
                 bundles.call("Read", path="big", max_bytes=10)]
        _, first, second, big = self.results(steps)
        self.assertEqual((len(first["content"]), first["truncated"], first["total_bytes"], first["next_offset"]),
                         (200000, True, 300000, 200000))
        self.assertEqual((len(second["content"]), "truncated" in second), (100000, False))
        self.assertEqual((big["total_bytes"], big["next_offset"]), (1 << 30, 10))
        self.assertLess(host.peak_bytes(self.world.agentd), 200000 << 10)

    def test_a_search_with_a_million_hits(self):
        _, grep = self.results([bundles.bash("yes hit | head -1000000 >many"), bundles.call("Grep", pattern="hit")])
        self.assertEqual((len(grep["matches"]), grep["truncated"]), (200, True))

    def test_file_tools_see_the_cell(self):
        """ODEK-022: what the shell wrote, and nothing of the host."""
        path = self.world.make(self.new(), "host")
        hidden, _, read = self.results([bundles.call("Read", path=path), bundles.bash("echo new >made"),
                                        bundles.call("Read", path="made")])
        self.assertIn("No such file or directory", hidden["error"])
        self.assertEqual(read["content"], "new\n")

    def test_a_link_that_changes_while_a_tool_works(self):
        """A directory that a background command exchanges for a link leads no tool out of the workspace."""
        swap = ("mkdir real; echo in >real/passwd; cp -r real d; timeout 2 sh -c 'while :; do mv d e; ln -s /etc d; rm d; "
                "mv e d; done' >/dev/null 2>&1; true")
        steps = [bundles.bash(swap), *[bundles.call("Read", path="d/passwd")] * 3]
        for each in self.results(steps)[1:]:
            self.assertNotIn("root:", json.dumps(each))


class EventTest(ContractTest):
    """Types, fields, order."""

    def told(self, bundle, **options):
        """The events of a turn, without those about the turn as such."""
        return [event for event in self.events(bundle, "go", **options) if event["type"] not in ("turn_step", "error")]

    def test_a_call_of_bash(self):
        """ODY-078, ODY-105."""
        told = self.told(self.bundle([bundles.bash("echo out; echo err >&2"), bundles.say("end")]))
        self.assertEqual([event["type"] for event in told][:3],
                         ["turn_started", "tool_call_started", "exec_command_begin"])
        self.assertEqual([event["type"] for event in told][-4:],
                         ["exec_command_end", "tool_call_finished", "agent_message_delta", "turn_completed"])
        kinds = {event["type"]: event["payload"] for event in told}
        begin, end = kinds["exec_command_begin"], kinds["exec_command_end"]
        self.assertEqual(begin["command"][1:], ["-lc", "echo out; echo err >&2"])
        self.assertEqual((begin["cwd"], end["exit_code"], end["exec_id"]), ("/workspace", 0, begin["exec_id"]))
        output = [event["payload"] for event in told if event["type"] == "exec_command_output_delta"]
        self.assertEqual(sorted((each["stream"], each["delta"]) for each in output),
                         [("stderr", "err\n"), ("stdout", "out\n")])
        self.assertEqual({each["exec_id"] for each in output}, {begin["exec_id"]})
        started, finished = kinds["tool_call_started"], kinds["tool_call_finished"]
        self.assertEqual(started["arguments"], {"command": "echo out; echo err >&2"})
        self.assertEqual((started["tool_call_id"], started["tool_name"]), (finished["tool_call_id"], "Bash"))
        self.assertEqual(len({event["payload"]["turn_id"] for event in told}), 1)
        self.assertEqual(kinds["turn_completed"]["message"], "end")

    def test_the_envelope(self):
        done = self.world.ctl("-o", "json", "run", self.bundle([bundles.say("x")]), "go")
        for number, line in enumerate(done.lines(), 1):
            self.assertEqual(sorted(line), ["created_at", "id", "payload", "sequence", "session_id"])
            self.assertEqual((line["sequence"], sorted(line["payload"])), (number, ["payload", "type"]))
            self.assertRegex(line["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_reasoning_ends_before_what_follows(self):
        """ODY-106."""
        for last, words in ((bundles.say("x"), ["agent_message_delta", "turn_completed"]),
                            ({"fail": "no"}, ["turn_failed"])):
            told = self.told(self.bundle([{"think": "a"}, {"think": "b"}, last]), code=0 if "say" in last else 1)
            kinds = [event["type"] for event in told]
            self.assertEqual([kind for at, kind in enumerate(kinds) if kinds[at - 1:at] != [kind]],
                             ["turn_started", "reasoning_delta", "reasoning_section_break", *words])

    def test_calls_of_a_stream(self):
        """ODY-107: pieces without an id, one id from the start to the end, a failure."""
        pieces = [({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                                    "function": {"name": "Read", "arguments": '{"pa'}}]}, None),
                  ({"tool_calls": [{"index": 0, "function": {"arguments": 'th":"none"}'}}]}, None),
                  ({}, "tool_calls")]
        answer(pieces, says("ok"))
        told = self.events(self.bundle([], model={"provider": "openai", "name": "m"}), "go")
        calls = [event for event in told if event["type"].startswith("tool_call_")]
        self.assertEqual([event["type"] for event in calls], ["tool_call_started", "tool_call_finished"])
        self.assertEqual(calls[0]["payload"]["tool_call_id"], calls[1]["payload"]["tool_call_id"])
        self.assertNotEqual(calls[0]["payload"]["tool_call_id"], "c1")
        self.assertEqual(calls[0]["payload"]["arguments"], {"path": "none"})
        self.assertFalse(calls[1]["payload"]["success"])
        self.assertIn("error", calls[1]["payload"]["result"])

    def test_arguments_that_are_not_json_are_a_text(self):
        pieces = [({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                                    "function": {"name": "Read", "arguments": "{path"}}]}, None), ({}, "tool_calls")]
        answer(pieces, says("ok"))
        told = self.events(self.bundle([], model={"provider": "openai", "name": "m"}), "go")
        calls = [event["payload"] for event in told if event["type"].startswith("tool_call_")]
        self.assertEqual(calls[0]["arguments"], "{path")
        self.assertTrue(calls[1]["result"]["error"].startswith("invalid arguments: "), calls[1])

    def test_an_operators_command(self):
        """ODY-102."""
        session = self.ok("session", "create", self.bundle([bundles.say("x")], tools=("sh",))).strip()
        done = self.world.ctl("session", "exec", session, "--", "echo", "a;", "echo", "b")
        self.assertEqual((done.code, done.out), (0, "a; echo b\n"))
        self.assertEqual(self.world.ctl("session", "exec", session, "--", "ls", "/").code, 0)
        kinds = [line["payload"]["type"] for line in self.world.ctl("-o", "json", "session", "events", session).lines()]
        self.assertEqual(sorted(set(kinds)),
                         ["exec_command_begin", "exec_command_end", "exec_command_output_delta"])
        self.assertEqual(self.world.json("session", "show", session).get("turns", []), [])


class CommandLineTest(ContractTest):
    """Words and first lines of odyssey-ctl, in the order of a bundle's life."""

    def test_a_bundles_life(self):
        """ODY-126, ODY-128, ODY-028, ODY-040."""
        source = bundles.write(self.new() + "-life", [bundles.say("lived")], bundle_id="life")
        out = self.world.make_directory(self.new())
        self.assertRegex(self.ok("bundle", "build", source), r"^installed life@0\.1\.0 sha256:[0-9a-f]{64} /")
        self.assertRegex(self.ok("bundle", "build", source, "--output", out),
                         r"^built life@0\.1\.0 sha256:[0-9a-f]{64} " + out + "/local/life/0.1.0\n$")
        self.assertTrue(self.ok("bundle", "inspect", "life").startswith("bundle metadata\n{"))
        self.assertEqual(self.ok("bundle", "export", "life", "--output", out), f"exported {out}/life-0.1.0.odyssey\n")
        self.assertRegex(self.ok("bundle", "list"), r"(?m)^local/life@0\.1\.0 /\S+/installs/local/life/0\.1\.0$")
        self.assertEqual(self.ok("bundle", "rm", "life"), "removed local/life@0.1.0\n")
        self.assertEqual(self.ok("bundle", "import", out + "/life-0.1.0.odyssey"), "imported local/life@0.1.0\n")
        self.assertIn("lived", self.ok("run", "life", "--prompt", "x"))
        installs = f"{self.world.state}/agentd/bundles/installs"
        self.assertNotIn(".tmp", os.listdir(installs) + os.listdir(installs + "/local/life"))
        self.assertEqual(os.listdir(f"{self.world.state}/agentd/bundles/imports"), [])

    def test_nothing_yet(self):
        """ODY-126."""
        world = World()
        self.addCleanup(world.close)
        world.up()
        self.assertEqual(world.ctl("bundle", "list").out, "no bundles installed\n")
        self.assertEqual(world.ctl("session", "list").out, "no sessions\n")

    def test_a_sessions_life(self):
        bundle = self.bundle([bundles.say("hello")], bundle_id="agent-x")
        session = self.ok("session", "create", bundle).strip()
        self.assertRegex(self.ok("session", "list"), rf"(?m)^{session}\s+agent-x\s+local/agent-x@0.1.0\s+0\s+\d{{4}}-")
        self.ok("run", bundle, "hi", "--session", session)
        shown = self.world.json("session", "show", session)
        self.assertEqual([(item["role"], item["kind"], item["content"]) for item in shown["turns"][0]["chat_history"]],
                         [("user", "text", "hi"), ("assistant", "text", "hello")])
        self.assertEqual(shown["message_count"], 2)
        self.assertEqual(self.ok("session", "rm", session), f"removed {session}\n")

    def test_sessions_and_turns_that_there_are_not(self):
        """ODY-124: at once, and by name."""
        for session in ("ses_" + "0" * 32, "../../etc", "x"):
            for words in (("turn", "submit", session, "x"), ("session", "show", session), ("session", "rm", session),
                          ("session", "events", session), ("session", "cancel", session)):
                done = self.world.ctl(*words)
                self.assertEqual((done.code, done.out), (1, ""), done)
                self.assertIn("no such session", done.err, words)

    def test_an_approval_that_there_is_not(self):
        """ODY-110."""
        done = self.world.ctl("approval", "allow", "apr_" + "0" * 32)
        self.assertEqual(done.code, 1)
        self.assertIn("apr_", done.err)


class SessionTest(ContractTest):
    """Records, memory, skills, the model's configuration."""

    def messages(self):
        return [(message["role"], message.get("content")) for message in MODEL.requests[-1]["messages"]]

    def test_history_keeps_the_calls(self):
        bundle = self.bundle([bundles.call("Write", path="a", content="abc"), bundles.say("done")])
        session = self.ok("session", "create", bundle).strip()
        self.ok("run", bundle, "create file", "--session", session)
        history = self.world.json("session", "show", session)["turns"][0]["chat_history"]
        self.assertEqual([(item["role"], item["kind"]) for item in history],
                         [("user", "text"), ("assistant", "tool_use"), ("tool", "tool_result"), ("assistant", "text")])
        use, result = history[1]["tool_calls"][0], history[2]["tool_calls"][0]
        self.assertEqual((use["id"], use["name"]), (result["id"], "Write"))
        self.assertEqual(json.loads(result["arguments"]), {"bytes": 3, "path": "a"})

    def test_a_window_of_messages_never_begins_with_a_result(self):
        """ODY-115."""
        bundle = self.bundle([], model={"provider": "openai", "name": "m"})
        path = bundle + "/odyssey.bundle.json5"
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        manifest["memory"] = {"type": "prebuilt", "id": "sliding_window", "config": {"max_window": 3}}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        call = [({"tool_calls": [{"index": 0, "id": "c", "type": "function",
                                  "function": {"name": "LS", "arguments": "{}"}}]}, None), ({}, "tool_calls")]
        session = self.ok("session", "create", bundle).strip()
        for number, answers in enumerate(((call, says("one")), (says("two"),), (says("three"),))):
            answer(*answers)
            self.ok("run", bundle, f"prompt {number}", "--session", session)
        self.assertEqual([role for role, _ in self.messages()], ["system", "user", "assistant", "user"])
        self.assertEqual(self.messages()[1], ("user", "prompt 1"))

    def test_skills_are_in_the_system_prompt(self):
        answer(says("ok"))
        self.ok("run", self.bundle([], offered=(), model={"provider": "openai", "name": "m"},
                                   skills={"b": "---\nname: two\ndescription: Second.\n---\n", "a": "# A\n"}), "go")
        system = self.messages()[0][1]
        self.assertTrue(system.startswith("You probe.\n\n---\n\n## Skills\n\nThe following skills extend your "
                                          "capabilities. To use any skill, read its `SKILL.md` using the `Skill` "
                                          "tool.\n\n- a\n- two: Second.\n"), system)

    def test_a_record_that_cannot_be_written_makes_no_session(self):
        """ODY-112."""
        sessions = f"{self.world.state}/agentd/sessions"
        before = self.ok("session", "list")
        mode = stat.S_IMODE(os.stat(sessions).st_mode)
        os.chmod(sessions, 0o500)
        try:
            done = self.world.ctl("session", "create", self.bundle([bundles.say("x")]))
        finally:
            os.chmod(sessions, mode)
        self.assertEqual((done.code, done.out), (1, ""), done)
        self.assertEqual(self.ok("session", "list"), before)

    def test_strict_and_all_exclude_each_other(self):
        """LLM-025."""
        done = self.world.ctl("run", self.bundle([bundles.say("x")]), "go", "--approve", "all", "--approve", "strict")
        self.assertEqual(done.code, 2, done)
        self.assertIn("--approve", done.err)


class BundleTest(ContractTest):
    """Archives of other builders."""

    FILES = {"README.md": b"# x\n", "agent.yaml": b"{id: x, prompt: x, model: {provider: script, name: s.yaml}}",
             "s.yaml": b"{scenario: 1, steps: [{say: x}]}"}

    def imported(self, archive):
        path = self.new() + ".odyssey"
        with open(path, "wb") as file:
            file.write(archive)
        return self.world.ctl("bundle", "import", path)

    def archive(self, **options):
        manifest = {**ManifestTest.MANIFEST, "id": "foreign", **options.pop("manifest", {})}
        return foreign_archive({**self.FILES, **options.pop("files", {})}, manifest, **options)

    def test_namespaces(self):
        """ODY-029."""
        for namespace in ("../escape", "a/b", "", "."):
            done = self.imported(self.archive(namespace=namespace))
            self.assertEqual(done.code, 1, (namespace, done))
            self.assertIn("bundle namespace", done.err)

    def test_entries_of_a_layer(self):
        for name in ("../escape", "/abs", "a/../../b", ""):
            done = self.imported(self.archive(files={name: b"x"}))
            self.assertEqual(done.code, 1, (name, done))
        self.assertFalse(os.path.exists(f"{self.world.state}/agentd/bundles/escape"))

    def test_lengths(self):
        good = self.archive()
        magic = len(b"ODYB1\n")
        for bad, words in ((b"ODYB2\n" + good[magic:], "invalid bundle archive header"),
                           (good + b"x", "bundle archive contains trailing data"), (good[:-1], "bundle entry is truncated"),
                           (good[:magic] + struct.pack("<I", 16385) + good[magic + 4:],
                            "archive entry count exceeds maximum 16384"),
                           (good[:magic + 4] + struct.pack("<I", 4097) + good[magic + 8:],
                            "archive path length exceeds maximum 4096 bytes")):
            done = self.imported(bad)
            self.assertEqual(done.code, 1, done)
            self.assertIn(words, done.err)

    def test_programs_stay_executable(self):
        """ODY-041."""
        source = self.bundle([bundles.bash("/bundle/bin/run"), bundles.say("@@${r.stdout}@@")], mode="read_only",
                             programs=["bin/run"], bundle_id="programs")
        os.chmod(self.world.make(source + "/bin/run", "#!/bin/sh\necho ran\n"), 0o755)
        self.ok("bundle", "install", source)
        out = self.new() + ".odyssey"
        self.ok("bundle", "export", "programs", "--output", out)
        self.ok("bundle", "rm", "programs")
        self.ok("bundle", "import", out)
        self.assertIn("@@ran", self.ok("run", "programs", "go"))

    def test_an_archive_of_what_is_installed(self):
        """ODY-043."""
        self.assertEqual(self.imported(self.archive()).code, 0)
        self.assertEqual(self.imported(self.archive()).code, 0)
        done = self.imported(self.archive(files={"more": b"x"}))
        self.assertEqual(done.code, 1, done)
        self.assertIn("team/foreign@0.1.0", done.err)

    def test_reserved_and_hidden(self):
        self.assertEqual(self.imported(encode([("oci-layout", b"{}")])).code, 1)


class DialectTest(ContractTest):
    """Policies of llm-do and odek, held against commands and cells."""

    WORKER = """sandbox:
  paths:
    notes: {root: notes, suffixes: [.md]}
    out: {root: out, mode: rw}
  network: false
shell_rules:
- {pattern: git status, approval_required: false}
- {pattern: cat, sandbox_paths: [notes], approval_required: false}
- {pattern: cat, sandbox_paths: [notes, out]}
- {pattern: rm}
"""
    # command, exit code and words of the answer: LLM-011 to LLM-014.
    COMMANDS = (
        *((f"git status {text} x", 3, f"blocked metacharacter '{text}'")
          for text in ("|", ">", "<", ";", "&", "`", "$(", "${")),
        ("git status -s", 0, "allow"), ("git statusx", 3, "deny"), ("ls", 3, "deny"),
        ("cat notes/a.md", 0, "allow"), ("cat out/b", 4, "ask"), ("cat /etc/passwd", 3, "deny"),
        ("cat --output=/etc/x notes/a.md", 3, "deny"), ("cat -o/etc/x notes/a.md", 3, "deny"),
        ("rm x", 4, "ask"), ("rmdir x", 3, "deny"), ("git 'x", 3, "Cannot parse command"), (" ", 3, "deny"),
    )

    def worker(self, text):
        directory = self.world.make_directory(self.new())
        return self.world.make(directory + "/w.yaml", text)

    def test_shell_rules(self):
        worker = self.worker(self.WORKER)
        for command, code, words in self.COMMANDS:
            with self.subTest(command=command):
                done = self.world.ctl("policy", "check", worker, "--cmd", command)
                self.assertEqual(done.code, code, done)
                self.assertIn(words, done.out + done.err)
        for default, code in (("true", 4), ("false", 0)):
            free = self.worker(f"toolsets: {{shell: {{default: {{approval_required: {default}}}}}}}\n")
            self.assertEqual(self.world.ctl("policy", "check", free, "--cmd", "ls").code, code)

    def run_in(self, policy, script, env=None):
        return self.world.ctl("exec", "--policy", policy, "--", "sh", "-c", script, cwd=os.path.dirname(policy),
                              env={**os.environ, "ODEK_APPROVE_PROJECT_SANDBOX": "1", **(env or {})})

    CONNECT = "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 2)\" 2>&1 | tail -1"

    def test_a_worker_without_network(self):
        """LLM-003, LLM-010: a suffix is for file tools, the network is the kernel's."""
        worker = self.worker(self.WORKER)
        self.world.make(os.path.dirname(worker) + "/notes/a.txt", "text\n")
        done = self.run_in(worker, "cat mount/notes/a.txt; touch mount/notes/x 2>&1; echo new >mount/out/b; " + self.CONNECT)
        self.assertIn("text\n", done.out)
        self.assertIn("Read-only file system", done.out)
        self.assertIn("unreachable", done.out)

    def odek(self, config):
        directory = self.world.make_directory(self.new())
        return self.world.make(directory + "/odek.json", json.dumps(config))

    def test_a_project_of_odek(self):
        """ODEK-005, ODEK-009."""
        policy = self.odek({"sandbox": True})
        done = self.run_in(policy, "cp /bin/true /tmp/x; chmod +x /tmp/x; /tmp/x; echo $?; grep CapEff /proc/self/status; "
                           "pwd; echo new >file; " + self.CONNECT)
        self.assertEqual(done.out.splitlines()[:3], ["126", "CapEff:\t0000000000000000", "/workspace"], done)
        self.assertIn("unreachable", done.out)
        self.assertTrue(os.path.exists(os.path.dirname(policy) + "/file"))

    def test_networks_of_odek(self):
        """ODEK-006, ODEK-007."""
        for network, words in (("host", "host"), ("container:foo", "Only 'none' and 'bridge' are permitted"),
                               ("bogus", "Only 'none' and 'bridge' are permitted")):
            done = self.run_in(self.odek({"sandbox_network": network}), self.CONNECT)
            self.assertIn("unreachable", done.out, done)
            self.assertIn(words, done.err)

    def test_a_read_only_project(self):
        """ODEK-010."""
        done = self.run_in(self.odek({"sandbox_readonly": True}), "cat odek.json; touch x")
        self.assertIn("sandbox_readonly", done.out)
        self.assertIn("Read-only file system", done.err)

    def test_volumes(self):
        """ODEK-011, ODEK-016, ODEK-017."""
        policy = self.odek({"sandbox_volumes": ["/etc:/c1", "extra:/c2", "foo..bar:/c3", " :/c4", "../x:/c5", "link:/c6"]})
        directory = os.path.dirname(policy)
        for name in ("extra", "foo..bar"):
            self.world.make(f"{directory}/{name}/file", name)
        os.symlink("/etc", directory + "/link")
        done = self.run_in(policy, "cat /c2/file /c3/file; ls -d /c1 /c4 /c5 /c6 2>/dev/null; true")
        self.assertEqual(done.out, "extrafoo..bar", done)
        for volume in ("/etc:/c1", ":/c4", "../x:/c5", "link:/c6"):
            self.assertIn(volume, done.err)


if __name__ == "__main__":
    main()
