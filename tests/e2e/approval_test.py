#!/usr/bin/env python3
"""Approvals from other terminals: who waits, who answers, and how far an answer reaches."""


import json

import bundles
import host
from world import HANG_S, World, WorldTest, main

ASK_WRITE = {"allow": ["Bash", "Read", "LS"], "ask": ["Write"]}
WRITE_TWICE = [bundles.call("Write", "a", path="same", content="x"),
               bundles.call("Write", "b", path="same", content="x"),
               bundles.say("first ${a.success}${a.error} second ${b.success}${b.error}")]


class ApprovalTest(WorldTest):

    def bundle(self, steps, rules):
        return bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}", steps,
                             rules=rules)

    def submit(self, bundle, session=None):
        """A turn's session and id."""
        if session is None:
            session = self.world.ctl("session", "create", bundle).out.strip()
        done = self.world.ctl("turn", "submit", session, "--prompt", "x")
        self.assertEqual(done.code, 0, done)
        return session, done.out.strip()

    def pending(self, session):
        return [approval["request"] for approval in
                self.world.json("approval", "list", "--session", session)["approvals"]]

    def await_question(self, session, other_than=None):
        def asked():
            return [request for request in self.pending(session)
                    if request["request_id"] != other_than]
        return host.eventually(asked, HANG_S, f"a question of {session}")[0]

    def await_end(self, session, turn):
        def ended():
            now = self.world.json("turn", "status", session, turn)["turn"]
            return now["status"] not in ("queued", "running") and now
        return host.eventually(ended, HANG_S, f"the end of {turn}")

    def answer(self, verb, request, *more):
        return self.world.ctl("approval", verb, request["request_id"], *more)

    def test_what_is_asked_is_what_would_run(self):
        session, turn = self.submit(self.bundle(
            [bundles.call("Write", path="a", content="it's\n")], ASK_WRITE))
        request = self.await_question(session)
        self.assertEqual((request["tool_name"], request["rule"]), ("Write", "Write"))
        self.assertEqual(request["arguments"], {"path": "a", "content": "it's\n"})
        text = self.world.ctl("approval", "list").out
        for words in (request["request_id"], session, "Write asks for approval", "it's"):
            self.assertIn(words, text)
        self.assertEqual(self.answer("deny", request).code, 0)
        self.await_end(session, turn)
        self.assertEqual(self.pending(session), [])

    def test_several_edits_are_asked_for_as_an_edit_and_made_together(self):
        edits = [{"old_text": "one", "new_text": "1"}, {"old_text": "1 two", "new_text": "2"}]
        fails = edits + [{"old_text": "nowhere", "new_text": "x"}]
        session, turn = self.submit(self.bundle(
            [bundles.call("Write", path="a", content="one two\n"),
             bundles.call("Write", path="secret", content="s\n"),
             bundles.call("MultiEdit", "m", path="a", edits=edits),
             bundles.call("MultiEdit", "n", path="secret", edits=edits),
             bundles.call("MultiEdit", "o", path="/usr/x", edits=edits),
             bundles.call("MultiEdit", "p", path="a", edits=fails),
             bundles.call("Read", "r", path="a"),
             bundles.say("made ${m.replacements}, is ${r.content}|${n.error}|${o.error}|${p.error}")],
            {"allow": ["Write", "Read", "Edit(/usr/*)"], "ask": ["Edit"], "deny": ["Edit(secret)"]}))
        request = self.await_question(session)
        self.assertEqual((request["tool_name"], request["rule"]), ("MultiEdit", "Edit"))
        self.assertIn("-one two\n+2\n", request["diff"])
        self.assertIn("edits: 2 entries, see the diff", self.world.ctl("approval", "list").out)
        self.assertEqual(self.answer("allow", request).code, 0)
        second = self.await_question(session, other_than=request["request_id"])
        self.assertEqual(self.answer("allow", second).code, 0)
        response = self.await_end(session, turn)["response"]
        made, secret, system, wrong = response.split("|")
        self.assertEqual(made, "made 2, is 2\n")
        self.assertIn("permission denied: ", secret)
        self.assertIn("Edit(secret)", secret)
        self.assertIn("(mount /usr read_only)", system)
        self.assertIn("edits[0]: old_text not found", wrong)
        files = [json.loads(line) for line in self.world.ctl("-o", "json", "audit", "tail", "-n", "500").out.splitlines()]
        recorded = [(f["path"], f.get("replacements"), f.get("code")) for f in files
                    if f["type"] == "file" and f["op"] == "multi_edit"]
        self.assertEqual(recorded, [("a", 2, None), ("/usr/x", None, "PERMISSION_DENIED"),
                                    ("a", None, "FAILED_PRECONDITION")])

    def test_once_is_once(self):
        session, turn = self.submit(self.bundle(WRITE_TWICE, ASK_WRITE))
        first = self.await_question(session)
        self.assertEqual(self.answer("allow", first).code, 0)
        second = self.await_question(session, other_than=first["request_id"])
        self.assertEqual(self.answer("deny", second, "--note", "once was enough").code, 0)
        response = self.await_end(session, turn)["response"]
        self.assertIn("first true", response)
        self.assertIn("second false", response)
        self.assertIn("permission denied: tool Write was denied", response)
        self.assertIn("once was enough", response)

    def test_always_is_for_this_session_and_this_agentd(self):
        world = World()
        self.addCleanup(world.close)
        self.world, shared = world.up(), self.world
        self.addCleanup(setattr, self, "world", shared)
        bundle = self.bundle(WRITE_TWICE, ASK_WRITE)
        session, turn = self.submit(bundle)
        self.assertEqual(self.answer("allow", self.await_question(session), "--always").code, 0)
        self.assertIn("first true second true", self.await_end(session, turn)["response"])
        session, turn = self.submit(bundle, session)
        self.assertIn("first true second true", self.await_end(session, turn)["response"])

        other, turn = self.submit(bundle)
        self.answer("allow", self.await_question(other), "--always")
        self.await_end(other, turn)
        self.assertEqual(world.down().code, 0)
        world.up()
        session, turn = self.submit(bundle, session)
        self.await_question(session)
        self.assertEqual(world.ctl("session", "cancel", session).code, 0)
        self.assertEqual(self.pending(session), [])

    def test_an_answer_counts_once(self):
        session, turn = self.submit(self.bundle(WRITE_TWICE[:1], ASK_WRITE))
        request = self.await_question(session)
        self.assertEqual(self.answer("allow", request).code, 0)
        for verb in ("allow", "deny"):
            again = self.answer(verb, request)
            self.assertEnded(again, 1, request["request_id"], "answered already")
        self.assertEnded(self.answer("allow", {"request_id": "apr_none"}), 1, "apr_none")
        self.await_end(session, turn)

    def test_watching_shows_pending_and_new_ones(self):
        bundle = self.bundle(WRITE_TWICE, ASK_WRITE)
        session, turn = self.submit(bundle)
        first = self.await_question(session)
        watcher = self.world.start("-o", "json", "approval", "watch", "--session", session)
        watcher.until(first["request_id"])
        self.answer("deny", first)
        second = self.await_question(session, other_than=first["request_id"])
        watcher.until(second["request_id"])
        self.answer("deny", second)
        self.await_end(session, turn)

    def test_four_that_wait_do_not_hold_up_a_fifth(self):
        bundle = self.bundle(WRITE_TWICE[:1], ASK_WRITE)
        waiting = [self.submit(bundle) for _ in range(6)]
        for session, _ in waiting:
            self.await_question(session)
        free = bundles.write(self.world.directory + "/free", [bundles.bash("echo free")])
        done = self.world.ctl("run", free, "--prompt", "x")
        self.assertEqual(done.code, 0, done)
        for session, _ in waiting:
            self.assertEqual(self.answer("deny", self.await_question(session)).code, 0)
        for session, turn in waiting:
            self.assertEqual(self.await_end(session, turn)["status"], "completed")

    def test_cancel_and_remove_take_the_question_along(self):
        bundle = self.bundle(WRITE_TWICE[:1], ASK_WRITE)
        session, turn = self.submit(bundle)
        request = self.await_question(session)
        self.assertEqual(self.world.ctl("session", "cancel", session).code, 0)
        self.assertEqual(self.await_end(session, turn)["status"], "cancelled")
        self.assertEnded(self.answer("allow", request), 1)
        session, _ = self.submit(bundle, session)
        request = self.await_question(session)
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)
        self.assertEnded(self.answer("allow", request), 1)

    def test_a_question_ends_with_agentd(self):
        world = World()
        self.addCleanup(world.close)
        self.world, shared = world.up(), self.world
        self.addCleanup(setattr, self, "world", shared)
        session, turn = self.submit(self.bundle(WRITE_TWICE[:1], ASK_WRITE))
        self.await_question(session)
        self.assertEqual(world.down().code, 0)
        world.up()
        self.assertEqual(self.pending(session), [])
        self.assertEqual(self.await_end(session, turn)["status"], "interrupted")


class RulesTest(WorldTest):
    """Rules on commands hold however the command is dressed up."""

    def outcome(self, name, command, rules):
        path = f"{self.world.directory}/{name}"
        bundles.write(path, [bundles.bash(command), bundles.say("[${r.success}] ${r.error}")],
                      rules=rules)
        done = self.world.ctl("-o", "json", "run", path, "--prompt", "x", "--approve", "deny")
        self.assertEqual(done.code, 0, done)
        events = [event["payload"] for event in done.lines()]
        ran = [event for event in events if event["type"] == "exec_command_begin"]
        asked = [event for event in events if event["type"] == "permission_requested"]
        return events[-1]["payload"]["message"], len(ran), len(asked)

    def test_denied_commands_do_not_start(self):
        rules = {"allow": ["*"], "deny": ["Bash(touch:*)"]}
        for number, command in enumerate((
                "touch x", "cd / && touch x", "env touch x", "FOO=1 touch x", "sh -c 'touch x'",
                "/usr/bin/touch x", "(touch x)", "echo $(touch x)", "true|touch x",
                "timeout 5 touch x", "true; touch x", "true &\ntouch x", "xargs touch x </dev/null")):
            with self.subTest(command=command):
                message, ran, asked = self.outcome(f"deny{number}", command, rules)
                self.assertTrue(message.startswith("[false]"), message)
                self.assertIn("permission denied", message)
                self.assertEqual((ran, asked), (0, 0))

    def test_a_subcommand_is_found_behind_global_options(self):
        rules = {"allow": ["*"], "deny": ["Bash(git push:*)", "Bash(rm:*)"]}
        for number, command in enumerate((
                "git -C r push origin HEAD:main", "git --no-pager push", "git -c a=b push",
                "ld.so /bin/rm x", "find . -exec rm {} +", "git rebase --exec 'rm x' main")):
            with self.subTest(command=command):
                message, ran, asked = self.outcome(f"global{number}", command, rules)
                self.assertIn("permission denied", message)
                self.assertEqual((ran, asked), (0, 0))

    def test_a_file_that_a_line_writes_is_one_of_write(self):
        rules = {"allow": ["Bash(echo:*)", "Bash(git diff:*)"], "ask": ["Write"]}
        self.assertEqual(self.outcome("plain", "echo x", rules)[1:], (1, 0))
        for number, command in enumerate(("echo x > note.txt", "git diff --output=note.txt",
                                          "cd src && echo x >> note.txt")):
            self.assertEqual(self.outcome(f"write{number}", command, rules)[1:], (0, 1), command)
        denied = {"allow": ["*"], "deny": ["Write(src/*)", "Read(secrets/**)"]}
        for number, command in enumerate(("echo x > src/a", "cd src && echo x > a", "cat secrets/a")):
            self.assertEqual(self.outcome(f"path{number}", command, denied)[1:], (0, 0), command)

    def test_a_question_tells_the_class_of_risk(self):
        path = f"{self.world.directory}/risk"
        bundles.write(path, [bundles.bash("wget u"), bundles.say("done")], rules={"ask": ["Bash"]})
        done = self.world.ctl("-o", "json", "run", path, "--prompt", "x", "--approve", "deny")
        asked = [event["payload"]["payload"] for event in done.lines()
                 if event["payload"]["type"] == "permission_requested"]
        self.assertEqual([event["risk"] for event in asked], ["network_egress"], done)
        self.assertEqual(asked[0]["scope"], "Bash: exactly `wget u`")

    def test_an_allowed_part_does_not_allow_the_rest(self):
        rules = {"allow": ["Bash(echo:*)"], "ask": ["Bash"]}
        self.assertEqual(self.outcome("one", "echo a", rules)[1:], (1, 0))
        for number, command in enumerate(("echo a; rm -rf x", "echo a $(rm x)", "rm x")):
            self.assertEqual(self.outcome(f"more{number}", command, rules)[1:], (0, 1), command)

    def test_ask_star_asks_for_everything_and_deny_star_offers_nothing(self):
        self.assertEqual(self.outcome("ask", "true", {"ask": ["*"]})[1:], (0, 1))
        path = bundles.write(self.world.directory + "/nothing", [bundles.bash("true")],
                             rules={"deny": ["*"]})
        done = self.world.ctl("run", path, "--prompt", "x")
        self.assertNotIn("exit 0", done.out)

    def test_a_command_that_does_not_parse_is_not_asked_about(self):
        message, ran, asked = self.outcome("quote", "echo 'unterminated", {"ask": ["Bash"]})
        self.assertIn("missing closing quote", message)
        self.assertEqual((ran, asked), (0, 0))

    def test_what_no_rule_can_judge_is_refused_by_its_tools_name(self):
        message, ran, asked = self.outcome("opaque", 'eval "$X"', {"allow": ["Bash(echo:*)"]})
        self.assertIn("permission denied: tool Bash was denied", message)
        self.assertEqual((ran, asked), (0, 1))

    def test_file_tools_stay_in_the_workspace(self):
        steps = [bundles.call(tool, f"r{n}", path=path, **more) for n, (tool, path, more) in
                 enumerate((("Read", "/etc/shadow", {}), ("Read", "../x", {}),
                            ("Write", "/etc/x", {"content": "x"}), ("LS", "/", {})))]
        steps.append(bundles.say("${r0.success}${r1.success}${r2.success}${r3.success}"))
        path = bundles.write(self.world.directory + "/tools", steps)
        done = self.world.ctl("run", path, "--prompt", "x")
        self.assertIn("falsefalsefalsefalse", done.out)


if __name__ == "__main__":
    main()
