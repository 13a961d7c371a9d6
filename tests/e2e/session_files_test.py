#!/usr/bin/env python3
"""Sessions as files: those of the original Odyssey, and journals and turns that are kept within bounds."""

import copy
import json
import os
import re
import signal

import bundles
import host
from own_agentd import OwnAgentdTest
from world import HANG_S, main

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

# Written from the contract alone. A turn with a tool call, as it is written today.
FULL = {
    "id": UUID, "bundle_ref": "probe@latest", "agent_id": "probe", "model_provider": "openai",
    "model_id": "gpt-4.1-mini", "model_config": None, "created_at": "2026-03-24T09:30:00.123456Z",
    "turns": [{"turn_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "created_at": "2026-03-24T09:31:00Z",
               "chat_history": [
                   {"role": "user", "content": "create file", "kind": "text", "tool_calls": []},
                   {"role": "assistant", "content": "", "kind": "tool_use", "tool_calls": [
                       {"id": "5f0d", "call_type": "function", "name": "Write", "arguments": "{\"path\":\"a\"}"}]},
                   {"role": "tool", "content": "", "kind": "tool_result", "tool_calls": [
                       {"id": "5f0d", "call_type": "function", "name": "Write",
                        "arguments": "{\"bytes\":3,\"path\":\"a\"}"}]},
                   {"role": "assistant", "content": "done", "kind": "text", "tool_calls": []}]}]}
# An older one: prompt and response, no kinds, no provider.
LEGACY = {
    "id": "11111111-2222-4333-8444-555555555555", "bundle_ref": "local/probe@0.1.0", "agent_id": "probe",
    "model_id": "gpt-4.1-mini", "created_at": "2026-01-02T03:04:05+01:00",
    "turns": [{"turn_id": "11111111-2222-4333-8444-555555555556", "created_at": "2026-01-02T03:04:06+01:00",
               "chat_history": [], "prompt": "hello", "response": "hi"},
              {"turn_id": "11111111-2222-4333-8444-555555555557", "created_at": "2026-01-02T03:04:07+01:00",
               "chat_history": [{"role": "user", "content": "again"}, {"role": "assistant", "content": "hi again"}]}]}
# One that carries both, whose history was cut in the middle of a call.
CUT = copy.deepcopy(FULL)
CUT.update(id="AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE")
CUT["turns"][0].update(prompt="create file", response="done",
                       chat_history=FULL["turns"][0]["chat_history"][:2])


class ImportTest(OwnAgentdTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bundle = bundles.write(cls.world.directory + "/probe", [
            bundles.bash("echo ${prompt}"), bundles.say("Said ${r.stdout}")])
        assert cls.world.ctl("bundle", "install", cls.bundle).code == 0

    def file(self, content, name="file.json"):
        return self.world.make(name, content if isinstance(content, str) else json.dumps(content))

    def imported(self, content, *more):
        done = self.world.ctl("session", "import", self.file(content), *more)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def histories(self, session):
        return [[(message["role"], message.get("kind"), message.get("content", ""),
                  [(call["name"], call["arguments"]) for call in message.get("tool_calls", [])])
                 for message in turn["chat_history"]]
                for turn in self.world.json("session", "show", session)["turns"]]

    def test_three_files_of_the_original(self):
        full = [[("user", "text", "create file", []), ("assistant", "tool_use", "", [("Write", '{"path":"a"}')]),
                 ("tool", "tool_result", "", [("Write", '{"bytes":3,"path":"a"}')]),
                 ("assistant", "text", "done", [])]]
        legacy = [[("user", "text", "hello", []), ("assistant", "text", "hi", [])],
                  [("user", "text", "again", []), ("assistant", "text", "hi again", [])]]
        cut = [[("user", "text", "create file", [])]]
        for content, history in ((FULL, full), (LEGACY, legacy), (CUT, cut)):
            session = self.imported(content)
            self.assertRegex(session, "^ses_[0-9a-f]{32}$")
            self.assertEqual(self.histories(session), history)
            shown = self.world.json("session", "show", session)
            self.assertEqual(shown["bundle_ref"], "local/probe@0.1.0")
            self.assertEqual(shown["owner_uid"], os.getuid())
            self.assertEqual(shown["message_count"], sum(len(turn) for turn in history))
            self.assertEqual(shown["turns"][0]["id"], "trn_" + content["turns"][0]["turn_id"].replace("-", ""))
        # It goes on as any other, and is as good after a restart.
        done = self.world.ctl("run", "probe", "--session", session, "--prompt", "more")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.world.down().code, 0)
        self.world.up()
        self.assertEqual(len(self.histories(session)), 2)

    def test_a_session_larger_than_a_message_is_shown_whole(self):
        large = copy.deepcopy(FULL)
        said = [f"{i} " + "x" * (1 << 20) for i in range(40)]
        large["turns"][0]["chat_history"] = [FULL["turns"][0]["chat_history"][0]] + [
            {"role": "assistant", "content": text, "kind": "text", "tool_calls": []} for text in said]
        large["turns"].append({**copy.deepcopy(FULL["turns"][0]), "turn_id": "7c9e6679-7425-40de-944b-e07fc1f90ae8"})
        session = self.imported(large)
        first, second = self.histories(session)
        self.assertEqual([message[2] for message in first], ["create file", *said])
        self.assertEqual(len(second), 4)
        done = self.world.ctl("session", "show", session)
        self.assertEqual((done.code, done.out.count("prompt: create file")), (0, 2), done.err)
        turn = self.world.json("session", "show", session)["turns"][0]["id"]
        self.assertEqual(self.world.json("turn", "status", session, turn)["turn"]["status"], "completed")

    def test_a_session_goes_out_and_comes_back(self):
        session = self.world.ctl("session", "create", "probe").out.strip()
        for prompt in ("one", "two"):
            self.assertEqual(self.world.ctl("run", "probe", "--session", session, "--prompt", prompt).code, 0)
        directory = self.world.make_directory("out")
        done = self.world.ctl("session", "export", session, "--output", directory)
        self.assertEqual(done.code, 0, done)
        uuid = re.sub("^ses_(.{8})(.{4})(.{4})(.{4})", r"\1-\2-\3-\4-", session)
        path = f"{directory}/{uuid}.json"
        self.assertEqual(done.out, f"exported {path}\n")
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual(list(content), ["id", "bundle_ref", "agent_id", "model_provider", "model_id",
                                         "model_config", "created_at", "turns"])
        self.assertEqual(content["id"], uuid)
        for turn in content["turns"]:
            self.assertEqual(list(turn), ["turn_id", "created_at", "chat_history"])
            for message in turn["chat_history"]:
                self.assertEqual(list(message), ["role", "content", "kind", "tool_calls"])
                for call in message["tool_calls"]:
                    self.assertEqual(list(call), ["id", "call_type", "name", "arguments"])
        done = self.world.ctl("session", "import", path)
        self.assertEqual((done.code, done.err), (0, ""), done)
        back = done.out.strip()
        self.assertNotEqual(back, session)
        self.assertEqual(self.histories(back), self.histories(session))
        again = self.world.ctl("session", "export", back, "--output", directory + "/again.json")
        self.assertEqual(again.code, 0, again)
        with open(directory + "/again.json", encoding="utf-8") as file:
            second = json.load(file)
        self.assertEqual({**second, "id": uuid}, content)

    def test_refusals_name_what_is_wrong(self):
        before = self.world.json("session", "list")
        turn = FULL["turns"][0]
        for content, *words in (
                ({**FULL, "bundle_ref": "absent"}, "bundle not found: absent", "--bundle"),
                ({**FULL, "bundle_ref": self.bundle}, "cannot name a path"),
                ({**FULL, "agent_id": "nobody"}, "nobody"),
                ({**FULL, "id": "1"}, 'id: "1" is not a UUID'),
                ({**FULL, "sandbox": {"mode": "danger_full_access"}}, "sandbox: "),
                ({**FULL, "turns": [turn, turn]}, "comes twice"),
                ({**FULL, "turns": [{**turn, "chat_history": [{"role": "root", "content": ""}]}]},
                 'turns[0].chat_history[0].role: "root"'),
                (json.dumps(FULL)[:-20], "parse error"), ("[" * 1000, "nested deeper"), ("", "parse error")):
            done = self.world.ctl("session", "import", self.file(content))
            self.assertEnded(done, 1, *words)
        self.assertEnded(self.world.ctl("session", "import", "/absent.json"), 1, "/absent.json")
        self.assertEqual(self.world.json("session", "list"), before)

    def test_another_bundle_may_be_named(self):
        other = bundles.write(self.world.directory + "/other/probe", [bundles.say("Other.")])
        os.chmod(other, 0o700)
        done = self.world.ctl("session", "import", self.file({**FULL, "bundle_ref": "absent"}), "--bundle", other)
        self.assertEqual(done.code, 0, done)
        self.assertIn("the model is the bundle's, script/scenario.yaml, not the file's openai/gpt-4.1-mini",
                      done.err)
        done = self.world.ctl("run", "probe", "--session", done.out.strip(), "--prompt", "x")
        self.assertIn("Other.", done.out)

    def test_a_file_in_agentds_directory_is_named_by_doctor(self):
        for content in (json.dumps(FULL), '{"id": "cut o'):
            path = self.world.make(f"state/agentd/sessions/{UUID}.json", content)
            self.addCleanup(lambda path=path: os.path.exists(path) and os.unlink(path))
            os.chmod(path, 0o644)
            self.assertEqual(self.world.down().code, 0)
            self.world.up()
            self.assertTrue(os.path.exists(path), "it is left alone")
            found = [check for check in self.world.ctl("-o", "json", "doctor").json()["checks"]
                     if path in check["detail"]]
            self.assertEqual(len(found), 1)
            self.assertIn(f"odyssey-ctl session import {path}", found[0]["mend"])
            done = self.world.ctl("session", "import", path)
            self.assertEqual(done.code, 0 if content.endswith("}") else 1, done)


class CompactTest(OwnAgentdTest):

    def events_bundle(self, kilobytes=1):
        return bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}.bundle", [
            bundles.bash(f"head -c {kilobytes * 1000} /dev/zero | tr '\\0' x"), bundles.say("Said.")])

    def size(self, own, session):
        return os.stat(f"{own.state}/journals/{session}.jsonl").st_size

    def test_events_of_older_turns_go_and_the_rest_stays(self):
        own = self.agentd().start()
        bundle = self.events_bundle()
        session = own.create(bundle)
        for prompt in ("one", "two", "three"):
            self.assertEqual(own.run(bundle, session, prompt).code, 0)
        before, turns, size = own.events(session), own.turns(session), self.size(own, session)
        done = own.ctl("session", "compact", session, "--keep-turns", "2")
        self.assertEqual(done.code, 0, done)
        cut = [event["sequence"] for event in before if event["payload"]["type"] == "turn_completed"][0]
        self.assertRegex(done.out, f"^removed {cut} events, freed ")
        after = own.events(session)
        self.assertEqual(after[0]["payload"], {"type": "events_removed", "payload": {
            "first_sequence": 1, "last_sequence": cut, "reason": "compaction"}})
        self.assertEqual(after[0]["sequence"], cut)
        self.assertEqual(after[1:], before[cut:])
        self.assertEqual(own.events(session, "--after", "3"), after)
        self.assertEqual(own.events(session, "--after", str(cut)), before[cut:])
        self.assertEqual(own.turns(session), turns)
        self.assertLess(self.size(own, session), size)
        self.assertIn(f"events 1 to {cut} were removed: compaction", own.ctl("session", "events", session).out)
        own.restart()
        self.assertEqual(own.events(session), after)
        self.assertEqual(own.turns(session), turns)
        self.assertEqual(own.run(bundle, session, "four").code, 0)
        self.assertEqual(own.ctl("session", "compact", session).code, 0)
        kinds = [event["payload"]["type"] for event in own.events(session)]
        self.assertEqual(kinds.count("turn_completed"), 1, "the last one stays by default")

    def test_never_while_a_turn_runs(self):
        own = self.agentd().start()
        bundle = bundles.write(self.world.directory + "/long", [bundles.bash("sleep 86381")])
        session = own.create(bundle)
        turn = own.submit(session, "x")
        host.eventually(lambda: self.world.cell_commands("86381"), HANG_S, "it runs")
        done = own.ctl("session", "compact", session)
        self.assertEnded(done, 1, "a turn or a command is queued or runs")
        self.assertEqual(own.ctl("session", "cancel", session).code, 0)
        own.await_turn(session, turn)
        self.assertEqual(own.ctl("session", "compact", session).code, 0)

    def test_the_operators_bound_holds(self):
        own = self.agentd("--journal-max-bytes", "65536").start()
        bundle = self.events_bundle(20)
        session = own.create(bundle)
        for n in range(8):
            turn = own.submit(session, str(n))
            own.await_turn(session, turn)
        own.restart()
        self.assertLess(self.size(own, session), 65536)
        events = own.events(session)
        self.assertEqual(events[0]["payload"]["payload"]["reason"], "retention")
        sequences = [event["sequence"] for event in events]
        self.assertEqual(sequences, list(range(sequences[0], sequences[-1] + 1)))
        self.assertEqual(len(own.turns(session)), 8, "history stays")

    def test_old_events_go(self):
        own = self.agentd("--journal-keep", "1").start()
        bundle = self.events_bundle()
        session = own.create(bundle)
        own.await_turn(session, own.submit(session, "x"))
        gone = host.eventually(lambda: len(events := own.events(session)) == 1 and events, HANG_S,
                               lambda: own.events(session))
        self.assertEqual(gone[0]["payload"]["type"], "events_removed")

    def test_up_passes_the_bounds_on(self):
        for words, message in ((["--journal-max-bytes", "much"], '--journal-max-bytes "much"'),
                               (["--journal-keep", "never"], '--journal-keep "never"')):
            done = self.world.start("up", *words).ended()
            self.assertEnded(done, 2, message)
        self.assertEqual(self.world.down().code, 0)
        self.world.up("--journal-max-bytes", "64k", "--journal-keep", "30d")
        words = host.command_line(self.world.agentd)
        for option, value in (("--journal-max-bytes", "65536"), ("--journal-keep", str(30 * 86400))):
            self.assertEqual(words[words.index(option) + 1], value)

    def test_stalled_followers_cost_no_memory(self):
        own = self.agentd().start()
        bundle = bundles.write(self.world.directory + "/much", [
            bundles.bash("head -c 60000 /dev/zero | tr '\\0' x", f"r{n}") for n in range(25)])

        def growth(followers):
            """KiB by which agentd grows with four turns of 3 MB each that so many followers do not read."""
            session = own.create(bundle)
            started = [self.world.start("--socket", own.socket, "session", "events", session, "--follow")
                       for _ in range(followers)]
            own.await_turn(session, own.submit(session, "x"))
            for follower in started:
                follower.until("Bash")
                follower.process.send_signal(signal.SIGSTOP)
            before = self.resident(own)
            for _ in range(4):
                own.await_turn(session, own.submit(session, "x"))
            self.assertGreater(self.size(own, session), 12_000_000)
            grown = self.resident(own) - before
            for follower in started:
                follower.kill()
            return grown

        alone = growth(0)
        self.assertLess(growth(8) - alone, 40_000, "of 96 MB that were not read")

    def resident(self, own):
        with open(f"/proc/{own.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


class EventTest(OwnAgentdTest):

    def test_a_follower_is_told_that_the_session_was_removed(self):
        own = self.agentd().start()
        bundle = bundles.write(self.world.directory + "/said", [bundles.say("Said.")])
        session = own.create(bundle)
        follower = self.world.start("--socket", own.socket, "session", "events", session, "--follow")
        own.await_turn(session, own.submit(session, "x"))
        follower.until("Said.")
        self.assertEqual(own.ctl("session", "rm", session).code, 0)
        done = follower.ended()
        self.assertEqual(done.code, 1, done)
        self.assertIn("the session was removed", done.err)
        self.assertNotIn("connection", done.err)

    def test_an_error_comes_before_the_end_that_it_causes(self):
        own = self.agentd().start()
        bundle = bundles.write(self.world.directory + "/fails", [{"fail": "for this reason"}])
        session = own.create(bundle)
        turn = own.submit(session, "x")
        self.assertEqual(own.await_turn(session, turn)["status"], "failed")
        error, end = (event["payload"] for event in own.events(session)[-2:])
        self.assertEqual((error["type"], end["type"]), ("error", "turn_failed"))
        self.assertEqual(error["payload"], {"turn_id": turn, "message": end["payload"]["message"]})
        self.assertIn("for this reason", error["payload"]["message"])
        text = own.ctl("session", "events", session).out
        self.assertEqual(text.count("for this reason"), 1, "people read it once")


if __name__ == "__main__":
    main()
