"""What passes egress: which bytes of a request reach its server and which of a response its client,
by each way out.
"""

import subprocess

import world
from cell_client import ABSOLUTE, CONNECT, HTTP_WAYS, TCP
from egress_attacks_test import AttackWorld
from network import OTHER, PUBLIC
from upstreams import TORN, start

API = "api.example.com"
REST = """
version: 1
network_policies:
  rest:
    endpoints:
      - host: api.example.com
        ports: [80, 443]
        protocol: rest
        enforcement: enforce
        rules:
          - allow: {method: GET, path: "/v1/*"}
          - allow: {method: POST, path: /v1/items}
      # Beside the one above: what either allows is allowed.
      - {host: api.example.com, ports: [80, 443], protocol: rest, enforcement: enforce,
         rules: [{allow: {method: GET, path: /more}}]}
    binaries: [{path: "/usr/bin/python3*"}]
"""


def message(first, lines=b"", body=b"", host=API.encode()):
    return first + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + lines + b"\r\n" + body


class RequestsTest(AttackWorld):
    policy = REST

    @classmethod
    def serve(cls):
        cls.servers = {80: cls.network.serve(PUBLIC, 80),
                       443: cls.network.serve(PUBLIC, 443, "https")}
        cls.other = cls.network.serve(OTHER, 80)

    def ask(self, way, port, tls, *sent, until=b""):
        """The answer, and what of it arrived. `~` is where a target begins."""
        target = b"http://" + API.encode() if way == ABSOLUTE else b""
        before = len(self.servers[port].all_received())
        answer = self.client.exchange(way, API, port, *(part.replace(b"~", target) for part in sent),
                                      tls=tls, until=until)
        return answer, self.servers[port].all_received()[before:]

    def test_pipelined_requests_are_decided_one_by_one(self):
        sent = (message(b"GET ~/v1/a") + message(b"GET ~/v2/b") + message(b"GET ~/v1/c"))
        for way, port, tls in HTTP_WAYS:
            answer, arrived = self.ask(way, port, tls, sent)
            self.assertEqual((answer.got.count(b"HTTP/1.1 200"), answer.got.count(b"HTTP/1.1 403"),
                              answer.end), (1, 1, "ended"), answer)
            self.assertEqual(arrived, message(b"GET /v1/a"))

    def test_a_request_is_written_anew(self):
        body = b"5;a=b\r\nhello\r\n0;c\r\nX-Trailer: x\r\n\r\n"
        lines = (b"Transfer-Encoding: chunked\r\nVia: 1.1 x\r\nForwarded: for=1.2.3.4\r\n"
                 b"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: x\r\nProxy-Authorization: Basic eA==\r\n"
                 b"Proxy-Connection: close\r\nConnection: close, TE\r\nTE: trailers\r\n"
                 b"Keep-Alive: 5\r\nX-Mine:  a b \r\n")
        for way, port, tls in HTTP_WAYS:
            answer, arrived = self.ask(way, port, tls, message(b"POST ~/v1/items?a=b", lines, body))
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(arrived, b"POST /v1/items?a=b HTTP/1.1\r\nHost: api.example.com\r\n"
                             b"X-Mine: a b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")

    def test_a_path_arrives_in_the_spelling_that_was_decided(self):
        for way, port, tls in HTTP_WAYS:
            _, arrived = self.ask(way, port, tls, message(b"GET ~/v1/%61%7e%20", b"Connection: close\r\n"))
            self.assertIn(b"GET /v1/a~%20 HTTP/1.1\r\n", arrived)

    def test_a_body_that_is_none_never_looks_whole(self):
        for way, port, tls in HTTP_WAYS:
            for body in (b"5\nhello\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\n", b"-1\r\n", b"0x5\r\nhello\r\n",
                         b"5\r\nhello!\r\n0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n",
                         b"0\r\nGET /v2/b HTTP/1.1\r\n\r\n", b"0\r\nX : y\r\n\r\n"):
                answer, arrived = self.ask(
                    way, port, tls, message(b"POST ~/v1/items", b"Transfer-Encoding: chunked\r\n"), body)
                self.assertEqual((answer.status, answer.end), (400, "ended"), (body, answer))
                self.assertNotIn(b"0\r\n\r\n", arrived, body)
                self.assertNotIn(b"/v2", arrived)

    def test_http_1_0_is_for_one_request(self):
        one = b"GET ~/v1/a HTTP/1.0\r\nHost: api.example.com\r\nConnection: keep-alive\r\n\r\n"
        for way, port, tls in HTTP_WAYS:
            answer, arrived = self.ask(way, port, tls, one + one)
            self.assertEqual((answer.got.count(b"HTTP/1.1 200"), answer.end), (1, "ended"), answer)
            self.assertEqual(arrived.count(b"GET /v1/a HTTP/1.1"), 1)

    def test_an_expectation_is_answered_after_the_decision(self):
        lines = b"Content-Length: 5\r\nExpect: 100-continue\r\n"
        for way, port, tls in HTTP_WAYS:
            answer, arrived = self.ask(way, port, tls, message(b"POST ~/v2/items", lines))
            self.assertEqual((answer.status, arrived), (403, b""), answer)
            answer, arrived = self.ask(way, port, tls, message(b"POST ~/v1/items", lines), b"hello",
                                       until=b"/v1/items\n")
            self.assertEqual(answer.status, 100, answer)
            self.assertIn(b"HTTP/1.1 200", answer.got)
            self.assertTrue(arrived.endswith(b"\r\n\r\nhello"), arrived)
            self.assertNotIn(b"Expect", arrived)

    def test_two_rules_for_one_host_add_up(self):
        for way, port, tls in HTTP_WAYS:
            for path in (b"/v1/a", b"/more"):
                answer, _ = self.ask(way, port, tls, message(b"GET ~" + path, b"Connection: close\r\n"))
                self.assertEqual(answer.status, 200, answer)

    def test_head_is_allowed_where_get_is_and_a_query_is_no_path(self):
        for way, port, tls in HTTP_WAYS:
            answer, _ = self.ask(way, port, tls, message(b"HEAD ~/v1/a?x=/v2", b"Connection: close\r\n"))
            self.assertEqual((answer.status, answer.end), (200, "ended"), answer)

    def test_a_thousand_requests_on_one_connection(self):
        for way, port, tls in ((ABSOLUTE, 80, False), (CONNECT, 443, True), (TCP, 443, True)):
            sent = message(b"GET ~/v1/a") * 999 + message(b"GET ~/v1/a", b"Connection: close\r\n")
            answer, arrived = self.ask(way, port, tls, sent)
            self.assertEqual(answer.got.count(b"hello /v1/a\n"), 1000)
            self.assertEqual(arrived.count(b"GET /v1/a HTTP/1.1\r\n"), 1000)

    def test_refusals_by_the_thousand_end_nothing(self):
        for _ in range(1000):
            self.client.exchange("raw", "", 0, b"GET http://other.example.org/ HTTP/1.1\r\n"
                                 b"Host: other.example.org\r\n\r\n")
        self.assertEqual(self.other.received(), [])
        answer, _ = self.ask(ABSOLUTE, 80, False, message(b"GET ~/v1/a", b"Connection: close\r\n"))
        self.assertEqual(answer.status, 200, answer)


OK = b"HTTP/1.1 200 OK\r\n"
SWITCH = b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
# What servers may not answer.
MALFORMED = {
    "/cl-te": OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/two-cl": OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "/cl-list": OK + b"Content-Length: 5, 5\r\n\r\nhello",
    "/te-list": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "/te-1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "/space": OK + b"Content-Length : 5\r\n\r\nhello",
    "/fold": OK + b"A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    "/lf": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "/nul": OK + b"A: \0\r\nContent-Length: 0\r\n\r\n",
    "/0.9": b"<html>\r\n\r\n",
    "/2": b"HTTP/2 200 OK\r\n\r\n",
    "/status": b"HTTP/1.1 099 OK\r\n\r\n",
    "/101": SWITCH,
    "/204": b"HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\nhello",
    "/flood": b"HTTP/1.1 103 E\r\n\r\n" * 1000 + OK + b"Content-Length: 0\r\n\r\n",
    "/nothing": b"",
    "/cut-head": b"HTTP/1.1 200 OK\r\nContent-",
}
# Their heads are whole, their bodies are not.
CUT = {
    "/cut-length": OK + b"Content-Length: 50\r\n\r\nhello",
    "/cut-chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "/cut-chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n50\r\nhello",
    "/bad-chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello!!\r\n0\r\n\r\n",
    "/events": OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
               b"9\r\ndata: a\n\n\r\n",
}
WHOLE = {
    "/early": b"HTTP/1.1 103 E\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
    "/close": OK + b"\r\nhello",
    "/chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX: y\r\n\r\n",
    "/moved": b"HTTP/1.1 302 F\r\nLocation: http://other.example.org/\r\nContent-Length: 5\r\n\r\nhello",
    "/alt": OK + b"Alt-Svc: h3=\":443\"\r\nContent-Length: 5\r\n\r\nhello",
}


# Whole as HTTP has it, and under TLS it may be the beginning.
TORN_ANSWER = OK + b"\r\nhello"


class ResponsesTest(AttackWorld):
    policy = """
version: 1
network_policies:
  rest:
    endpoints:
      - {host: api.example.com, ports: [80, 443], protocol: rest, enforcement: enforce, access: read-only}
      - {host: other.example.org, port: 443, protocol: rest, enforcement: enforce, access: read-only}
      - {host: 93.184.216.35, port: 8443, protocol: rest, enforcement: enforce, access: read-only}
    binaries: [{path: "/usr/bin/python3*"}]
"""

    @classmethod
    def serve(cls):
        answers = {path: sent.hex() for path, sent in {**MALFORMED, **CUT, **WHOLE, TORN: TORN_ANSWER}.items()}
        start(cls.network, "answers", PUBLIC, 80, answers)
        start(cls.network, "tls-answers", PUBLIC, 443, answers)
        cls.other = cls.network.serve(OTHER, 80)
        own = [cls.network.directory + "/own.pem", cls.network.directory + "/own-key.pem"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-subj", "/CN=other.example.org", "-addext",
                        "subjectAltName=DNS:other.example.org", "-out", own[0], "-keyout", own[1]],
                       check=True, capture_output=True)
        cls.strangers = [start(cls.network, "tls-answers", OTHER, 443, answers, own),
                         start(cls.network, "tls-answers", OTHER, 8443, answers)]

    def answers(self, paths):
        for way, port, tls in HTTP_WAYS:
            target = b"http://" + API.encode() if way == ABSOLUTE else b""
            for path in paths:
                yield path, way, self.client.exchange(
                    way, API, port, message(b"GET " + target + path.encode(), b"Connection: close\r\n"),
                    tls=tls)

    def test_what_is_no_response_is_no_response_of_ours(self):
        for _, way, answer in self.answers(MALFORMED):
            self.assertEqual((answer.status, answer.end), (502, "ended"), answer)
            self.assertEqual(answer.json()["error"], "upstream_unreachable", answer)
            self.expected += 1 if way == ABSOLUTE else 2

    def test_a_body_that_was_cut_never_looks_whole(self):
        for _, _, answer in self.answers(CUT):
            self.assertEqual((answer.status, answer.end), (200, "reset"), answer)
            self.assertNotIn(b"0\r\n\r\n", answer.got)

    def test_a_connection_without_the_end_of_tls_was_cut(self):
        for way, port, tls in HTTP_WAYS:
            if tls:
                answer = self.client.exchange(way, API, port, message(b"GET /torn"), tls=True)
                self.assertEqual((answer.status, answer.end), (200, "reset"), (way, answer))

    def test_nor_for_a_client_to_which_the_end_of_the_connection_is_its_end(self):
        for way, port, tls in HTTP_WAYS:
            target = b"http://" + API.encode() if way == ABSOLUTE else b""
            answer = self.client.exchange(way, API, port, b"GET " + target + b"/cut-chunks HTTP/1.0\r\n"
                                          b"Host: api.example.com\r\n\r\n", tls=tls)
            self.assertEqual((answer.status, answer.end), (200, "reset"), (way, port, answer))

    def test_a_server_is_who_it_says(self):
        """Its certificate is one that the host trusts, and for the host that was asked for."""
        for host, port in (("other.example.org", 443), ("93.184.216.35", 8443)):
            answer = self.client.exchange(CONNECT, host, port, message(b"GET /close", host=b"%s:%d" % (
                host.encode(), port)), tls=True)
            self.assertEqual((answer.status, answer.end), (502, "ended"), answer)
            self.assertIn("TLS with the server failed", answer.json()["reason"])
            self.expected += 2
        for server in self.strangers:
            self.assertEqual(server.all_received(), b"")

    def test_whole_responses(self):
        for path, _, answer in self.answers(WHOLE):
            self.assertEqual((answer.status, answer.end), (302 if path == "/moved" else 200, "ended"),
                             answer)
            self.assertIn(b"hello", answer.got)
            self.assertNotIn(b"Alt-Svc", answer.got)
            self.assertNotIn(b"X: y", answer.got)
        self.assertEqual(self.other.received(), [])


class LoadTest(AttackWorld):
    policy = REST

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)

    def test_connections_by_the_thousand_end_nothing(self):
        """More than a worker serves at a time, by programs of one cell."""
        script = ("import resource, socket\n"
                  "resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(7)[1],) * 2)\n"
                  "kept = []\n"
                  "try:\n"
                  "  while len(kept) < 5000:\n"
                  "    s = socket.socket(); s.settimeout(30); kept.append(s)\n"
                  "    s.connect(('127.0.0.1', 3128))\n"
                  "except OSError as e: pass\n"
                  "print(len(kept) > 900)\n"
                  "for s in kept: s.close()\n"
                  "import urllib.request\n"
                  "print(urllib.request.urlopen('http://api.example.com/v1/a').read())\n")
        done = self.run_in_cell("python3", "-c", script)
        self.assertEqual(done.out, "True\nb'hello /v1/a\\n'\n", done)


if __name__ == "__main__":
    world.main()
