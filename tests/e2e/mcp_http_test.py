#!/usr/bin/env python3
"""The Model Context Protocol by HTTP, both eras: a client that is written here, and the SDK's."""

import json
import os
import signal
import subprocess
import sys
import time

import bundles
from http_test import MODULES, OTHER, OWNER, HttpWorldTest, node_words
from mcp_http_client import STATELESS, McpClient
from world import HANG_S, SKIPPED, main

DIRECT = {"provider": "direct", "name": "prompt"}
ACCEPT = {"action": "accept", "content": {"decision": "allow once"}}


class McpWorldTest(HttpWorldTest):
    """A world with an installed bundle whose tools a client calls."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.install("tools")
        cls.install("mounts", write_=["."])
        cls.install("asks", rules={"ask": ["Bash"], "allow": ["*"]})
        # A cell that lives as long as the class: the supervisor removes the directory of all cells of tools with the last
        # one, and a cell that is made at that moment fails.
        keeper = McpClient(cls.port, cls.token, "/mcp/tools")
        keeper.open()
        assert not keeper.tool("LS", path=".")["isError"]

    @classmethod
    def install(cls, name, **options):
        directory = bundles.write(f"{cls.world.directory}/{name}.bundle", [], model=DIRECT, bundle_id=name, **options)
        assert cls.world.ctl("bundle", "install", directory).code == 0

    def client(self, bundle="tools", token=None, **options):
        return McpClient(self.port, token or self.token, f"/mcp/{bundle}", **options)

    def opened(self, *arguments, **options):
        client = self.client(*arguments, **options)
        client.open()
        self.addCleanup(client.send, "DELETE")
        return client

    def sessions(self):
        return {each["id"] for each in self.world.json("session", "list")["sessions"]}

    def wait(self, condition):
        end = time.monotonic() + HANG_S
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


class StatefulTest(McpWorldTest):
    """2025-11-25: sessions."""

    def test_a_session_is_one_of_agentd_and_ends_by_delete(self):
        before = self.sessions()
        client = self.client()
        done = client.open()
        self.assertEqual((done["protocolVersion"], done["serverInfo"]["name"]), ("2025-11-25", "odyssey"))
        session, = self.sessions() - before
        tools = {tool["name"]: tool for tool in client.call("tools/list")["tools"]}
        self.assertIn("command", tools["Bash"]["inputSchema"]["properties"])
        self.assertFalse(client.tool("Write", path="made", content="by mcp")["isError"])
        ran = client.tool("Bash", command="cat made; exit 3")["structuredContent"]
        self.assertEqual((ran["stdout"], ran["status_code"]), ("by mcp", 3))
        self.assertEqual(client.call("ping"), {})
        self.assertEqual(client.send("DELETE").status, 204)
        self.assertEqual(client.send("DELETE").status, 404)
        self.assertEqual(client.request("tools/list").status, 404)
        self.wait(lambda: session not in self.sessions())

    def test_output_is_a_stream_and_a_short_answer_is_not(self):
        client = self.opened()
        plain = client.request("tools/call", {"name": "LS", "arguments": {"path": "."}})
        self.assertEqual(plain.fields["Content-Type"], "application/json")
        self.assertIn("entries", plain.last()["result"]["structuredContent"])
        streamed = client.request("tools/call", {"name": "Bash", "arguments": {"command": "echo begun"},
                                                 "_meta": {"progressToken": "p"}})
        self.assertEqual(streamed.fields["Content-Type"], "text/event-stream")
        self.assertEqual(client.finish(streamed)["result"]["structuredContent"]["stdout"], "begun\n")
        self.assertEqual(client.progress, [{"progressToken": "p", "progress": 1, "message": "begun\n"}])

    def test_approvals_are_elicited(self):
        client = self.opened("asks", capabilities={"elicitation": {}})
        for answer, ran in ((ACCEPT, True), ({"action": "decline"}, False), ({"action": "accept", "content": {}}, False)):
            client.on_request = lambda method, params, answer=answer: answer
            self.assertEqual(client.tool("Bash", command="echo asked")["isError"], not ran, answer)
        self.assertIn("echo asked", client.asked[0]["message"])
        without = self.opened("asks")
        denied = without.tool("Bash", command="echo x")
        self.assertIn("elicitation", denied["content"][0]["text"])

    def test_a_client_comes_back_to_its_stream(self):
        project = self.world.make_directory("project")
        client = self.opened(f"mounts?cwd={project}")
        first = client.request("tools/call", {
            "name": "Bash", "_meta": {"progressToken": 1},
            "arguments": {"command": "echo one; until test -e mount/write/current/go; do sleep 0.05; done; echo two"}})
        begun = next(first.messages())
        self.assertEqual(begun.get("params", begun).get("message"), "one\n", begun)
        first.close()
        with open(f"{project}/go", "x", encoding="ascii"):
            pass
        again = client.send("GET", fields={"Last-Event-ID": first.ids[-1]})
        self.assertEqual(again.status, 200)
        last = client.finish(again)
        self.assertEqual(last["result"]["structuredContent"]["stdout"], "one\ntwo\n")
        self.assertEqual(client.progress[-1]["message"], "two\n")
        for other in ("9-9", "x", "0-0", first.ids[-1] + "1x"):
            self.assertEqual(client.send("GET", fields={"Last-Event-ID": other}).status, 404, other)

    def test_a_call_is_cancelled(self):
        client = self.opened()
        answer = client.request("tools/call", {"name": "Bash", "arguments": {"command": "echo begun; sleep 1234569"},
                                               "_meta": {"progressToken": 7}})
        number, messages = client.last_id, answer.messages()
        self.assertEqual(next(messages)["params"]["message"], "begun\n")
        client.send("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        self.wait(lambda: not self.world.cell_commands("1234569"))
        # No answer comes, and the connection is free again.
        self.assertEqual(list(messages), [])

    def test_what_is_open_ends_with_the_session(self):
        client = self.client()
        client.open()
        stream = client.send("GET")
        call = client.request("tools/call", {"name": "Bash", "arguments": {"command": "echo begun; sleep 1234572"},
                                             "_meta": {"progressToken": 7}})
        messages = call.messages()
        next(messages)
        self.assertEqual(client.send("DELETE").status, 204)
        self.assertEqual((list(messages), list(stream.messages())), ([], []))
        self.wait(lambda: not self.world.cell_commands("1234572"))

    def test_one_stream_of_a_session_and_older_versions(self):
        client = self.opened()
        stream = client.send("GET")
        self.assertEqual((stream.status, stream.fields["Content-Type"]), (200, "text/event-stream"))
        self.assertEqual(client.send("GET").status, 409)
        stream.close()
        for version in ("2025-06-18", "2025-03-26", "2024-11-05"):
            self.assertEqual(self.opened(era=version).call("ping"), {})
        self.assertEqual(self.opened(era="1999-01-01").era, "2025-11-25")



class StatelessTest(McpWorldTest):
    """2026-07-28: every request for itself."""

    def client(self, *arguments, **options):
        return super().client(*arguments, era=STATELESS, **options)

    def asked(self, client, command, **arguments):
        """The parameters of a call that a person is asked about, with the state to come back with."""
        params = {"name": "Bash", "arguments": {"command": command, **arguments}}
        result = client.call("tools/call", **params)
        self.assertEqual(result["resultType"], "input_required", result)
        self.assertIn(command, result["inputRequests"]["approval"]["params"]["message"])
        return {**params, "requestState": result["requestState"]}

    def test_calls_of_one_token_and_bundle_share_a_session(self):
        client = self.client()
        found = client.call("server/discover")
        self.assertEqual((found["supportedVersions"], found["resultType"]), ([STATELESS], "complete"))
        listed = client.call("tools/list")
        self.assertEqual((listed["cacheScope"], listed["ttlMs"]), ("private", 0))
        self.assertIn("session", {tool["name"]: tool for tool in listed["tools"]}["Bash"]["inputSchema"]["properties"])
        before = self.sessions()
        self.assertFalse(client.tool("Write", path="made", content="kept")["isError"])
        # Another connection, and another client of the same token.
        self.assertEqual(self.client().tool("Bash", command="cat made")["structuredContent"]["stdout"], "kept")
        self.assertEqual(self.sessions(), before)
        other = self.client(token=self.as_user(OTHER, "token", "create", "--name", "other")["secret"])
        self.assertTrue(other.tool("Read", path="made")["isError"])

    def test_a_handle_is_a_session_of_its_own(self):
        client = self.client()
        client.tool("Write", path="place", content="own")
        handle = client.tool("session_open")["structuredContent"]["session"]
        client.tool("Write", path="place", content="other", session=handle)
        self.assertEqual([client.tool("Bash", command="cat place", **more)["structuredContent"]["stdout"]
                          for more in ({}, {"session": handle})], ["own", "other"])
        listed = {each["session"]: each["own"] for each in client.tool("session_list")["structuredContent"]["sessions"]}
        self.assertIs(listed[handle], False)
        # It is its owner's, whatever the token.
        foreign = self.client(token=self.as_user(OTHER, "token", "create", "--name", "foreign")["secret"])
        status, error = foreign.refused("tools/call", {"name": "LS", "arguments": {"path": ".", "session": handle}})
        self.assertEqual(error["code"], -32602)
        self.assertIn(handle, error["message"])
        self.assertFalse(client.tool("session_close", session=handle)["isError"])
        self.assertNotIn(handle, self.sessions())
        self.assertEqual(client.refused("tools/call", {"name": "LS", "arguments": {"session": handle}})[1]["code"], -32602)
        # A session whose model would get the call as a prompt is none.
        scripted = "ses_" + self.session(self.bundle([bundles.say("Hi.")])).replace("-", "")
        status, error = client.refused("tools/call", {"name": "LS", "arguments": {"session": scripted}})
        self.assertIn("expected direct", error["message"])

    def test_an_approval_is_an_input_required_result(self):
        client = self.client("asks", capabilities={"elicitation": {}})
        for answer, ran in ((ACCEPT, True), ({"action": "decline"}, False), ({"action": "accept"}, False)):
            params = self.asked(client, "echo asked")
            done = client.call("tools/call", **params, inputResponses={"approval": answer})
            self.assertEqual((done["resultType"], done["isError"]), ("complete", not ran))
        denied = self.client("asks").tool("Bash", command="echo x")
        self.assertIn("elicitation", denied["content"][0]["text"])

    def test_a_state_that_is_not_this_call_is_refused(self):
        client = self.client("asks", capabilities={"elicitation": {}})
        answers = {"inputResponses": {"approval": ACCEPT}}
        params = self.asked(client, "echo mine")
        state = params["requestState"]
        other_token = self.as_user(OTHER, "token", "create", "--name", "third")["secret"]
        of_root = self.world.json("token", "create", "--name", "second")["secret"]
        for refused, sender in (
                ({**params, "requestState": state[:-1] + ("0" if state[-1] != "0" else "1")}, client),
                ({**params, "requestState": "x"}, client), ({**params, "requestState": 7}, client),
                ({**params, "arguments": {"command": "echo another"}}, client),
                ({**params, "arguments": {"command": "echo mine", "cwd": "/tmp"}}, client),
                ({**params, "name": "Write"}, client),
                (params, self.client("tools", capabilities={"elicitation": {}})),
                (params, self.client("asks", token=other_token, capabilities={"elicitation": {}})),
                (params, self.client("asks", token=of_root, capabilities={"elicitation": {}}))):
            error = sender.refused("tools/call", {**refused, **answers})[1]
            self.assertEqual(error["code"], -32602, (refused, error))
            self.assertIn("requestState", error["message"])
        # Nothing of that has spent it. Without an answer it is asked about again.
        again = client.call("tools/call", **params, inputResponses={})
        self.assertEqual(again["resultType"], "input_required")
        done = client.call("tools/call", **{**params, "requestState": again["requestState"]}, **answers)
        self.assertEqual(done["structuredContent"]["stdout"], "mine\n")
        replayed = client.refused("tools/call", {**params, "requestState": again["requestState"], **answers})[1]
        self.assertIn("used before", replayed["message"])

    def test_the_first_of_two_answers_counts(self):
        client = self.client("asks", capabilities={"elicitation": {}})
        params = self.asked(client, "echo twice")
        pending, = [each["request"] for each in self.get("/approvals")["approvals"]
                    if "echo twice" in each["request"]["arguments_json"]]
        self.post(f"/approvals/{pending['request_id']}", {"decision": "allow_once", "digest": pending["digest"]})
        done = client.call("tools/call", **params, inputResponses={"approval": {"action": "decline"}})
        self.assertEqual(done["structuredContent"]["stdout"], "twice\n")

    def test_a_client_that_goes_cancels_its_call(self):
        client = self.client()
        answer = client.request("tools/call", {"name": "Bash", "arguments": {"command": "echo begun; sleep 1234570"},
                                               "_meta": {"progressToken": 7}})
        next(answer.messages())
        self.assertTrue(self.world.cell_commands("1234570"))
        answer.close()
        self.wait(lambda: not self.world.cell_commands("1234570"))

    def test_a_subscription_is_acknowledged(self):
        answer = self.client().request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        first = next(answer.messages())
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(first["params"]["notifications"], {})
        answer.close()


class StopTest(McpWorldTest):
    def test_sessions_end_with_the_server(self):
        clients = [self.client(), self.client(era=STATELESS)]
        before = self.sessions()
        clients[0].open()
        self.assertFalse(clients[1].tool("LS", path=".")["isError"])
        made = self.sessions() - before
        self.assertEqual(len(made), 2)
        os.kill(self.world.daemon("odyssey-http"), signal.SIGTERM)
        self.wait(lambda: not made & self.sessions())


class ReviewTest(McpWorldTest):
    """Changes that wait for a commit: a person is asked, in both eras."""

    def setUp(self):
        super().setUp()
        self.project = self.world.make_directory(self.name)
        directory = bundles.write(f"{self.world.directory}/{self.name}.bundle", [], model=DIRECT, write_=["."],
                                  bundle_id=self.name.replace("_", "-"))
        self.assertEqual(self.world.ctl("bundle", "install", directory).code, 0)
        self.path = f"{self.name.replace('_', '-')}?review=true&cwd={self.project}"

    def test_a_person_commits_and_undoes(self):
        client = self.opened(self.path, capabilities={"elicitation": {}})
        client.tool("Write", path="mount/write/current/made", content="reviewed\n")
        self.assertIn("+reviewed", client.tool("diff")["structuredContent"]["diff"])
        client.on_request = lambda method, params: {"action": "decline"}
        self.assertTrue(client.tool("commit")["isError"])
        self.assertFalse(os.path.exists(f"{self.project}/made"))
        client.on_request = lambda method, params: ACCEPT
        self.assertEqual(client.tool("commit")["structuredContent"]["committed"], 1)
        self.assertIn("+reviewed", client.asked[-1]["message"])
        self.assertTrue(os.path.exists(f"{self.project}/made"))
        self.assertEqual(client.tool("commit")["structuredContent"]["committed"], 0)
        self.assertEqual(client.tool("undo")["structuredContent"]["restored"], 1)
        self.assertFalse(os.path.exists(f"{self.project}/made"))
        self.assertTrue(client.tool("undo")["isError"])
        without = self.opened(self.path)
        without.tool("Write", path="mount/write/current/made", content="x")
        self.assertIn("elicitation", without.tool("commit")["content"][0]["text"])
        self.assertIn("paths", without.refused("tools/call", {"name": "diff", "arguments": {"paths": 1}})[1]["message"])

    def test_without_sessions_a_commit_is_of_what_was_shown(self):
        client = self.client(self.path, era=STATELESS, capabilities={"elicitation": {}})
        client.tool("Write", path="mount/write/current/made", content="shown\n")
        params = {"name": "commit", "arguments": {}}
        asked = client.call("tools/call", **params)
        client.tool("Write", path="mount/write/current/made", content="changed since\n")
        answer = {"requestState": asked["requestState"], "inputResponses": {"approval": ACCEPT}}
        self.assertIn("error", client.finish(client.request("tools/call", {**params, **answer})))
        self.assertFalse(os.path.exists(f"{self.project}/made"))
        asked = client.call("tools/call", **params)
        answer["requestState"] = asked["requestState"]
        self.assertEqual(client.call("tools/call", **params, **answer)["structuredContent"]["committed"], 1)
        self.assertIn("used before", client.refused("tools/call", {**params, **answer})[1]["message"])
        with open(f"{self.project}/made", encoding="ascii") as file:
            self.assertEqual(file.read(), "changed since\n")

    def test_what_was_refused_is_listed(self):
        client = self.opened(self.path)
        client.tool("Bash", command="echo x > /usr/nothing")
        denials = client.tool("denials")["structuredContent"]["denials"]
        self.assertEqual([(each["resource"], each["access"]) for each in denials], [("/usr/nothing", "write")])

    def test_what_would_be_refused_can_be_asked(self):
        client = self.opened(self.path)

        def verdict(**question):
            return client.tool("policy_check", **question)["structuredContent"]["verdict"]
        self.assertEqual(verdict(path="/etc/shadow"), "deny")
        self.assertEqual(verdict(path="/usr/bin/git"), "allow")
        self.assertEqual(verdict(destination="example.com:443"), "deny")
        self.assertEqual(verdict(command="true"), "allow")
        plan = client.tool("policy_check")["structuredContent"]["plan"]
        self.assertTrue(any("/workspace" in line for line in plan), plan)
        for wrong in ({"path": 1}, {"path": "/", "command": "ls"}, {"path": "relative"}):
            answer = client.finish(client.request("tools/call", {"name": "policy_check", "arguments": wrong}))
            self.assertTrue("error" in answer or answer["result"].get("isError"), answer)


class RefusalTest(McpWorldTest):
    """What is no request of a client that may make it."""

    def test_hosts_origins_and_tokens(self):
        client = self.client()
        for fields, status in (({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 403),
                               ({"Authorization": None}, 401), ({"Authorization": "Bearer none"}, 401)):
            answer = client.request("initialize", {"protocolVersion": "2025-11-25"}, fields)
            self.assertEqual(answer.status, status, fields)
            stateless = self.client(era=STATELESS).request("tools/list", {}, fields)
            self.assertEqual(stateless.status, status, fields)
        self.assertEqual(client.request("initialize", {"protocolVersion": "2025-11-25"},
                                        {"Origin": f"http://127.0.0.1:{self.port}"}).status, 200)

    def test_sessions_of_others_and_none(self):
        client = self.opened()
        other = self.client(token=self.as_user(OTHER, "token", "create", "--name", "other")["secret"])
        for session, status in ((client.session, 404), ("nothing", 404), (None, 400)):
            other.session = session
            self.assertEqual(other.request("tools/list").status, status, session)
            self.assertEqual(other.send("DELETE").status, status)
            self.assertEqual(other.send("GET").status, status)
        self.assertEqual(client.call("ping"), {})
        self.assertEqual(client.request("ping", {}, {"MCP-Protocol-Version": "2025-03-26"}).status, 400)
        self.assertEqual(client.request("initialize", {"protocolVersion": "2025-11-25"}).status, 400)

    def test_fields_that_differ_from_the_body(self):
        client = self.client(era=STATELESS)
        for fields in ({"Mcp-Method": "tools/list"}, {"Mcp-Method": None}, {"Mcp-Name": "Read"}, {"Mcp-Name": None},
                       {"MCP-Protocol-Version": "2025-11-25"}, {"MCP-Protocol-Version": None}):
            status, error = client.refused("tools/call", {"name": "LS", "arguments": {"path": "."}}, fields)
            self.assertEqual((status, error["code"]), (400, -32020), fields)
        raw = (b"POST /mcp/tools HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nMcp-Method: tools/call\r\n"
               b"Mcp-Method: tools/list\r\nMCP-Protocol-Version: 2026-07-28\r\nContent-Type: application/json\r\n"
               b"Connection: close\r\nContent-Length: %d\r\n\r\n%s")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}}}})
        self.assertIn(b"-32020", self.raw(raw % (self.token.encode(), len(body), body.encode())))

    def test_bodies_that_are_no_message(self):
        client = self.opened()
        for body, status, code in ((b"{", 400, -32700), (b"", 400, -32700), (b"[]", 400, -32600),
                                   ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400, -32600),
                                   ({"id": 1, "method": "ping"}, 400, -32600), (b"[" * 1000, 400, -32700),
                                   (b" " * (16 * 1024 * 1024 + 1), 413, -32600)):
            answer = client.send("POST", body)
            self.assertEqual((answer.status, answer.last()["error"]["code"]), (status, code), str(body)[:20])
        self.assertEqual(client.send("POST", b"x" * (18 * 1024 * 1024)).status, 413)
        self.assertEqual(client.send("POST", {}, {"Content-Type": "text/plain"}).status, 415)
        self.assertEqual(client.send("PUT", {}).status, 405)
        self.assertEqual(client.send("GET", fields={"Accept": "application/json"}).status, 406)
        self.assertEqual(client.refused("resources/list")[1]["code"], -32601)
        # Nothing of that has cost the session.
        self.assertFalse(client.tool("LS", path=".")["isError"])

    def test_bundles_that_are_none(self):
        for path, status in (("nothing", 404), ("local/nothing", 404), ("tools?cwd=relative", 400), ("tools?x=1", 400),
                             ("tools?review=maybe", 400)):
            answer = self.client(path).request("initialize", {"protocolVersion": "2025-11-25"})
            self.assertEqual(answer.status, status, (path, answer.last()))
        nameless = McpClient(self.port, self.token, "/mcp").request("initialize", {"protocolVersion": "2025-11-25"})
        self.assertIn("mcp_bundle", nameless.last()["error"]["message"])

    def test_a_token_has_so_many_sessions(self):
        token = self.as_user(OWNER, "token", "create", "--name", "many")["secret"]
        made = [self.opened(token=token) for _ in range(16)]
        answer = self.client(token=token).request("initialize", {"protocolVersion": "2025-11-25"})
        self.assertEqual(answer.status, 429, answer.last())
        self.assertEqual(self.client(token=token, era=STATELESS).request("tools/list").status, 429)
        self.assertEqual(made[0].send("DELETE").status, 204)
        self.opened(token=token)

    def test_a_token_that_ends_ends_its_calls(self):
        made = self.world.json("token", "create", "--name", "ends")
        client = self.client(token=made["secret"])
        client.open()
        self.assertEqual(self.world.ctl("token", "rm", made["token"]["id"]).code, 0)
        self.assertEqual(client.request("tools/list").status, 401)


class SdkHttpTest(McpWorldTest):
    """The client of the protocol's own SDK, as npm has it."""

    def run_client(self, decision, tool, **arguments):
        done = subprocess.run(
            [*node_words(self.world.directory, "mcp_client.mjs"), MODULES, decision, tool, json.dumps(arguments),
             f"http://{self.address}/mcp/asks", self.token],
            capture_output=True, text=True, timeout=HANG_S, check=False, cwd=self.world.directory)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_a_call_and_an_elicited_approval(self):
        before = self.sessions()
        done = self.run_client("none", "LS", path=".")
        self.assertEqual(done["server"]["name"], "odyssey")
        self.assertIn("entries", done["result"]["structuredContent"])
        done = self.run_client("allow once", "Bash", command="echo from the sdk")
        self.assertEqual(done["result"]["structuredContent"]["stdout"], "from the sdk\n")
        self.assertEqual((done["progress"], len(done["asked"])), (["from the sdk\n"], 1))
        self.assertTrue(self.run_client("decline", "Bash", command="echo x")["result"]["isError"])
        self.wait(lambda: not self.sessions() - before)


if __name__ == "__main__":
    if "SdkHttpTest" in sys.argv and not os.path.exists(MODULES):
        print("npm's packages are not in " + MODULES)
        sys.exit(SKIPPED)
    main()
