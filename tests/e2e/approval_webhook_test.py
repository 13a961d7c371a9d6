#!/usr/bin/env python3
"""--approval-webhook: a server that answers requests for approval, and everything that is no answer."""

import hashlib
import hmac
import http.server
import json
import os
import ssl
import subprocess
import threading

import bundles
import host
from world import HANG_S, World, WorldTest, main

ASK_BASH = {"allow": ["Read"], "ask": ["Bash"]}
STEPS = [bundles.bash("echo hello"), bundles.say("[${r.success}] ${r.error}")]
TOKEN = "a-token-of-the-webhook"
ALLOW = b'{"decision":"allow_once","note":"by the server"}'


class Server:
    """Answers each POST as `answer(handler)` does; keeps what was asked."""

    def __init__(self, context=None):
        self.requests = []
        self.gone = 0  # connections that the client closed before an answer
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), body))
                outer.answer(self)

            def reply(self, status, body, **headers):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *arguments: None  # a handshake that failed
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler):
        handler.reply(200, ALLOW)

    def hang(self, handler):
        handler.connection.settimeout(HANG_S)
        if handler.connection.recv(1) == b"":
            self.gone += 1

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Asking:
    """What the classes share: a world whose agentd has a webhook, and turns that ask."""

    def start(self, *options):
        world = World()
        self.addCleanup(world.close)
        world.up(*options)
        return world

    def submit(self, world):
        bundle = world.directory + "/asked"
        if not os.path.isdir(bundle):
            bundles.write(bundle, STEPS, rules=ASK_BASH)
        session = world.ctl("session", "create", bundle).out.strip()
        self.assertEqual(world.ctl("turn", "submit", session, "go").code, 0)
        return session

    def events(self, world, session, kind):
        def told():
            done = world.ctl("-o", "json", "session", "events", session)
            return [event["payload"]["payload"] for event in done.lines() if event["payload"]["type"] == kind]
        return host.eventually(told, HANG_S, kind)

    def resolved(self, world, session=None):
        session = session or self.submit(world)
        resolved, = self.events(world, session, "approval_resolved")
        end, = self.events(world, session, "turn_completed")
        return resolved, end["message"]

    def agentd_uid(self, world):
        return os.stat(f"/proc/{world.agentd}").st_uid


class WebhookTest(Asking, WorldTest):

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)

    def up(self, *more):
        return self.start("--approval-webhook", f"http://127.0.0.1:{self.server.port}/approve", *more)

    def test_each_answer_and_each_that_is_none(self):
        world = self.up()
        resolved, message = self.resolved(world)
        self.assertEqual((resolved["decision"], resolved["by"], resolved["note"]),
                         ("allow_once", "webhook", "by the server"))
        self.assertEqual(resolved["by_uid"], self.agentd_uid(world))
        self.assertIn("[true]", message)
        path, headers, body = self.server.requests[0]
        self.assertEqual(path, "/approve")
        self.assertNotIn("Authorization", headers)
        question = json.loads(body)
        self.assertIn("echo hello", question["request"]["arguments_json"])
        self.assertEqual(len(question["request"]["digest"]), 64)

        self.server.answer = lambda to: to.reply(200, b'{"decision":"deny","note":"not today"}')
        resolved, message = self.resolved(world)
        self.assertEqual((resolved["decision"], resolved["by"]), ("deny", "webhook"))
        self.assertIn("[false] permission denied: tool Bash was denied: not today", message)

        other = Server()
        self.addCleanup(other.close)
        for answer, why in (
                (lambda to: to.reply(500, ALLOW), "HTTP status 500"),
                (lambda to: to.reply(302, ALLOW, Location=f"http://127.0.0.1:{other.port}/"), "HTTP status 302"),
                (lambda to: to.reply(200, ALLOW + b" " * 8192), "answer: more than 8192 bytes"),
                (lambda to: to.reply(200, b"yes"), "answer: no JSON object"),
                (lambda to: to.reply(200, b'{"decision":"allow_once","scope":"all"}'),
                 "answer: has a member besides decision and note"),
                (lambda to: to.reply(200, ALLOW, **{"Content-Length": "1000"}), None)):
            self.server.answer = answer
            resolved, message = self.resolved(world)
            self.assertEqual((resolved["decision"], resolved["by"]), ("deny", "webhook"), why)
            self.assertTrue(resolved["note"].startswith("the approval webhook gave no answer: " + (why or "")), resolved)
            self.assertIn("[false]", message)
        self.assertEqual(other.requests, [], "no redirect is followed")

        self.server.close()
        resolved, _ = self.resolved(world)
        self.assertEqual(resolved["decision"], "deny")
        self.assertIn("webhook at http://127.0.0.1:", resolved["note"])

    def test_ends_when_a_client_answers_or_the_turn_is_cancelled(self):
        world = self.up()
        self.server.answer = self.server.hang
        session = self.submit(world)
        host.eventually(lambda: self.server.requests, HANG_S, "the question")
        request = json.loads(self.server.requests[0][2])["request"]["request_id"]
        self.assertEqual(world.ctl("approval", "allow", request).code, 0)
        resolved, message = self.resolved(world, session)
        self.assertEqual((resolved["by"], resolved["decision"]), ("client", "allow_once"))
        self.assertIn("[true]", message)
        host.eventually(lambda: self.server.gone == 1, HANG_S, "the end of the call")
        session = self.submit(world)
        host.eventually(lambda: len(self.server.requests) == 2, HANG_S, "the question")
        self.assertEqual(world.ctl("turn", "cancel", session).code, 0)
        host.eventually(lambda: self.server.gone == 2, HANG_S, "the end of the call")

    def test_with_the_fallback_a_client_is_asked(self):
        world = self.up("--approval-webhook-fallback", "ask")
        self.server.answer = lambda to: to.reply(503, b"")
        session = self.submit(world)
        world.daemons.until("gave no answer: HTTP status 503", part="err")
        asked, = world.json("approval", "list", "--session", session)["approvals"]
        self.assertEqual(world.ctl("approval", "allow", asked["request"]["request_id"]).code, 0)
        self.assertEqual(self.resolved(world, session)[0]["by"], "client")

    def test_a_token_signs_and_no_proxy_of_the_environment_is_used(self):
        token = self.world.directory + "/token"
        with open(token, "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")
        os.chown(token, 0, self.agentd_gid())
        os.chmod(token, 0o640)
        proxy = Server()
        self.addCleanup(proxy.close)
        world = World()
        self.addCleanup(world.close)
        address = f"http://127.0.0.1:{proxy.port}"
        world.up("--approval-webhook", f"http://127.0.0.1:{self.server.port}/", "--approval-webhook-token-file", token,
                 env={"http_proxy": address, "https_proxy": address, "all_proxy": address})
        resolved, _ = self.resolved(world)
        self.assertEqual(resolved["decision"], "allow_once")
        _, headers, body = self.server.requests[0]
        self.assertEqual(headers["Authorization"], "Bearer " + TOKEN)
        signed = hmac.new(TOKEN.encode(), body, hashlib.sha256).hexdigest()
        self.assertEqual(headers["Odyssey-Signature"], "sha256=" + signed)
        self.assertEqual(proxy.requests, [])
        with open(f"/proc/{world.agentd}/cmdline", "rb") as file:
            self.assertNotIn(TOKEN.encode(), file.read())
        with open(f"/proc/{world.agentd}/environ", "rb") as file:
            self.assertNotIn(TOKEN.encode(), file.read())
        self.assertNotIn(TOKEN, world.daemons.err)

    def agentd_gid(self):
        return os.stat(f"/proc/{self.world.agentd}").st_gid

    def test_what_agentd_would_not_use_stops_the_start(self):
        token = self.world.directory + "/open-token"
        with open(token, "w", encoding="ascii") as file:
            file.write(TOKEN)
        os.chmod(token, 0o644)
        url = f"http://127.0.0.1:{self.server.port}/"
        for options, why in (
                (("--approval-webhook", "http://192.0.2.1/"), "allowed are https:// and, to this host itself, http://"),
                (("--approval-webhook", url, "--approval-webhook-token-file", token), "others may use it"),
                (("--approval-webhook", url, "--approval-command", "/bin/true"), "excludes --approval-command"),
                (("--approval-webhook-fallback", "ask"), "needs --approval-webhook"),
                (("--approval-command-fallback", "ask"), "needs --approval-command")):
            world = World()
            self.addCleanup(world.close)
            self.assertEnded(world.ctl("up", *options), 1, why)


class WebhookTlsTest(Asking, WorldTest):

    def authority(self, name):
        """A CA of the test's own, and a context with a certificate of it for 127.0.0.1."""
        at = self.world.make_directory(name)

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=at, check=True, capture_output=True)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                "-subj", f"/CN={name}")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "csr", "-subj", "/CN=127.0.0.1")
        with open(at + "/ext", "w", encoding="ascii") as file:
            file.write("subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert",
                "-days", "2", "-extfile", "ext")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(at + "/cert", at + "/key")
        os.chmod(at, 0o755)
        os.chmod(at + "/ca.pem", 0o644)
        return context, at + "/ca.pem"

    def test_only_the_named_authority_is_trusted(self):
        context, ca = self.authority("ours")
        _, others = self.authority("others")
        server = Server(context)
        self.addCleanup(server.close)
        url = f"https://127.0.0.1:{server.port}/"
        resolved, _ = self.resolved(self.start("--approval-webhook", url, "--approval-webhook-ca", ca))
        self.assertEqual(resolved["decision"], "allow_once")
        for options in ((), ("--approval-webhook-ca", others)):
            resolved, _ = self.resolved(self.start("--approval-webhook", url, *options))
            self.assertEqual(resolved["decision"], "deny", options)
            self.assertIn("certificate", resolved["note"])
        self.assertEqual(len(server.requests), 1)


if __name__ == "__main__":
    main()
