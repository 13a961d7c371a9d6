"""HTTP/2 out of a cell: each stream is decided on its own, and a refusal ends that one alone. Through
the real processes, with clients and a server of another implementation's programs, and by hand.
"""

import hashlib
import json
import os
import subprocess

import host
import world
from egress_test import CURL, EgressWorld
from host import HANG_S
from network import OTHER, PUBLIC

PROGRAMS = ("[{path: /usr/bin/curl}, {path: /usr/bin/nghttp}, {path: /usr/bin/h2load}, "
            "{path: '/usr/bin/python3*'}]")
POLICY = """
version: 1
network_policies:
  rest:
    endpoints:
      - host: api.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        rules:
          - allow: {method: GET, path: "/v1/*"}
          - allow: {method: HEAD, path: "/v1/*"}
          - allow: {method: POST, path: "/v1/echo"}
          - allow: {method: POST, path: "/greet.Greeter/Hello"}
    binaries: PROGRAMS
  grpc:
    endpoints:
      - host: grpc.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        rules:
          - allow: {method: POST, path: "/greet.Greeter/Hello"}
          - allow: {method: POST, path: "/greet.Greeter/Echo"}
    binaries: PROGRAMS
  rpc:
    endpoints:
      - host: www.example.com
        port: 443
        protocol: json-rpc
        enforcement: enforce
        rules: [{allow: {method: list}}]
    binaries: PROGRAMS
  old:
    endpoints: [{host: other.example.org, port: 443, protocol: rest, access: read-only,
                 enforcement: enforce}]
    binaries: PROGRAMS
""".replace("PROGRAMS", PROGRAMS)
LARGE = 128 << 20


def client_source():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "h2_client.py"),
              encoding="utf-8") as file:
        return file.read()


class H2World(EgressWorld):
    """nghttpd stands for every server but other.example.org, which speaks HTTP/1.1 only."""

    policy = POLICY

    @classmethod
    def serve(cls):
        root = os.path.join(cls.network.directory, "root")
        for name, text in (("v1/a", b"hello a\n"), ("v1/first", b"hello first\n"),
                            ("v1/b", b"hello b\n"), ("secret", b"secret\n")):
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "wb") as file:
                file.write(text)
        with open(os.path.join(root, "v1/large"), "wb") as file:
            file.truncate(LARGE)
        cls.log = os.path.join(cls.network.directory, "nghttpd.log")
        with open(cls.log, "wb") as log:
            cls.server = subprocess.Popen(
                [*cls.network.internet.prefix(), "nghttpd", "-v", "--echo-upload", "-a", PUBLIC,
                 "--trailer", "grpc-status: 0", "-d", root, "443", cls.network.key,
                 cls.network.certificate], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.kill)
        host.eventually(lambda: "listen" in cls.server_log(), HANG_S, cls.server_log)

    @classmethod
    def server_log(cls):
        """Every frame that the server received and sent."""
        with open(cls.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def assertNotReceived(self, text):
        received = [line for line in self.server_log().splitlines() if text in line]
        self.assertEqual(received, [])

    def by_hand(self, script, **options):
        return self.run_in_cell("/usr/bin/python3", "-c", client_source() + "\n" + script, **options)


class StreamTest(H2World):
    def test_the_server_says_which_version_is_spoken(self):
        done = self.curl("https://api.example.com/v1/first", "-w", "%{http_version}\n")
        self.assertEqual(done.out, "hello first\n2\n", done)
        record = self.assertRecord(host="api.example.com", path="/v1/first", verdict="allowed",
                                   status=200)
        self.assertEqual(record["rule"], "network_policies.rest.endpoints[0]")

    def test_a_client_without_http2_is_served_as_before(self):
        done = self.curl("https://api.example.com/v1/b", "--http1.1", "-w", "%{http_version}\n")
        self.assertIn("1.1", done.out, done)

    def test_requests_of_one_connection_are_decided_one_by_one(self):
        expected = {"/v1/a": "200", "/secret": "403", "/v1/b": "200", "/v1/..%2fsecret": "400",
                    "/v1/a?again": "200"}
        done = self.run_in_cell("curl", "-sS", "--max-time", "60", "--parallel", "-w",
                                "%{http_code} %{http_version} %{url}\\n",
                                *("https://api.example.com" + path for path in expected))
        codes = {words[2].split(".com")[1]: words[0] for line in done.out.splitlines()
                 if len(words := line.split()) == 3 and words[1] == "2"}
        self.assertEqual(codes, expected, done)
        self.assertIn("hello a", done.out)
        self.assertNotReceived("/secret")
        self.assertRecord(path="/secret", verdict="denied", status=403, program=CURL)

    def test_a_refusal_is_json_and_ends_its_stream_alone(self):
        """The first one's body, which never comes, is not waited for."""
        done = self.by_hand("""
c = Client()
c.send(c.request(1, "/secret", ended=False) + c.request(3, "/v1/a") + c.request(5, "/secret"))
print(c.answer(1), c.answer(5), c.answer(3), sep="\\n")
""")
        first, second, third = done.out.splitlines()
        for line in (first, second):
            refusal = json.loads(line)
            self.assertEqual(refusal["error"], "policy_denied", done)
            self.assertIn("/secret", refusal["rule_missing"]["network_policies"])
        self.assertEqual(third, "hello a", done)
        self.assertNotReceived("/secret")

    def test_another_authority_is_421_and_nothing_is_coalesced(self):
        done = self.by_hand("""
c = Client()
c.send(c.request(1, "/v1/a", authority="www.example.com"))
print(c.answer(1))
c.send(c.request(3, "/v1/a", ("host", "www.example.com")))
print(c.answer(3))
c.send(c.request(5, "/v1/a"))
print(c.answer(5))
""")
        lines = done.out.splitlines()
        self.assertEqual(json.loads(lines[0])["error"], "request_authority_mismatch", done)
        self.assertEqual(lines[1:], ["reset 1", "hello a"], done)
        self.assertRecord(code="request_authority_mismatch", status=421)
        self.assertRecord(code="malformed_request", reason="Host is not :authority")

    def test_malformed_streams_are_reset_and_others_go_on(self):
        done = self.by_hand("""
c = Client()
for i, more in enumerate([("X-Upper", "1"), ("connection", "close"), ("upgrade", "h2c"),
                          ("transfer-encoding", "chunked"), (":path", "/v1/b"), ("x", "a\\r\\nb")]):
    c.send(c.request(2 * i + 1, "/v1/malformed", more))
    print(c.answer(2 * i + 1))
c.send(c.request(101, "/v1/echo", ("content-length", "3"), method="POST", ended=False)
       + frame(DATA, END_STREAM, 101, b"four"))
print(c.answer(101))
c.send(c.request(103, "/v1/a"))
print(c.answer(103))
""")
        self.assertEqual(done.out.splitlines(), ["reset 1"] * 7 + ["hello a"], done)
        self.assertNotReceived("/v1/malformed")
        self.assertRecord(code="malformed_request", path="/v1/echo")

    def test_a_placeholder_goes_nowhere_in_a_cell_without_credentials(self):
        for path, *options in (("/v1/a?of=nothing", "-H", "x-t: openshell:resolve:env:KEY"),
                               ("/v1/provider-OPENSHELL-RESOLVE-ENV-OF_NOTHING",)):
            done = self.curl("https://api.example.com" + path, *options, "-w", "\n%{http_version}")
            self.assertEqual(json.loads(done.out.splitlines()[0])["error"], "credential_unknown", done)
            self.assertEqual(done.out.splitlines()[-1], "2", done)
        self.assertNotReceived("of=nothing")
        self.assertNotReceived("OF_NOTHING")

    def test_connect_is_refused(self):
        done = self.by_hand("""
c = Client()
c.send(frame(HEADERS, END_HEADERS, 1, block([(":method", "CONNECT"),
                                             (":authority", "db.corp.example:6379")])))
print(c.answer(1))
c.send(c.request(3, "/v1/a", (":protocol", "websocket"), method="CONNECT", ended=False))
print(c.answer(3))
""")
        lines = done.out.splitlines()
        self.assertEqual(json.loads(lines[0])["error"], "method_not_allowed", done)
        self.assertEqual(lines[1], "reset 1", done)

    def test_head_has_no_body(self):
        done = self.curl("https://api.example.com/v1/a", "--head")
        self.assertIn("HTTP/2 200", done.out, done)
        self.assertIn("content-length: 8", done.out)

    def test_a_server_without_http2_is_spoken_to_as_before(self):
        self.network.serve(OTHER, 443, "https")
        done = self.curl("https://other.example.org/old", "--http2", "-w", "%{http_version}")
        self.assertEqual(done.out, "hello /old\n1.1", done)

    def test_http2_without_tls_is_refused(self):
        done = self.by_hand("""
s = socket.create_connection(("127.0.0.1", 3128), 60)
s.sendall(b"CONNECT api.example.com:443 HTTP/1.1\\r\\nHost: api.example.com:443\\r\\n\\r\\n")
assert b" 200 " in s.recv(1000)
s.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + frame(SETTINGS, 0, 0))
try: print(s.recv(1000))
except OSError: print(b"")
""")
        self.assertEqual(done.out, "b''\n", done)
        self.assertRecord(code="not_tls", verdict="denied")


GRPC_SERVER = """
import sys
from concurrent import futures
import grpc

def hello(request, context):
    if request == b"missing":
        context.abort(grpc.StatusCode.NOT_FOUND, "no such greeting")
    return b"hello " + request

def echo(requests, context):
    for request in requests:
        yield request

class Handler(grpc.GenericRpcHandler):
    def service(self, call):
        print(call.method, flush=True)
        if call.method.endswith("Echo"):
            return grpc.stream_stream_rpc_method_handler(echo)
        return grpc.unary_unary_rpc_method_handler(hello)

server = grpc.server(futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers((Handler(),))
address, key, certificate = sys.argv[1:]
credentials = grpc.ssl_server_credentials([(open(key, "rb").read(), open(certificate, "rb").read())])
assert server.add_secure_port(address, credentials)
server.start()
print("ready", flush=True)
server.wait_for_termination()
"""

GRPC_CLIENT = """
import os, queue
import grpc
roots = open(os.environ["SSL_CERT_FILE"], "rb").read()
channel = grpc.secure_channel("grpc.example.com:443", grpc.ssl_channel_credentials(roots))

def call(method, request):
    try:
        print(channel.unary_unary("/greet.Greeter/" + method)(request, timeout=60).decode())
    except grpc.RpcError as error:
        print(error.code().name, error.details())

call("Hello", b"you")
call("Hello", b"missing")
call("Destroy", b"you")
call("Hello", b"again")

asked = queue.Queue()
answers = channel.stream_stream("/greet.Greeter/Echo")(iter(asked.get, None), timeout=60)
for i in range(50):  # each answer before the next question
    asked.put(b"%d" % i)
    assert next(answers) == b"%d" % i
asked.put(None)
print(list(answers), answers.code().name)

cut = channel.stream_stream("/greet.Greeter/Echo")(iter(queue.Queue().get, None), timeout=60)
cut.cancel()
print(cut.code().name)
call("Hello", b"after")
"""


class GrpcTest(H2World):
    def test_calls_of_grpc_are_decided_by_their_method(self):
        server = subprocess.Popen(
            [*self.network.internet.prefix(), "/usr/bin/python3", "-c", GRPC_SERVER, OTHER + ":443",
             self.network.key, self.network.certificate], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual(server.stdout.readline(), "ready\n")
        done = self.run_in_cell("/usr/bin/python3", "-c", GRPC_CLIENT)
        lines = done.out.splitlines()
        self.assertEqual(lines[:2], ["hello you", "NOT_FOUND no such greeting"], done)
        self.assertIn("PERMISSION_DENIED", lines[2], done)
        self.assertEqual(lines[3:], ["hello again", "[] OK", "CANCELLED", "hello after"], done)
        self.assertRecord(path="/greet.Greeter/Destroy", host="grpc.example.com",
                          verdict="denied", status=403)
        server.kill()
        self.assertNotIn("Destroy", server.stdout.read())

    def test_a_call_as_it_is_on_the_wire(self):
        """A message with its length, and a status behind it."""
        script = ("printf '\\0\\0\\0\\0\\5hello' > /tmp/m; nghttp -v -H ':method: POST' -H "
                  "'content-type: application/grpc' -H 'te: trailers' -d /tmp/m "
                  "https://api.example.com/greet.Greeter/{}")
        done = self.run_in_cell("sh", "-c", script.format("Hello"))
        self.assertIn(":status: 200", done.out, done)
        self.assertIn("hello", done.out, done)
        self.assertIn("grpc-status: 0", done.out, done)
        self.assertIn("te: trailers", self.server_log())
        done = self.run_in_cell("sh", "-c", script.format("Destroy"))
        self.assertIn(":status: 403", done.out, done)
        self.assertNotIn("grpc-status", done.out)
        self.assertNotReceived("Destroy")
        self.assertRecord(path="/greet.Greeter/Hello", verdict="allowed", way="tcp")
        self.assertRecord(path="/greet.Greeter/Destroy", verdict="denied", way="tcp")

    def test_a_body_that_rules_read_is_judged_whole(self):
        for method, code in (("list", "200"), ("drop", "403")):
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method})
            done = self.curl("https://www.example.com/rpc", "-H", "content-type: application/json",
                             "-d", body, "-w", "\n%{http_code} %{http_version}")
            self.assertEqual(done.out.splitlines()[-1], f"{code} 2", done)
            if code == "200":
                self.assertEqual(done.out.splitlines()[0], body)
        self.assertRecord(host="www.example.com", verdict="denied", method="POST")


class LoadTest(H2World):
    def test_many_requests_on_few_connections(self):
        done = self.run_in_cell("h2load", "-n", "300", "-c", "3", "-m", "20",
                                "https://api.example.com/v1/a")
        self.assertIn("300 succeeded, 0 failed, 0 errored", done.out, done)
        self.assertIn("status codes: 300 2xx", done.out, done)

    def test_a_large_body_either_way(self):
        done = self.run_in_cell("sh", "-c", "curl -sS https://api.example.com/v1/large | sha256sum")
        self.assertEqual(done.out.split()[0], hashlib.sha256(bytes(LARGE)).hexdigest(), done)
        done = self.run_in_cell(
            "sh", "-c", "head -c 20000000 /dev/urandom > /tmp/f; curl -sS -H content-type:x/y --data-binary @/tmp/f "
            "-o /tmp/g https://api.example.com/v1/echo -w '%{http_version} '; cmp /tmp/f /tmp/g "
            "&& echo same")
        self.assertEqual(done.out, "2 same\n", done)

    def test_a_refusal_arrives_while_the_body_is_sent(self):
        done = self.run_in_cell(
            "sh", "-c", "head -c 700000 /dev/zero | curl -sS -H content-type:x/y --data-binary @- "
            "https://api.example.com/secret")
        self.assertEqual(json.loads(done.out)["error"], "policy_denied", done)

    def test_a_client_that_does_not_read_holds_its_server_back(self):
        """It gives all the credit there is, and reads nothing, while another one reads all."""
        live = self.world.start("exec", "--policy", self.policy_file, "--", "/usr/bin/python3", "-c",
                                client_source() + """
import subprocess
c = Client(settings=b"\\0\\4" + (2**31 - 1).to_bytes(4, "big"))
c.send(frame(WINDOW_UPDATE, 0, 0, (2**31 - 65536).to_bytes(4, "big")) + c.request(1, "/v1/large"))
for _ in range(2):
    subprocess.run(["curl", "-sS", "https://api.example.com/v1/large", "-o", "/dev/null", "-w",
                    "%{size_download} "], check=True)
print("read", flush=True)
input()
""", stdin=subprocess.PIPE)
        live.until("read\n")
        self.assertEqual(live.out, f"{LARGE} {LARGE} read\n")
        self.assertLess(host.peak_bytes(self.world.daemon("odyssey-egress-worker")), LARGE // 2)
        live.process.stdin.close()
        live.ended()

    def test_a_flood_of_resets_ends_its_connection_only(self):
        done = self.by_hand("""
other = Client()
c = Client()
try:
    for i in range(2000):
        stream = 2 * i + 1
        c.send(c.request(stream, "/v1/a") + frame(RST_STREAM, 0, stream, (8).to_bytes(4, "big")))
except OSError:
    pass
print(c.answer(-1))
other.send(other.request(1, "/v1/b"))
print(other.answer(1))
""")
        self.assertEqual(done.out, "goaway 11\nhello b\n", done)

    def test_a_flood_has_a_record(self):
        done = self.by_hand("""
c = Client()
try:
    for _ in range(100): c.send(frame(PING, 0, 0, b"12345678") * 100)
except OSError:
    pass
print(c.answer(-1))
""")
        self.assertEqual(done.out, "goaway 11\n", done)
        self.assertRecord(code="malformed_request", verdict="denied",
                          reason="a flood of frames that carry nothing")

    def test_a_body_that_was_cut_has_no_end(self):
        done = self.by_hand("""
c = Client()
c.send(c.request(1, "/v1/echo", method="POST", ended=False) + frame(DATA, 0, 1, b"part"))
c.send(frame(RST_STREAM, 0, 1, (8).to_bytes(4, "big")) + c.request(3, "/v1/a"))
print(c.answer(3))
""")
        self.assertEqual(done.out, "hello a\n", done)
        host.eventually(lambda: "recv RST_STREAM" in self.server_log(), HANG_S, self.server_log)


class PolicyTest(H2World):
    def test_the_next_stream_is_decided_by_the_new_policy(self):
        live = self.world.start("exec", "--cell", "live", "--policy", self.policy_file, "--",
                                "/usr/bin/python3", "-c", client_source() + """
c = Client()
for stream, _ in enumerate(iter(input, "end")):
    c.send(c.request(2 * stream + 1, "/v1/a"))
    print(c.answer(2 * stream + 1), flush=True)
""", stdin=subprocess.PIPE)
        live.process.stdin.write(b"go\n")
        live.process.stdin.flush()
        live.until("hello a\n")
        narrower = self.world.make("narrower.yaml", POLICY.replace("/v1/*", "/v2/*"))
        done = self.world.ctl("exec", "--cell", "live", "--policy", narrower, "--", "true")
        self.assertEqual(done.code, 0, done)
        live.process.stdin.write(b"go\nend\n")
        live.process.stdin.flush()
        live.until("policy_denied")
        live.process.stdin.close()
        self.assertEqual(live.ended().code, 0)


if __name__ == "__main__":
    world.main()
