#!/usr/bin/env python3
"""The MCP servers of a bundle: processes of the session's cell, and their tools under the rules of all tools."""

import json
import os
import shutil
import sys

import bundles
import host
from egress_test import EgressWorld
from host import HANG_S
from network import OTHER, PUBLIC
from world import BIN, SKIPPED, World, WorldTest, main

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_fixture_server.py")
ALLOW = {"allow": ["Bash", "Read", "Write", "mcp__s__*"]}


def payloads(done, kind):
    """Of the events that a command printed, those of one type."""
    return [event["payload"]["payload"] for event in done.lines() if event["payload"]["type"] == kind]


def served(tool, result="r", server="s", **arguments):
    return bundles.call(f"mcp__{server}__{tool}", result, **arguments)


class ServerTest(WorldTest):
    """Bundles whose server is the fixture, and what their turns say."""

    def bundle(self, steps, *words, rules=None, name="", servers=None, **options):
        path = f"{self.world.directory}/{self.id().rpartition('.')[2]}{name}.bundle"
        spec = {"command": ["python3", "server.py", *words], "timeout": 20, **options.pop("server", {})}
        files = {"server.py": "", **options.pop("files", {})}
        bundles.write(path, steps, rules=rules or ALLOW, servers=servers or {"s": spec}, **options)
        for name in files:
            os.makedirs(os.path.dirname(f"{path}/{name}"), exist_ok=True)
            shutil.copy(FIXTURE, f"{path}/{name}")
        return path

    def play(self, steps, *words, approve="deny", **options):
        """Runs one turn; its results by name, as the journal has them, and how it ended."""
        done = self.world.ctl("-o", "json", "run", self.bundle(steps, *words, **options), "go", "--approve", approve)
        self.assertEqual(done.code, 0, done)
        return done

    def results(self, done):
        return [each["result"] for each in payloads(done, "tool_call_finished")]

    def result(self, *arguments, **options):
        out, = self.results(self.play(*arguments, **options))
        return out

    def session(self):
        return self.world.json("session", "list")["sessions"][0]["id"]


class CallTest(ServerTest):
    def test_a_rule_allows_a_call(self):
        self.assertEqual(self.result([served("echo", text="héllo"), bundles.say("done")]), {"content": "héllo"})

    def test_a_call_that_no_rule_speaks_of_is_asked_about(self):
        steps = [served("echo", text="x"), bundles.say("done")]
        done = self.play(steps, rules={"deny": ["Network"]}, approve="all")
        asked, = payloads(done, "permission_requested")
        self.assertEqual((asked["tool_name"], asked["rule"], asked["arguments"]),
                         ("mcp__s__echo", "mcp__s__echo", {"text": "x"}))
        self.assertRegex(asked["scope"], r"^mcp__s__echo sha256:[0-9a-f]{64}$")
        self.assertEqual(self.results(done), [{"content": "x"}])
        done = self.play(steps, rules={"ask": ["mcp__s__e*"]}, name="2")
        self.assertEqual(payloads(done, "permission_requested")[0]["rule"], "mcp__s__e*")
        self.assertIn("permission denied", self.results(done)[0]["error"])

    def test_a_denied_tool_is_not_offered(self):
        rules = {"allow": ["mcp__s__*"], "deny": ["mcp__s__echo"]}
        error = self.result([served("echo"), bundles.say("done")], rules=rules)["error"]
        self.assertIn('there is no tool "mcp__s__echo"', error)
        self.assertIn("mcp__s__where", error)


class ConfinementTest(ServerTest):
    def test_a_server_is_a_process_of_the_sessions_cell(self):
        secret = self.world.make("host-secret", "x")
        seen = json.loads(self.result([served("where"), bundles.say("done")], secret)["content"])
        self.assertEqual((seen["cwd"], seen["shadow"], seen["host"]), ("/workspace", False, False))
        self.assertEqual(seen["fds"], [0, 1, 2])
        self.assertIn("ODYSSEY_SANDBOX", seen["env"])
        self.assertNotIn("HOST_TOKEN", seen["env"])
        self.assertTrue(os.path.exists(secret))

    def test_it_has_its_own_variables_and_directory(self):
        seen = json.loads(self.result(
            [served("where"), bundles.say("done")],
            server={"env": {"LEVEL": "a 'quoted' one"}, "cwd": "below", "command": ["python3", "../server.py"]},
            files={"below/file": ""})["content"])
        self.assertEqual((seen["cwd"], seen["env"]["LEVEL"]), ("/workspace/below", "a 'quoted' one"))

    def test_the_cells_network_is_the_servers(self):
        content = self.result([served("connect", host="127.0.0.1", port=9), bundles.say("done")])["content"]
        self.assertIn("refused", content)

    def test_a_program_that_the_cell_lacks_is_the_error(self):
        done = self.play([served("echo"), bundles.say("done")], server={"command": ["no-such-program"]})
        error = self.results(done)[0]["error"]
        self.assertIn("mcp__s__echo: MCP server s: the server ended: execution failed: there is no no-such-program", error)
        step, = [each for each in payloads(done, "turn_step") if each["step"] == "select_tools"]
        self.assertIn("there is no no-such-program", step["detail"])


class LifeTest(ServerTest):
    def test_one_process_serves_a_session_and_no_other(self):
        steps = [served("count", "a"), served("count", "b"), bundles.say("${a.content}${b.content}")]
        bundle = self.bundle(steps, "of-two-sessions")
        first = self.world.ctl("session", "create", bundle).out.strip()
        second = self.world.ctl("session", "create", bundle).out.strip()
        said = []
        for session in (first, second, first):
            done = self.world.ctl("run", bundle, "go", "--session", session)
            self.assertEqual(done.code, 0, done)
            said.append(done.out)
        self.assertIn("12", said[0])
        self.assertIn("12", said[1])
        self.assertIn("34", said[2])
        self.assertEqual(len(self.world.cell_commands("of-two-sessions")), 2)
        for session in (first, second):
            self.assertEqual(self.world.ctl("session", "rm", session).code, 0)
        self.assertFalse(self.world.cell_commands("of-two-sessions"))

    def test_a_server_that_ended_is_started_again(self):
        done = self.play([served("count", "a"), served("die", "b"), served("count", "c"), bundles.say("done")])
        first, dead, again = self.results(done)
        self.assertEqual((first["content"], again["content"]), ("1", "1"))
        self.assertIn("MCP server s: the server exited with code 3; it printed:", dead["error"])
        self.assertIn("words", dead["error"])

    def test_the_end_of_the_turn_ends_the_call(self):
        bundle = self.bundle([served("sleep"), bundles.say("done")], "slow")
        session = self.world.ctl("session", "create", bundle).out.strip()
        run = self.world.start("run", bundle, "go", "--session", session)
        host.eventually(lambda: "tool_call_started" in self.world.ctl("-o", "json", "session", "events", session).out,
                        HANG_S, "the call")
        self.assertEqual(self.world.ctl("turn", "cancel", session).code, 0)
        run.ended()
        self.assertIn("turn_cancelled", self.world.ctl("-o", "json", "session", "events", session).out)
        host.eventually(lambda: self.world.ctl("session", "exec", session, "--", "cat", "cancelled").out == "True",
                        HANG_S, "the server's word")

    def test_a_call_without_an_answer_ends(self):
        error = self.result([served("sleep"), bundles.say("done")], server={"timeout": 1})["error"]
        self.assertIn("MCP server s: the server did not answer tools/call within 1 s", error)
        error = self.result([served("echo"), bundles.say("done")], "silent", server={"timeout": 1}, name="2")["error"]
        self.assertIn("mcp__s__echo: MCP server s: the server did not answer initialize within 1 s", error)

    def test_a_grant_restarts_the_server_in_the_wider_cell(self):
        directory = self.world.make_directory("granted")
        done = self.play([served("count", "a"), bundles.bash(f"ls {directory}", grants=[{"mount_read": directory}]),
                          served("count", "c"), bundles.say("done")], approve="all")
        first, listed, again = self.results(done)
        self.assertEqual((first["content"], listed["status_code"] is not None, again["content"]), ("1", True, "1"))


class IdleTest(ServerTest):
    """A world that ends a cell as soon as it is idle."""

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--idle-cell", "1s")

    def test_a_server_keeps_no_idle_cell(self):
        bundle = self.bundle([served("count"), bundles.say("${r.content}")])
        session = self.world.ctl("session", "create", bundle).out.strip()
        for _ in range(2):
            self.assertEqual(self.world.ctl("run", bundle, "go", "--session", session).code, 0)
            host.eventually(lambda: not self.world.cell_commands("server.py"), HANG_S, "the end of the cell")
        done = self.world.ctl("-o", "json", "session", "events", session)
        self.assertEqual([each["content"] for each in self.results(done)], ["1", "1"])


class HostileTest(ServerTest):
    """A server that answers what it should not; the turn goes on."""

    def calls(self, tool, *words, **options):
        done = self.play([served(tool, "a"), served("echo", "b", text="still here"), bundles.say("done")], *words, **options)
        first, second = self.results(done)
        self.assertEqual(second, {"content": "still here"})
        return first

    def test_a_message_is_bounded(self):
        self.assertIn("more than 16777216 bytes", self.calls("giant")["error"])

    def test_nesting_is_bounded(self):
        self.assertIn("nested deeper than 100 levels", self.calls("deep")["error"])

    def test_what_no_call_waits_for_is_bounded(self):
        self.assertIn("more than 33554432 bytes for one call", self.calls("flood")["error"])

    def test_what_is_no_message_ends_the_server(self):
        self.assertIn("no message of the protocol", self.calls("junk")["error"])

    def test_words_for_people_are_let_pass(self):
        self.assertEqual(self.calls("count", "noisy")["content"], "1")

    def test_requests_of_the_server_are_refused(self):
        self.assertEqual(json.loads(self.calls("ask")["content"])["code"], -32601)

    def test_a_failure_of_the_tool_is_a_result(self):
        self.assertEqual(self.calls("fail"), {"error": "it failed as it should"})

    def test_escape_sequences_reach_no_terminal(self):
        bundle = self.bundle([served("escape", text="x"), bundles.say("${r.content}")])
        done = self.world.ctl("run", bundle, "go")
        self.assertEqual(done.code, 0, done)
        for bad in ("\x1b[2J", "\u202e"):
            self.assertNotIn(bad, done.out + done.err)

    def test_names_and_descriptions(self):
        bundle = self.bundle([served("safe"), bundles.say("done")], "names")
        session = self.world.ctl("session", "create", bundle).out.strip()
        listed = self.world.ctl("tool", "list", session)
        self.assertEqual(listed.code, 0, listed)
        for bad in ("\x1b", "\u202e", "\x07"):
            self.assertNotIn(bad, listed.out)
        server, = self.world.json("tool", "list", session)["mcp_servers"]
        offered = [tool["offered_name"] for tool in server["tools"] if tool["offered_name"]]
        self.assertEqual(offered, ["mcp__s__echo", "mcp__s__safe"])
        refused = {tool["name"]: tool["refused"] for tool in server["tools"] if tool["refused"]}
        self.assertEqual(len(refused), 5, refused)
        self.assertIn("may have 64 letters", refused["with space"])
        self.assertEqual(refused["echo"], "it is listed twice")
        self.assertIn("inputSchema", refused["none"])

    def test_lists_are_bounded(self):
        error = self.result([served("t1"), bundles.say("done")], "many")["error"]
        self.assertIn("more than 128 tools; name those that the agents need in mcp_servers.s.tools", error)
        error = self.result([served("t1"), bundles.say("done")], "large", name="2")["error"]
        self.assertIn("descriptions and schemas of more than 262144 bytes", error)
        done = self.play([served("t1"), bundles.say("done")], "many", server={"tools": ["t1"]}, name="3")
        self.assertIn("it failed as it should", self.results(done)[0]["error"])

    def test_a_list_has_pages(self):
        self.assertEqual(self.calls("count", "pages")["content"], "1")

    def test_versions_of_the_protocol(self):
        self.assertEqual(self.calls("count", "old")["content"], "1")
        error = self.result([served("echo"), bundles.say("done")], "ancient", name="2")["error"]
        self.assertIn('speaks version "1999-01-01"', error)


class PinTest(ServerTest):
    def digests(self, bundle):
        session = self.world.ctl("session", "create", bundle).out.strip()
        server, = self.world.json("tool", "list", session)["mcp_servers"]
        return {tool["name"]: tool for tool in server["tools"]}

    def test_a_pinned_tool_is_that_one_or_none(self):
        steps = [served("echo", text="x"), bundles.say("done")]
        digest = self.digests(self.bundle(steps))["echo"]["digest"]
        self.assertEqual(self.result(steps, server={"pins": {"echo": digest}}, name="2"), {"content": "x"})
        other = "sha256:" + "0" * 64
        error = self.result(steps, server={"pins": {"echo": other}}, name="3")["error"]
        self.assertIn(f"mcp__s__echo is not offered: its digest is {digest}, and mcp_servers.s.pins.echo is {other}", error)

    def test_the_digest_is_of_what_the_model_is_told(self):
        plain = self.digests(self.bundle([bundles.say("done")]))
        words = self.digests(self.bundle([bundles.say("done")], "description=other", name="2"))
        self.assertNotEqual(plain["echo"]["digest"], words["echo"]["digest"])
        self.assertEqual(self.digests(self.bundle([bundles.say("done")], name="3"))["echo"], plain["echo"])

    def test_always_is_for_the_tool_that_was_shown(self):
        steps = [served("echo", "a", text="1"), served("echo", "b", text="2"), served("change", "c"),
                 served("echo", "d", text="3"), bundles.say("done")]
        bundle = self.bundle(steps, rules={"ask": ["mcp__s__echo"], "allow": ["mcp__s__*"]})
        session = self.world.ctl("session", "create", bundle).out.strip()
        self.assertEqual(self.world.ctl("turn", "submit", session, "go").code, 0)

        def answered():
            for request in self.world.json("approval", "list")["approvals"]:
                self.world.ctl("approval", "allow", request["request"]["request_id"], "--always")
            return "turn_completed" in self.world.ctl("-o", "json", "session", "events", session).out
        host.eventually(answered, HANG_S, "the end of the turn")
        done = self.world.ctl("-o", "json", "session", "events", session)
        asked = payloads(done, "permission_requested")
        self.assertEqual(len(asked), 2, [each["rule"] for each in asked])
        self.assertNotEqual(asked[0]["scope"], asked[1]["scope"])
        self.assertIn("the tool has changed since the session first saw it", asked[1]["rule"])
        self.assertIn("-Says the text again.\n+Says the text again, and sends it to the author.\n", asked[1]["diff"])

    def test_a_changed_tool_is_asked_about_though_a_rule_allows_it(self):
        steps = [served("echo", "a", text="1"), served("change", "b"), served("echo", "c", text="2"), bundles.say("done")]
        first, _, last = self.results(self.play(steps))
        self.assertEqual(first, {"content": "1"})
        self.assertIn("permission denied: tool mcp__s__*; the tool has changed", last["error"])


def remote(tool, result="r", **arguments):
    return bundles.call(f"mcp__remote__{tool}", result, **arguments)


class HttpTest(EgressWorld):
    """Servers behind a URL: curl in the cell calls them, under the cell's policy."""

    POLICIES = {"mcp": {"endpoints": [{"host": "mcp.example.com", "port": 80}], "binaries": [{"path": "/usr/bin/curl"}]}}

    @classmethod
    def serve(cls):
        program = os.path.join(os.path.dirname(FIXTURE), "mcp_http_server.py")
        cls.plain = cls.network.serve(PUBLIC, 80, "json", program)
        cls.events = cls.network.serve(OTHER, 80, "events", program)

    def play(self, steps, url="http://mcp.example.com/mcp", headers=None, rules=None, name="", policies=POLICIES, **options):
        server = {"url": url, "timeout": 20, **({"headers": headers} if headers else {})}
        bundle = bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}{name}", steps,
                               servers={"remote": server}, rules=rules or {"allow": ["Bash", "mcp__remote__*"]},
                               network_policies=policies, **options)
        done = self.world.ctl("-o", "json", "run", bundle, "go", env={**os.environ, "PROBE_WORD": "word of the user"})
        self.assertEqual(done.code, 0, done)
        return done, [each["result"] for each in payloads(done, "tool_call_finished")]

    def requests(self, server):
        return [json.loads(each) for each in server.received()]

    def test_a_call(self):
        done, results = self.play([remote("echo", text="héllo"), bundles.say("done")])
        self.assertEqual(results, [{"content": "héllo"}])
        last = self.requests(self.plain)[-1]
        self.assertRegex(last["headers"]["mcp-session-id"], "^session-1")
        self.assertEqual(last["headers"]["mcp-protocol-version"], "2025-11-25")
        decided = payloads(done, "egress_decided")
        self.assertEqual(decided[0]["decision"]["program"], "/usr/bin/curl")

    def test_an_answer_as_events(self):
        policies = {"mcp": {"endpoints": [{"host": "other.example.org", "port": 80}], "binaries": [{"path": "/usr/bin/curl"}]}}
        _, (echo, asked) = self.play([remote("echo", "a", text="x"), remote("refused", "b"), bundles.say("done")],
                                     url="http://other.example.org/mcp", policies=policies)
        self.assertEqual(echo, {"content": "x"})
        self.assertIn(-32601, json.loads(asked["content"]))

    def test_a_header_has_a_variable_of_the_cell(self):
        self.play([remote("echo", text="x"), bundles.say("done")], headers={"X-Key": "it's ${WORD}; $(id)"},
                  env={"WORD": "PROBE_WORD"})
        self.assertEqual(self.requests(self.plain)[-1]["headers"]["x-key"], "it's word of the user; $(id)")
        _, (result,) = self.play([remote("echo", text="x"), bundles.say("done")], headers={"X-Key": "${MISSING}"}, name="2")
        self.assertIn("MISSING", result["error"])
        self.assertIn("is not set in the cell", result["error"])

    def test_a_policy_without_the_server_refuses_it(self):
        before = len(self.plain.received())
        policies = {"mcp": {"endpoints": [{"host": "www.example.com", "port": 443}], "binaries": [{"path": "/usr/bin/curl"}]}}
        _, (result,) = self.play([remote("echo", text="x"), bundles.say("done")], policies=policies)
        self.assertIn("MCP server remote: http://mcp.example.com/mcp was not reached", result["error"])
        self.assertIn("mcp.example.com:80 was refused: /usr/bin/curl may not connect", result["error"])
        self.assertIn("allow it in sandbox.permissions.network_policies", result["error"])
        _, (result,) = self.play([remote("echo", text="x"), bundles.say("done")], policies=None, name="2")
        self.assertIn("MCP server remote: http://mcp.example.com/mcp was not reached", result["error"])
        self.assertEqual(len(self.plain.received()), before)

    def test_only_the_cell_connects(self):
        """A policy for another program: agentd has no way of its own."""
        before = len(self.plain.received())
        policies = {"mcp": {"endpoints": [{"host": "mcp.example.com", "port": 80}], "binaries": [{"path": "/usr/bin/wget"}]}}
        _, (result,) = self.play([remote("echo", text="x"), bundles.say("done")], policies=policies)
        self.assertIn("was not reached", result["error"])
        self.assertEqual(len(self.plain.received()), before)

    def test_a_session_that_the_server_has_ended(self):
        _, results = self.play([remote("expire", "a"), remote("echo", "b", text="x"), remote("echo", "c", text="y"),
                                bundles.say("done")])
        self.assertIn("the server has ended its session; call it again", results[1]["error"])
        self.assertEqual(results[2], {"content": "y"})

    def test_answers_that_are_none(self):
        _, (fails, html) = self.play([remote("fails", "a"), remote("html", "b"), bundles.say("done")])
        self.assertIn("the server answered with HTTP status 500: it broke", fails["error"])
        self.assertIn("MCP server remote: the server's answer", html["error"])

    def test_named_programs_and_curl(self):
        _, results = self.play([remote("echo", text="x"), bundles.say("done")], tools=["cat"], offered=["Read"],
                               rules={"allow": ["mcp__remote__*"]})
        self.assertEqual(results, [{"content": "x"}])


MODULES = os.path.join(os.path.abspath(BIN), "../../clients-tests/node_modules")


class OthersTest(ServerTest):
    """A server of the protocol's authors, as npm has it."""

    def test_the_filesystem_server(self):
        directory = self.world.make_directory("shared")
        with open(directory + "/note.txt", "w", encoding="utf-8") as file:
            file.write("from the host\n")
        modules = os.path.realpath(MODULES)
        mount = "/workspace/mount/read/abs"
        servers = {"fs": {"command": ["node",
                                      f"{mount}{modules}/@modelcontextprotocol/server-filesystem/dist/index.js",
                                      f"{mount}{directory}"]}}
        steps = [served("read_text_file", "a", server="fs", path=f"{mount}{directory}/note.txt"),
                 served("write_file", "b", server="fs", path=f"{mount}{directory}/other", content="x"),
                 served("read_text_file", "c", server="fs", path="/etc/passwd"), bundles.say("done")]
        done = self.play(steps, servers=servers, rules={"allow": ["mcp__fs__*"]}, read=[directory, modules])
        read, written, outside = self.results(done)
        self.assertEqual(read, {"content": "from the host\n"})
        self.assertIn("EROFS", written["error"])
        self.assertIn("Access denied", outside["error"])


if __name__ == "__main__":
    if "OthersTest" in sys.argv and not os.path.exists(MODULES + "/@modelcontextprotocol/server-filesystem"):
        print("npm's packages are not in " + MODULES)
        sys.exit(SKIPPED)
    main()
