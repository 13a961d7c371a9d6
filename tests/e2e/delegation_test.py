#!/usr/bin/env python3
"""worker_call: agents that hand work to other agents of their bundle, through the real daemons."""

import json
import os

import bundles
from world import WorldTest, main


def team(directory, lead, helper, *, lead_more=None, helper_more=None, read=()):
    """A bundle with the agents `lead`, the default one, and `helper`; its path."""
    os.makedirs(directory, exist_ok=True)
    sandbox = {"mode": "workspace_write", "system_tools_mode": "standard"}
    if read:
        sandbox["permissions"] = {"filesystem": {"mounts": {"read": list(read)}}}
    manifest = {"apiVersion": "odyssey.ai/bundle.v1", "kind": "AgentBundle",
                "metadata": {"name": "team", "version": "0.1.0", "readme": "README.md"},
                "spec": {"abiVersion": "v1", "sandbox": sandbox,
                         "agents": [{"id": "lead", "spec": "lead.yaml", "default": True},
                                    {"id": "helper", "spec": "helper.yaml"}]}}
    files = {"odyssey.bundle.yaml": manifest, "README.md": "# team\n"}
    for name, steps, more in (("lead", lead, lead_more), ("helper", helper, helper_more)):
        spec = {"kind": "prompt", "prompt": f"You are {name}.",
                "model": {"provider": "script", "name": f"{name}.scenario.yaml"},
                "tools": {"allow": ["*", "worker_call"]}, **(more or {})}
        files[f"{name}.yaml"] = {"apiVersion": "odyssey.ai/v1", "kind": "Agent",
                                 "metadata": {"name": name}, "spec": spec}
        files[f"{name}.scenario.yaml"] = {"scenario": 1, "steps": steps}
    for name, content in files.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
    return directory


ALLOW = {"delegation": {"allow": ["helper"]}}


class DelegationTest(WorldTest):

    def run_team(self, lead, helper, *more, **options):
        path = team(self.world.make_directory(self.id().rpartition(".")[2]), lead, helper, **options)
        return self.world.ctl("run", path, "--prompt", "go", *more)

    def test_a_worker_reads_what_it_was_given_and_answers(self):
        lead = [bundles.bash("echo from-the-lead > notes.md"),
                bundles.call("worker_call", worker="helper", input="read the notes",
                             attachments=[{"path": "notes.md"}]),
                bundles.say("${r.output}")]
        helper = [bundles.call("Read", path="/cell/data/attachments/notes.md"),
                  bundles.say("it says ${r.content}")]
        done = self.run_team(lead, helper, lead_more=ALLOW)
        self.assertEqual(done.code, 0, done)
        self.assertIn("worker helper works in ses_", done.out)
        self.assertIn("it says from-the-lead", done.out)

    def test_the_files_of_the_two_are_apart(self):
        lead = [bundles.bash("echo secret > mine"),
                bundles.call("worker_call", worker="helper", input="look"),
                bundles.say("${r.output}")]
        helper = [bundles.bash("ls -A; cat mine 2>&1 | tail -c 30"), bundles.say("${r.stdout}")]
        done = self.run_team(lead, helper, lead_more=ALLOW)
        self.assertEqual(done.code, 0, done)
        self.assertNotIn("secret", done.out.partition("works in")[2])

    def test_a_rule_of_the_caller_binds_its_worker(self):
        lead = [bundles.call("worker_call", worker="helper", input="try"), bundles.say("${r.output}")]
        helper = [bundles.bash("touch x"), bundles.say("${r.error}")]
        tools = {"allow": ["*", "worker_call"], "deny": ["Bash(touch:*)"]}
        done = self.run_team(lead, helper, lead_more={**ALLOW, "tools": tools})
        self.assertIn("Bash(touch:*) is denied", done.out)

    def test_what_a_worker_asks_is_asked_of_who_started_the_turn(self):
        lead = [bundles.call("worker_call", worker="helper", input="try"), bundles.say("${r.output}")]
        helper = [bundles.bash("echo ran"), bundles.say("${r.stdout}")]
        asks = {"tools": {"ask": ["Bash"]}}
        done = self.run_team(lead, helper, "--approve", "all", lead_more=ALLOW, helper_more=asks)
        self.assertEqual(done.code, 0, done)
        self.assertIn("of the worker in ses_", done.out)
        self.assertIn("ran", done.out)
        done = self.run_team(lead, [bundles.bash("echo ran"), bundles.say("${r.error}")],
                             "--approve", "deny", lead_more=ALLOW, helper_more=asks)
        self.assertIn("denied", done.out)

    def test_workers_are_listed_with_their_caller_and_deleted_with_it(self):
        lead = [bundles.call("worker_call", worker="helper", input="x"), bundles.say("ok")]
        path = team(self.world.make_directory("listed"), lead, [bundles.say("done")], lead_more=ALLOW)
        session = self.world.ctl("session", "create", path).out.strip()
        done = self.world.ctl("run", path, "--session", session, "--prompt", "go")
        self.assertEqual(done.code, 0, done)
        workers = [each for each in self.world.json("session", "list")["sessions"]
                   if each.get("parent_session_id") == session]
        self.assertEqual([worker["agent_id"] for worker in workers], ["helper"])
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)
        left = [each["id"] for each in self.world.json("session", "list")["sessions"]]
        self.assertNotIn(workers[0]["id"], left)

    def test_a_worker_that_is_not_allowed_is_refused_by_name(self):
        lead = [bundles.call("worker_call", worker="other", input="x"), bundles.say("${r.error}")]
        done = self.run_team(lead, [bundles.say("done")], lead_more=ALLOW)
        self.assertIn("not in allow_workers list. Allowed: [helper]", done.out)
        path = team(self.world.make_directory("wrong"), lead, [bundles.say("done")],
                    lead_more={"delegation": {"allow": ["nobody"]}})
        done = self.world.ctl("bundle", "validate", path)
        self.assertEqual(done.code, 1, done)
        self.assertIn("the bundle has no agent `nobody`", done.out + done.err)


if __name__ == "__main__":
    main()
