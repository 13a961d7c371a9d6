#!/usr/bin/env python3
"""examples/bundles: each is valid, can be installed, and answers as its README says."""

import os

from world import SOURCE, WorldTest, main

BUNDLES = SOURCE + "/examples/bundles"


class ExampleBundlesTest(WorldTest):

    def ok(self, *words, **options):
        done = self.world.ctl(*words, **options)
        self.assertEqual(done.code, 0, done)
        return done.out

    def installed(self, name):
        """Validates and installs an example; the reference of the installed bundle."""
        self.assertEqual(self.ok("bundle", "validate", f"{BUNDLES}/{name}"), "valid\n")
        words = self.ok("bundle", "install", f"{BUNDLES}/{name}").split()
        self.assertEqual(words[:2], ["installed", f"{name}@0.1.0"])
        return words[1]

    def answer(self, session):
        """The message of the session's turn, and the names of its tool calls with whether each succeeded."""
        events = [line["payload"] for line in self.world.ctl("-o", "json", "session", "events", session).lines()]
        calls = [(event["payload"]["tool_name"], event["payload"]["success"])
                 for event in events if event["type"] == "tool_call_finished"]
        self.assertEqual(events[-1]["type"], "turn_completed", events[-1])
        return events[-1]["payload"]["message"], calls

    def turn(self, name, prompt, *more, **options):
        """Runs a turn in a new session; the session and its answer."""
        session = self.ok("session", "create", self.installed(name), **options).strip()
        self.ok("run", f"{name}@0.1.0", "--session", session, "--prompt", prompt, *more, **options)
        return session, *self.answer(session)

    def test_every_example_is_run_here(self):
        named = {"eight-tools", "guarded", "hello", "mcp-notes", "project-tools", "repo-report", "two-agents"}
        self.assertEqual(set(os.listdir(BUNDLES)), named)

    def test_project_tools_asks_before_it_writes(self):
        write = '{"tool": "Write", "arguments": {"path": "mount/write/current/made", "content": "x"}}'
        for approve, wrote in (("deny", False), ("all", True)):
            directory = self.world.make_directory("tools-" + approve)
            _, _, calls = self.turn("project-tools", write, "--approve", approve, cwd=directory)
            self.assertEqual(calls, [("Write", wrote)])
            self.assertEqual(os.listdir(directory), ["made"] if wrote else [])

    def test_mcp_notes_asks_before_its_server_writes(self):
        _, message, calls = self.turn("mcp-notes", "buy bread", "--approve", "all")
        self.assertEqual(message, "Your notes:\nbuy bread\n")
        self.assertEqual(calls, [("mcp__notes__add_note", True), ("mcp__notes__list_notes", True)])
        session = self.world.json("session", "list")["sessions"][0]["id"]
        asked = [line["payload"]["payload"]["tool_name"]
                 for line in self.world.ctl("-o", "json", "session", "events", session).lines()
                 if line["payload"]["type"] == "permission_requested"]
        self.assertEqual(asked, ["mcp__notes__add_note"])
        _, message, calls = self.turn("mcp-notes", "buy bread", "--approve", "deny")
        self.assertIn("I added nothing: permission denied", message)
        self.assertEqual(calls, [("mcp__notes__add_note", False)])

    def test_hello_asks_before_it_writes(self):
        _, message, calls = self.turn("hello", "good morning", "--approve", "all")
        self.assertEqual(message, "I wrote note.txt.")
        self.assertEqual(calls, [("Bash", True), ("Write", True)])
        _, message, calls = self.turn("hello", "good morning", "--approve", "deny")
        self.assertIn("I left no note: permission denied", message)
        self.assertEqual(calls, [("Bash", True), ("Write", False)])

    def test_repo_report_reads_the_directory_of_the_client(self):
        self.world.make("project/main.c", "// TODO: end\nint main;\n")
        saved = self.world.directory + "/report.md"
        self.ok("run", self.installed("repo-report"), "--prompt", "report", "--approve", "all", "--save",
                f"report.md={saved}", cwd=self.world.directory + "/project")
        with open(saved, encoding="utf-8") as file:
            self.assertIn("main.c:1:// TODO: end", file.read())

    def test_eight_tools_calls_each_of_them(self):
        self.world.make("notes/a.txt", "fixed: the leak\nother\n")
        self.world.make("notes/b.txt", "fixed: the lock\n")
        saved = self.world.directory + "/CHANGELOG.md"
        _, message, calls = self.turn("eight-tools", "write", "--save", f"CHANGELOG.md={saved}",
                                      cwd=self.world.directory + "/notes")
        self.assertIn("CHANGELOG.md has 2 fixes of 2 text files; the first file begins: fixed: the leak", message)
        self.assertEqual(sorted({tool for tool, success in calls if success}),
                         ["Bash", "Edit", "Glob", "Grep", "LS", "Read", "Skill", "Write"])
        with open(saved, encoding="utf-8") as file:
            self.assertEqual(file.read(), "# 0.2.0\n\nfixed: the leak\nfixed: the lock\n")

    def test_two_agents_work_in_two_sessions(self):
        session, message, calls = self.turn("two-agents", "three short words")
        self.assertEqual(message, "The checker says: 3 /cell/data/attachments/draft.md")
        self.assertEqual(calls, [("Write", True), ("worker_call", True)])
        workers = [each for each in self.world.json("session", "list")["sessions"]
                   if each.get("parent_session_id") == session]
        self.assertEqual([worker["agent_id"] for worker in workers], ["checker"])
        self.assertEqual(self.answer(workers[0]["id"])[1], [("Bash", True)])

    def test_guarded_is_refused_what_its_rules_deny(self):
        environment = {**os.environ, "LANG": "C.UTF-8"}
        _, message, calls = self.turn("guarded", "go", "--approve", "all", env=environment)
        removed, secret, written = message.splitlines()
        self.assertIn("tool Bash(rm:*) is denied", removed)
        self.assertIn("tool Read(secrets/**) is denied", secret)
        self.assertEqual(written, "written: true, shown: release C.UTF-8")
        self.assertEqual(calls, [("Bash", True), ("Bash", False), ("Read", False), ("Write", True), ("Bash", True)])
        _, message, _ = self.turn("guarded", "go", "--approve", "deny", env=environment)
        self.assertIn("written: false, shown: not shown", message)

    def test_the_rules_of_guarded_can_be_tried_without_a_session(self):
        agent = BUNDLES + "/guarded/agent.yaml"
        for line, code in (("/bundle/bin/release", 0), ("cat release.txt", 4), ("true && rm -rf build", 3)):
            done = self.world.ctl("policy", "check", agent, "--cmd", line)
            self.assertEqual(done.code, code, done)


if __name__ == "__main__":
    main()
