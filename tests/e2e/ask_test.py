#!/usr/bin/env python3
"""policy check, policy explain and exec --explain: the supervisor answers, or this machine's facts where none does."""

import os
import unittest

import bundles
from world import SOURCE, World, WorldTest, main

EXAMPLES = SOURCE + "/examples/policies"
ENDPOINTS = ("version: 1\nnetwork_policies:\n  x:\n    binaries: [{path: /**}]\n"
             "    endpoints: [{host: a.example.com, port: 443, protocol: sql, access: full, "
             "enforcement: audit}]\n")  # sql: what egress does not have
AGENT = "id: alone\nprompt: x\nmodel: {provider: script, name: s.yaml}\ntools:\n"


class AskTest(WorldTest):

    def ask(self, *words, code=0, **options):
        done = self.world.ctl("-o", "json", *words, **options)
        self.assertEqual(done.code, code, done)
        return done.json()

    def policy(self, name, sandbox="{}"):
        return self.world.make(name, f"policy_version: odyssey.policy/v1\nsandbox: {sandbox}\n")

    def without(self):
        """An environment in which no supervisor is found."""
        return {**os.environ, "ODYSSEY_SUPERVISOR_SOCKET": "/nonexistent/supervisor.sock"}

    def test_says_that_the_supervisor_answered(self):
        policy = self.policy("p.yaml")
        for words in (("policy", "check", policy), ("policy", "explain", policy), ("policy", "explain"),
                      ("exec", "--explain", "--", "true")):
            self.assertEqual(self.ask(*words)["answered_by"],
                             {"supervisor": self.world.socket("supervisor"), "why": ""}, words)
            self.assertEqual(self.world.ctl(*words).out.splitlines()[-1],
                             f"answered by the supervisor at {self.world.socket('supervisor')}")

    def test_the_plan_is_that_of_the_cell(self):
        shared = self.world.make_directory("shared")
        words = ("--workspace", shared, "--network", "full", "--pids", "99")
        told = self.ask("exec", "--cell", "planned", *words, "--explain")
        self.assertEqual(self.world.ctl("exec", "--cell", "planned", *words, "--", "true").code, 0)
        cell, = [cell for cell in self.world.json("cell", "list")["cells"]
                 if cell["key"]["component"] == "planned"]
        self.assertEqual(cell["policy_digest"], told["digest"])
        self.assertEqual(self.world.json("cell", "show", cell["cell_id"])["plan"], told["plan"])

    def test_the_answer_is_the_same_without_a_supervisor(self):
        shared = self.world.make_directory("same")
        os.symlink("/etc/shadow", shared + "/link")
        read = self.policy("same.yaml", f"{{permissions: {{filesystem: {{mounts: {{read: [{shared}]}}}}}}}}")
        tools = self.policy("tools.yaml", "{system_tools_mode: explicit, system_tools: [sh, no-such-tool]}")
        wrong = self.policy("wrong.yaml", "{resources: {pids: 3}}")
        endpoints = self.world.make("same-o.yaml", ENDPOINTS)
        bundle = bundles.write(self.world.directory + "/bundle", [bundles.say("x")], read=[shared], mode="read_only")
        for words in ((read,), (tools,), (wrong,), (endpoints,), (bundle,), (bundle, "--cmd", "ls"),
                      (bundle, "--path", shared), (read, "--path", shared + "/x"), (read, "--path", shared + "/link"),
                      (read, "--path", "/srv"), (read, "--host", "example.com"), (endpoints, "--host", "example.com"),
                      (EXAMPLES + "/llm-do-worker.yaml",)):
            for command in ("check", "explain"):
                if command == "explain" and len(words) > 1:
                    continue
                answers = []
                for environment in (os.environ, self.without()):
                    done = self.world.ctl("-o", "json", "policy", command, *words, env=environment, cwd=shared)
                    answer = done.json()
                    answer.pop("answered_by")
                    answer.get("ceiling", {}).pop("directory", None)
                    answers.append((done.code, answer))
                self.assertEqual(*answers, (command, words))

    def test_a_user_whom_the_supervisor_does_not_serve_is_answered_here(self):
        answer = self.ask("policy", "check", self.policy("p.yaml"), user=65534, group=65534)
        self.assertEqual((answer["verdict"], answer["answered_by"]["supervisor"]), ("allow", ""))
        self.assertIn("supervisor", answer["answered_by"]["why"])

    def test_another_ceiling_is_not_the_supervisors(self):
        directory = self.world.make_directory("other.d")
        answer = self.ask("policy", "check", self.policy("p.yaml"), "--ceiling", directory)
        self.assertEqual(answer["answered_by"]["supervisor"], "")
        self.assertIn("--ceiling", answer["answered_by"]["why"])

    def test_where_the_supervisors_own_user_may_not_look(self):
        """What is at a path, and what a link says, is what the person sees."""
        shut = self.world.make_directory("shut/in")
        os.chmod(os.path.dirname(shut), 0o700)
        os.symlink("/etc/shadow", shut + "/link")
        os.mkfifo(shut + "/fifo")
        policy = self.policy("shut.yaml", f"{{permissions: {{filesystem: {{mounts: {{read: [{shut}]}}}}}}}}")
        done = self.ask("policy", "check", policy, "--path", shut + "/link", code=3)
        self.assertIn("is /etc/shadow in the cell", done["reason"])
        fifo = self.policy("fifo.yaml", f"{{permissions: {{filesystem: {{mounts: {{read: [{shut}/fifo]}}}}}}}}")
        self.assertEqual(self.ask("policy", "check", fifo, code=1)["verdict"], "invalid")
        self.assertIn("open " + shut, self.ask("policy", "check", policy, "--user", "nobody", code=3)["reason"])

    def test_a_policy_that_no_cell_is_made_of_is_denied(self):
        """Its file is valid; exec says why in the same words."""
        endpoints = self.world.make("o.yaml", ENDPOINTS)
        answer = self.ask("policy", "check", endpoints, code=3)
        self.assertEqual((answer["verdict"], answer["rule"]), ("deny", "what no cell is given"))
        problem, = answer["problems"]
        self.assertEqual((problem["line"], problem["key"]), (3, "network_policies"))
        done = self.world.ctl("exec", "--policy", endpoints, "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn(answer["reason"], done.err)


class NoSupervisorTest(unittest.TestCase):
    """Without daemons."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def test_says_that_no_supervisor_answered(self):
        policy = self.world.make("p.yaml", "policy_version: odyssey.policy/v1\nsandbox: {}\n")
        for words in (("policy", "check", policy), ("policy", "explain", policy), ("policy", "explain"),
                      ("exec", "--explain", "--", "true")):
            done = self.world.ctl("-o", "json", *words)
            self.assertEqual(done.code, 0, done)
            self.assertEqual(done.json()["answered_by"]["supervisor"], "")
            self.assertIn("there is no such socket", done.json()["answered_by"]["why"])
            self.assertIn("answered from this machine's facts, without a supervisor: ",
                          self.world.ctl(*words).out.splitlines()[-1])

    def test_an_agent_without_its_bundle_answers_by_its_rules(self):
        rules = '  allow: ["Bash(git:*)"]\n  ask: ["Bash(make:*)"]\n  deny: ["Bash(git push:*)"]\n'
        plain = self.world.make("a/agent.yaml", AGENT + rules)
        versioned = self.world.make("b/agent.yml", "apiVersion: odyssey.ai/v1\nkind: Agent\nmetadata: {name: alone}\n"
                                                   "spec:\n  prompt: x\n  model: {provider: script, name: s.yaml}\n"
                                                   "  tools:\n" + "".join("  " + line + "\n"
                                                                          for line in rules.splitlines()))
        for file in (plain, versioned):
            for command, code, rule in (("git log", 0, "Bash(git:*)"), ("make x", 4, "Bash(make:*)"),
                                        ("git push", 3, "Bash(git push:*)"), ("ls", 0, "")):
                done = self.world.ctl("-o", "json", "policy", "check", file, "--cmd", command)
                self.assertEqual((done.code, done.json()["rule"]), (code, rule), done)
                self.assertIn("part of no bundle", done.json()["answered_by"]["why"])
            done = self.world.ctl("policy", "check", file, "--cmd", "ls", "--agent", "other")
            self.assertEqual(done.code, 1, done)
            # Without a command the question is about a cell, which only a bundle has.
            self.assertEqual(self.world.ctl("policy", "check", file).code, 1)
        done = self.world.ctl("-o", "json", "policy", "check", plain, "--cmd", "ls; git -C r push > out")
        commands = [(part["text"], part["canonical"], part["verdict"], part["rule"], part["risk"])
                    for part in done.json()["commands"]]
        self.assertEqual(commands, [("ls", "ls", "allow", "", "safe"),
                                    ("git -C r push", "git push", "deny", "Bash(git push:*)", "network_egress"),
                                    ("> out", "> out", "allow", "", "local_write")], done)
        self.assertEqual(done.json()["risk"], "network_egress")
        done = self.world.ctl("policy", "check", plain, "--cmd", "git -C r push")
        self.assertIn("  deny   git -C r push  = git push  by Bash(git push:*)  network_egress", done.out)
        example = self.world.make("d/agent.yaml", AGENT + '  deny:\n    - {rule: "Bash(rm:*)", match: [ls]}\n')
        done = self.world.ctl("policy", "check", example, "--cmd", "ls")
        self.assertEqual(done.code, 1, done)
        self.assertIn(f"{example}:6: tools.deny[0].match[0]: example `ls` of Bash(rm:*)", done.err)
        wrong = self.world.make("c/agent.yaml", AGENT + '  deny: ["Bash(x"]\n')
        done = self.world.ctl("policy", "check", wrong, "--cmd", "ls")
        self.assertEqual((done.code, done.out), (1, ""), done)
        self.assertIn(f"{wrong}:5: ", done.err)


if __name__ == "__main__":
    main()
