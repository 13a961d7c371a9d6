"""The network policy of cells that run, the policy of everything public, what is told of decisions,
and approvals of an endpoint; through the real processes.
"""

import json
import os
import unittest

import bundles
import host
import world
from egress_test import POLICY, EgressWorld
from host import HANG_S
from network import OTHER, PRIVATE, PUBLIC
from world import main

HOLD = ("import socket\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
        "s.sendall(b'CONNECT api.example.com:{0} HTTP/1.1\\r\\nHost: api.example.com:{0}\\r\\n\\r\\n')\n"
        "assert b' 200 ' in s.recv(1000)\nprint('open', flush=True)\n"
        "try: print(s.recv(1) or 'ended')\nexcept OSError: print('reset', flush=True)\n")


class RevisionTest(EgressWorld):
    """policy set, get, list and rollback."""

    @classmethod
    def serve(cls):
        cls.echo = cls.network.serve(PUBLIC, 7000, "echo")
        cls.web = cls.network.serve(PUBLIC, 80)

    def setUp(self):
        self.name = self.id().rpartition(".")[2]
        done = self.run_in_live("true")
        self.assertEqual(done.code, 0, done)

    def run_in_live(self, *command):
        return self.world.ctl("exec", "--cell", self.name, "--policy", self.policy_file, "--", *command)

    def set_policy(self, text, *options):
        return self.world.ctl("policy", "set", self.name, self.world.make("next.yaml", text), *options)

    def revisions(self):
        done = self.world.ctl("-o", "json", "policy", "list", self.name)
        self.assertEqual(done.code, 0, done)
        return [(one["revision"], one["state"], one["source"]) for one in done.json()["revisions"]]

    def test_a_policy_is_in_force_when_set_returns(self):
        held = [self.world.start("exec", "--cell", self.name, "--policy", self.policy_file, "--",
                                 "python3", "-c", HOLD.format(port)) for port in (7000, 80)]
        for one in held:
            one.until("open\n")
        done = self.set_policy(POLICY.replace("[80, 443, 7000]", "[80]"))
        self.assertEqual((done.code, done.out), (0, "revision 2 is in force\n"), done)
        held[0].until("reset\n")
        self.assertEqual(self.run_in_live("curl", "-sS", "http://api.example.com/a").out, "hello /a\n")
        self.assertNotIn("reset", held[1].out)  # the new policy has it too
        held[1].process.kill()
        refused = self.run_in_live("curl", "-sS", "-x", "", "http://other.example.org/")
        self.assertNotEqual(refused.code, 0)
        self.assertEqual(self.revisions(), [(2, "loaded", "set"), (1, "superseded", "prepare")])
        # What an exec asks for, asked again, is no change.
        self.assertEqual(len(self.revisions()), 2)

    def test_a_policy_that_does_not_load_changes_nothing(self):
        for text, words in (
                (POLICY.replace("ports: [80, 443, 7000]", "port: 99999"), "port"),
                (POLICY + "bogus: 1\n", "bogus"),
                (POLICY.replace("protocol: tcp", "protocol: sql, access: full, enforcement: audit"), "sql"),
                ("version: 1\n", "no endpoint"),
                (POLICY + "filesystem_policy: {read_only: [/srv]}\n", "filesystem_policy")):
            with self.subTest(words):
                done = self.set_policy(text)
                self.assertEqual(done.code, 1, done)
                self.assertIn(words, done.err)
        self.assertEqual(self.revisions(), [(1, "loaded", "prepare")])
        self.assertEqual(self.run_in_live("curl", "-sS", "http://api.example.com/b").out, "hello /b\n")

    def test_rollback_repeats_an_earlier_one(self):
        closed = POLICY.replace("[80, 443, 7000]", "[443]")
        self.assertEqual(self.set_policy(closed).code, 0)
        self.assertEqual(self.set_policy(closed).out,
                         "revision 2 was in force already, with the same policy\n")
        self.assertIn("403", self.run_in_live("curl", "-s", "-w", "%{http_code}", "http://api.example.com/").out)
        done = self.world.ctl("policy", "rollback", self.name)
        self.assertEqual((done.code, done.out), (0, "revision 3 is in force\n"), done)
        self.assertEqual(self.run_in_live("curl", "-sS", "http://api.example.com/c").out, "hello /c\n")
        self.assertEqual(self.revisions()[0], (3, "loaded", "rollback"))
        done = self.world.ctl("policy", "rollback", self.name, "--revision", "9")
        self.assertEqual(done.code, 1)
        self.assertIn("revisions 1 to 3", done.err)

    def test_expect_names_the_revision_in_force(self):
        closed = POLICY.replace("[80, 443, 7000]", "[443]")
        done = self.set_policy(closed, "--expect", "7")
        self.assertEqual(done.code, 1)
        self.assertIn("revision 1 is in force", done.err)
        self.assertEqual(self.set_policy(closed, "--expect", "1").code, 0)

    def test_get_prints_a_file_that_set_takes(self):
        rich = POLICY + """
  graph:
    endpoints:
      - {host: api.example.com, port: 8443, protocol: graphql, rules: [{allow: {operation_type: query, fields: [a, b]}}], deny_rules: [{fields: [a]}]}
    binaries: [{path: /**}]
  rest:
    endpoints:
      - {host: www.example.com, port: 443, protocol: rest, rules: [{allow: {method: GET, path: "/v1/**", query: {tag: "v1*"}}}], allow_encoded_slash: true}
    binaries: [{path: /usr/bin/curl}]
"""
        self.assertEqual(self.set_policy(rich).code, 0)
        printed = self.world.ctl("policy", "get", self.name)
        self.assertEqual(printed.code, 0, printed)
        self.assertEqual(self.set_policy(printed.out).out,
                         "revision 2 was in force already, with the same policy\n")

    def test_a_cell_without_egress_has_none(self):
        self.assertEqual(self.world.ctl("exec", "--cell", "plain", "--", "true").code, 0)
        done = self.world.ctl("policy", "list", "plain")
        self.assertEqual(done.code, 1)
        self.assertIn("not egress", done.err)

    def test_a_killed_broker_loads_it_when_it_is_back(self):
        os.kill(self.world.daemon("odyssey-egress"), 9)
        self.set_policy(POLICY.replace("[80, 443, 7000]", "[443]"))
        host.eventually(lambda: self.revisions()[0][1] == "loaded", HANG_S, self.revisions)
        self.assertIn("403", self.run_in_live("curl", "-s", "-w", "%{http_code}", "http://api.example.com/").out)


class ToldTest(EgressWorld):
    """What is said of decisions: by exec, egress tail and top."""

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.other = cls.network.serve(OTHER, 80)

    def test_exec_names_the_option_that_would_allow_it(self):
        done = self.world.ctl("exec", "--policy", self.policy_file, "--denials", "always", "--",
                              "curl", "-sS", "http://other.example.org/")
        self.assertIn("--reach other.example.org:80", done.err)
        done = self.world.ctl("exec", "--policy", self.policy_file, "--reach", "other.example.org:80", "--",
                              "curl", "-sS", "http://other.example.org/x")
        self.assertEqual(done.out, "hello /x\n", done)
        for bad in ("other.example.org", "127.0.0.1:80", "a b:1", "x.example.com:0"):
            self.assertEqual(self.world.ctl("exec", "--reach", bad, "--", "true").code, 125, bad)

    def test_tail_and_top(self):
        self.run_in_cell("curl", "-s", "http://api.example.com/seen")
        self.run_in_cell("curl", "-s", "http://other.example.org/unseen")
        tail = lambda *options: self.world.ctl("egress", "tail", "-n", "100000", *options).out
        host.eventually(lambda: "unseen" in tail(), HANG_S, tail)
        lines = tail().splitlines()
        self.assertTrue(any("allowed" in line and "GET api.example.com:80/seen" in line and "/usr/bin/curl" in line
                            for line in lines), lines)
        self.assertTrue(any("denied" in line and "policy_denied" in line for line in lines), lines)
        self.assertNotIn("/seen", tail("--denied"))
        self.assertEqual(tail("cel_0000000000000000"), "")
        top = self.world.ctl("egress", "top").out
        self.assertIn("api.example.com:80", top)
        self.assertIn("other.example.org:80", top)
        first = json.loads(self.world.ctl("-o", "json", "egress", "tail", "-n", "1").out)
        self.assertEqual(first["type"], "egress")


class PublicTest(EgressWorld):
    """["*"] of a manifest, `network: true`, --network public: what is public, and nothing else."""

    policy = "version: 1\nmode: workspace_write\n"

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.tls = cls.network.serve(PUBLIC, 443, "https")
        cls.private = cls.network.serve(PRIVATE, 8081)

    def run_public(self, *command):
        return self.world.ctl("exec", "--network", "public", "--", *command)

    def test_what_is_public_is_reached(self):
        self.assertEqual(self.run_public("curl", "-sS", "http://api.example.com/a").out, "hello /a\n")
        self.assertEqual(self.run_public("curl", "-sS", "https://www.example.com/b").out, "hello /b\n")
        self.assertEqual(self.run_public("curl", "-sS", f"http://{PUBLIC}/c").out, "hello /c\n")
        # One that knows no proxy.
        self.assertEqual(self.run_public("env", "-u", "http_proxy", "curl", "-sS",
                                         "http://api.example.com/d").out, "hello /d\n")

    def test_what_is_not_public_is_not(self):
        for url in ("http://inside.example.com:8081/", f"http://{PRIVATE}:8081/", "http://127.0.0.1:22/",
                    "http://169.254.169.254/", "http://11.0.0.1:22/", "http://[::1]/", "http://localhost:22/",
                    "http://api.example.com:6443/"):
            with self.subTest(url):
                done = self.run_public("curl", "-s", "--noproxy", "", "-o", "/dev/null", "-w", "%{http_code}", url)
                self.assertIn(done.out, ("403", "400", "000"), done)
        self.assertEqual(self.private.received(), [])

    def test_a_bundle_with_a_star_has_it(self):
        bundle = bundles.write(f"{self.world.directory}/star", [
            bundles.bash("curl -sS http://api.example.com/star", "first"), bundles.say("done")],
            network=["*"])
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertIn("hello /star", done.out)
        decided = [event["payload"]["payload"]["decision"] for event in done.lines()
                   if event["payload"]["type"] == "egress_decided"]
        self.assertEqual([(one["verdict"], one["host"], one["path"]) for one in decided],
                         [("allowed", "api.example.com", "/star")])


class GrantedTest(EgressWorld):
    """A session whose bundle has no network, and a person who allows one endpoint."""

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.other = cls.network.serve(OTHER, 80)

    def results(self, steps, *answer):
        bundle = bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}", [*steps, bundles.say("done")])
        session = self.world.ctl("session", "create", bundle).out.strip()
        done = self.world.ctl("-o", "json", "turn", "submit", session, "go")
        self.assertEqual(done.code, 0, done)

        def asked():
            return self.world.json("approval", "list", "--session", session)["approvals"]
        request = host.eventually(asked, HANG_S, "a question")[0]["request"]
        self.assertEqual(request["grants"]["grants"],
                         [{"key": "network_endpoint", "value": "api.example.com:80", "limit": ""}])
        self.assertEqual(self.world.ctl("approval", "allow", request["request_id"], *answer).code, 0)

        def finished():
            events = self.world.ctl("-o", "json", "session", "events", session).lines()
            kinds = [event["payload"]["type"] for event in events]
            return events if "turn_completed" in kinds else None
        events = host.eventually(finished, HANG_S, lambda: self.world.ctl("session", "events", session).out)
        return [event["payload"]["payload"]["result"] for event in events
                if event["payload"]["type"] == "tool_call_finished"]

    def asking(self, path, name):
        return bundles.bash(f"curl -sS --max-time 20 http://api.example.com/{path}", name,
                            grants=[{"network": "api.example.com:80"}], reason="to fetch it")

    def plain(self, url, name):
        return bundles.bash(f"curl -sS --max-time 20 {url}", name)

    def test_once_is_for_the_call(self):
        granted, after = self.results([self.asking("a", "first"), self.plain("http://api.example.com/b", "last")])
        self.assertEqual(granted["stdout"], "hello /a\n")
        self.assertNotEqual(after["status_code"], 0)
        self.assertNotIn(b"GET /b", self.web.all_received())

    def test_the_session_keeps_it_and_nothing_else(self):
        granted, after, other = self.results(
            [self.asking("c", "first"), self.plain("http://api.example.com/d", "second"),
             self.plain("http://other.example.org/", "last")], "--session")
        self.assertEqual((granted["stdout"], after["stdout"]), ("hello /c\n", "hello /d\n"))
        denial = next(one for one in other["denials"] if one["kind"] == "network")
        self.assertIn("other.example.org:80", denial["resource"])
        self.assertIn("\"network\":\"other.example.org:80\"", denial["ask"])
        self.assertEqual(self.other.received(), [])


PROXY = """
import socket, sys, threading
def copy(a, b):
    while chunk := a.recv(65536): b.sendall(chunk)
    b.shutdown(socket.SHUT_WR)
def serve(client):
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"): head += client.recv(1)
    print(head.split(b"\\r")[0].decode(), flush=True)
    host, port = head.split(b" ")[1].decode().rsplit(":", 1)
    if port == "8080":
        return client.sendall(b"HTTP/1.1 403 no\\r\\n\\r\\n")
    server = socket.create_connection((host, int(port)))
    client.sendall(b"HTTP/1.1 200 ok\\r\\n\\r\\n")
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)
listener = socket.create_server(("11.0.0.2", 3128))
print("ready", flush=True)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


class UpstreamProxyTest(EgressWorld):
    """Everything is dialled through the operator's proxy."""

    up_options = ("--upstream-proxy", "11.0.0.2:3128")

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.wild = cls.network.serve(PUBLIC, 8080)
        cls.proxy = world.Running([*cls.network.internet.prefix(), "python3", "-c", PROXY], cwd="/")
        cls.addClassCleanup(cls.proxy.kill)
        cls.proxy.until("ready\n")

    def test_what_is_allowed_goes_through_it_to_the_address_that_was_checked(self):
        self.assertEqual(self.curl("http://api.example.com/a").out, "hello /a\n")
        self.proxy.until(f"CONNECT {PUBLIC}:80 HTTP/1.1\n")
        self.curl("http://other.example.org/")
        self.assertNotIn(OTHER, self.proxy.out)

    def test_what_it_refuses_is_not_dialled_without_it(self):
        done = self.curl("http://www.example.com:8080/", "-o", "/dev/null", "-w", "%{http_code}")
        self.assertEqual(done.out, "502", done)
        self.assertEqual(self.wild.received(), [])


if __name__ == "__main__":
    main()
