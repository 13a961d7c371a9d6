"""What leaves a cell: named hosts, ports and programs by every way in, and nothing else; through the
real processes, with servers that keep each byte they are sent.
"""

import json
import os
import signal
import subprocess
import unittest

import host
import world
from host import HANG_S
from network import OTHER, PRIVATE, PUBLIC, Network

CURL, PYTHON = "/usr/bin/curl", "/usr/bin/python3*"

POLICY = """
version: 1
network_policies:
  api:
    endpoints:
      - {host: api.example.com, ports: [80, 443, 7000]}
    binaries: [{path: /usr/bin/curl}, {path: "/usr/bin/python3*"}]
  wild:
    endpoints: [{host: "*.example.com", port: 8080}]
    binaries: [{path: /usr/bin/curl}]
  redis:
    endpoints: [{host: db.corp.example, port: 6379, protocol: tcp}]
    binaries: [{path: "/usr/bin/python3*"}]
  inside:
    endpoints: [{host: inside.example.com, port: 8081, allowed_ips: [10.0.0.0/8]}]
    binaries: [{path: /usr/bin/curl}]
"""


class EgressWorld(unittest.TestCase):
    """One network, one world on its host."""

    policy = POLICY
    up_options = ()

    @classmethod
    def setUpClass(cls):
        cls.network = Network()
        cls.addClassCleanup(cls.network.close)
        cls.world = world.World(cls.network.prefix)
        cls.addClassCleanup(cls.world.close)
        cls.world.up(*cls.up_options)
        cls.policy_file = cls.world.make("policy.yaml", cls.policy)
        cls.serve()

    @classmethod
    def serve(cls):
        pass

    def run_in_cell(self, *command, policy=None, **options):
        return self.world.ctl("exec", "--policy", policy or self.policy_file, "--", *command,
                              **options)

    def curl(self, url, *options, **more):
        return self.run_in_cell("curl", "-sS", "--max-time", "20", *options, url, **more)

    def records(self):
        """The decisions so far, as the audit log has them."""
        done = self.world.ctl("-o", "json", "audit", "tail", "-n", "10000")
        self.assertEqual(done.code, 0, done)
        return [record for record in done.lines() if record["type"] == "egress"]

    def assertRecord(self, count=1, **fields):
        """So many decisions have these fields."""
        def found():
            return [record for record in self.records()
                    if all(record.get(name) == value for name, value in fields.items())]
        host.eventually(found, HANG_S, lambda: f"{fields} in {self.records()}")
        self.assertEqual(len(found()), count, found())
        return found()[0]


class ConnectionTest(EgressWorld):
    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.tls = cls.network.serve(PUBLIC, 443, "https")
        cls.wild = cls.network.serve(PUBLIC, 8080)
        cls.other = cls.network.serve(OTHER, 80)
        cls.echo = cls.network.serve(PUBLIC, 7000, "echo")
        cls.redis = cls.network.serve(PUBLIC, 6379, "echo")
        cls.private = cls.network.serve(PRIVATE, 8081)

    def test_a_named_host_is_reached_over_tls_as_the_server_speaks_it(self):
        done = self.curl("https://api.example.com/tls")
        self.assertEqual((done.code, done.out), (0, "hello /tls\n"), done)
        record = self.assertRecord(way="connect", host="api.example.com", port=443,
                                   verdict="allowed")
        self.assertEqual(record["program"], CURL)
        self.assertEqual(record["rule"], "network_policies.api.endpoints[0]")
        self.assertEqual(record["address"], f"{PUBLIC}:443")

    def test_a_request_without_tls(self):
        done = self.curl("http://api.example.com/plain")
        self.assertEqual((done.code, done.out), (0, "hello /plain\n"), done)
        sent = self.web.all_received()
        self.assertIn(b"GET /plain HTTP/1.1\r\n", sent)
        self.assertIn(b"Host: api.example.com\r\n", sent)
        self.assertNotIn(b"Proxy-Connection", sent)

    def test_another_host_is_refused_with_the_smallest_grant(self):
        done = self.curl("http://other.example.org/x", "-i")
        self.assertIn("HTTP/1.1 403", done.out)
        body = json.loads(done.out.split("\n\n", 1)[1])
        self.assertEqual(body["error"], "policy_denied")
        self.assertEqual(body["binary"], CURL)
        self.assertIn("other.example.org", json.dumps(body["rule_missing"]))
        self.assertEqual(self.other.received(), [])
        record = self.assertRecord(host="other.example.org", path="/x", verdict="denied")
        self.assertIn("other.example.org", record["grant"])

    def test_another_port_is_refused(self):
        done = self.curl("https://api.example.com:8443/")
        self.assertEqual(done.code, 56, done)
        self.assertRecord(host="api.example.com", port=8443, verdict="denied")

    def test_another_program_is_refused(self):
        script = ("import urllib.request, urllib.error\n"
                  "try: urllib.request.urlopen('http://www.example.com:8080/')\n"
                  "except urllib.error.HTTPError as e: print(e.code, e.read().decode())\n")
        done = self.run_in_cell("python3", "-c", script)
        self.assertIn("403", done.out, done)
        self.assertIn("/usr/bin/python3", done.out)
        self.assertEqual(self.curl("http://www.example.com:8080/").out, "hello /\n")

    def test_argv_is_no_identity(self):
        done = self.run_in_cell(
            "bash", "-c", "exec -a /usr/bin/curl python3 -c \"import urllib.request as u\n"
            "try: u.urlopen('http://www.example.com:8080/argv')\nexcept Exception as e: print(e)\"")
        self.assertIn("403", done.out, done)
        self.assertNotIn(b"/argv", self.wild.all_received())

    def test_wildcards_are_one_label(self):
        self.assertEqual(self.curl("http://www.example.com:8080/one").out, "hello /one\n")
        done = self.curl("http://a.b.example.com:8080/two", "-o", "/dev/null", "-w", "%{http_code}")
        self.assertEqual(done.out, "403", done)

    def test_a_private_network_needs_its_range(self):
        self.assertEqual(self.curl("http://inside.example.com:8081/in").out, "hello /in\n")
        done = self.curl("http://inside.example.com:8080/", "-o", "/dev/null", "-w", "%{http_code}")
        self.assertEqual(done.out, "403", done)
        self.assertRecord(host="inside.example.com", port=8080, verdict="denied",
                          code="ssrf_denied")

    def test_the_machine_itself_is_never_reached(self):
        for url in ("http://127.0.0.1:3128/", "http://localhost:80/", "http://169.254.169.254/",
                    "http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/",
                    "http://11.0.0.1/"):
            done = self.curl(url, "--proxy", "http://127.0.0.1:3128", "--noproxy", "",
                             "-o", "/dev/null", "-w", "%{http_code}")
            self.assertIn(done.out, ("403", "400"), (url, done))

    def test_socks_with_names(self):
        done = self.curl("http://api.example.com/socks", "--proxy", "socks5h://127.0.0.1:3128")
        self.assertEqual(done.out, "hello /socks\n", done)
        done = self.curl("http://other.example.org/", "--proxy", "socks5h://127.0.0.1:3128")
        self.assertEqual(done.code, 97, done)

    def test_a_program_that_knows_no_proxy(self):
        script = ("import socket\ns = socket.create_connection(('db.corp.example', 6379), 20)\n"
                  "s.sendall(b'PING\\r\\n'); print(s.recv(100), s.getpeername()[0][:7])\n")
        done = self.run_in_cell("python3", "-c", script)
        self.assertEqual(done.out, "b'PING\\r\\n' 198.18.\n", done)
        self.assertIn(b"PING\r\n", self.redis.all_received())

    def test_nothing_else_is_routed(self):
        script = ("import socket, sys\n"
                  "for family, address in ((socket.AF_INET, ('203.0.113.9', 22)),"
                  " (socket.AF_INET, ('93.184.216.34', 81)), (socket.AF_INET6, ('2001:db8::1', 22))):\n"
                  "  s = socket.socket(family); s.settimeout(5)\n"
                  "  print(s.connect_ex(address))\n"
                  "try: socket.getaddrinfo('other.example.org', 80)\n"
                  "except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)\n")
        done = self.run_in_cell("python3", "-c", script)
        self.assertEqual(done.out, "111\n111\n111\nTrue\n", done)
        self.assertRecord(way="dns", host="other.example.org", verdict="denied", count=2)  # A, AAAA

    def test_fronting_is_refused(self):
        script = ("import socket, ssl\n"
                  "s = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "s.sendall(b'CONNECT api.example.com:443 HTTP/1.1\\r\\nHost: api.example.com:443"
                  "\\r\\n\\r\\n')\nassert b' 200 ' in s.recv(1000)\n"
                  "c = ssl.create_default_context(); c.check_hostname = False\n"
                  "try: c.wrap_socket(s, server_hostname='other.example.org')\n"
                  "except OSError as e: print('refused')\n")
        before = len(self.tls.received())
        done = self.run_in_cell("python3", "-c", script)
        self.assertEqual(done.out, "refused\n", done)
        self.assertRecord(code="sni_mismatch", verdict="denied")
        for sent in self.tls.received()[before:]:
            self.assertEqual(sent, b"")

    def test_bytes_that_are_no_tls_are_refused_on_its_port(self):
        script = ("import socket\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "s.sendall(b'CONNECT api.example.com:443 HTTP/1.1\\r\\nHost: api.example.com:443"
                  "\\r\\n\\r\\nSSH-2.0-x\\r\\n')\n"
                  "data = s.recv(1000)\ntry:\n  while data and len(data) < 5000: data = s.recv(1000)\n"
                  "except OSError: pass\nprint('closed')\n")
        self.assertEqual(self.run_in_cell("python3", "-c", script).out, "closed\n")
        self.assertRecord(code="not_tls", verdict="denied")

    def test_early_bytes_are_kept(self):
        script = ("import socket\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "s.sendall(b'CONNECT api.example.com:7000 HTTP/1.1\\r\\nHost: api.example.com:7000"
                  "\\r\\n\\r\\nearly')\n"
                  "data = b''\nwhile b'early' not in data: data += s.recv(1000)\nprint('echoed')\n")
        self.assertEqual(self.run_in_cell("python3", "-c", script).out, "echoed\n")

    def test_a_pipelined_request_is_decided_on_its_own(self):
        script = ("import socket\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "s.sendall(b'GET http://api.example.com/first HTTP/1.1\\r\\nHost: api.example.com"
                  "\\r\\n\\r\\nGET http://other.example.org/second HTTP/1.1\\r\\n"
                  "Host: other.example.org\\r\\n\\r\\n')\n"
                  "data = b''\nwhile chunk := s.recv(10000): data += chunk\n"
                  "print(data.count(b'HTTP/1.1 200'), data.count(b'HTTP/1.1 403'))\n")
        self.assertEqual(self.run_in_cell("python3", "-c", script).out, "1 1\n")
        self.assertNotIn(b"/second", self.web.all_received() + self.other.all_received())

    def test_a_body_that_is_none_is_refused(self):
        script = ("import socket\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "s.sendall(b'POST http://api.example.com/bad HTTP/1.1\\r\\nHost: api.example.com"
                  "\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nFFFFFFFFFFFFFFFFF\\r\\n')\n"
                  "print(s.recv(1000).split()[1].decode())\n")
        self.assertEqual(self.run_in_cell("python3", "-c", script).out, "400\n")
        self.assertRecord(path="/bad", verdict="denied", code="malformed_request")

    def test_the_environment_has_what_clients_need(self):
        done = self.run_in_cell("env")
        for name in ("HTTPS_PROXY=http://127.0.0.1:3128", "http_proxy=", "ALL_PROXY=socks5h://",
                     "NO_PROXY=", "NODE_EXTRA_CA_CERTS=", "SSL_CERT_FILE=", "GIT_SSL_CAINFO="):
            self.assertIn(name, done.out)


class InspectionTest(EgressWorld):
    policy = """
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
          - allow: {method: POST, path: "/v1/items"}
    binaries: [{path: /usr/bin/curl}]
  audited:
    endpoints: [{host: www.example.com, port: 443, protocol: rest, enforcement: audit,
                 access: read-only}]
    binaries: [{path: /usr/bin/curl}]
"""

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.tls = cls.network.serve(PUBLIC, 443, "https")

    def test_requests_under_tls_are_decided_one_by_one(self):
        for scheme in ("https", "http"):
            for method, path, status in (("GET", "/v1/a", "200"), ("GET", "/v1/a/b", "403"),
                                         ("GET", "/v2/a", "403"), ("DELETE", "/v1/a", "403"),
                                         ("POST", "/v1/items", "200"), ("HEAD", "/v1/a", "200")):
                data = ["-d", "body"] if method == "POST" else []
                head = ["--head"] if method == "HEAD" else ["-X", method]
                done = self.curl(f"{scheme}://api.example.com{path}", *head, *data, "-o", "/dev/null",
                                 "-w", "%{http_code}")
                self.assertEqual(done.out, status, (scheme, method, path, done))
        for sent in (self.web.all_received(), self.tls.all_received()):
            self.assertNotIn(b"/v2/", sent)
            self.assertNotIn(b"DELETE /v1", sent)

    def test_what_servers_read_in_two_ways_is_refused(self):
        for path in ("/v1/..%2fv2", "/v1/%2e%2e/v2", "//v1/a", "/v1/a;x", "/v1/%5ca"):
            done = self.curl(f"https://api.example.com{path}", "--path-as-is", "-o", "/dev/null", "-w",
                             "%{http_code}")
            self.assertEqual(done.out, "400", (path, done))

    def test_an_audited_request_goes_on_and_is_recorded(self):
        done = self.curl("https://www.example.com/audited", "-X", "DELETE")
        self.assertEqual(done.out, "hello /audited\n", done)
        self.assertRecord(host="www.example.com", verdict="audited", method="DELETE")

    def test_the_certificate_is_the_cells_own(self):
        done = self.curl("https://api.example.com/v1/a", "-v")
        self.assertIn("Odyssey cell", done.err)

    def test_many_requests_on_one_connection(self):
        urls = ["https://api.example.com/v1/a"] * 200
        done = self.run_in_cell("curl", "-sS", "--max-time", "60", *urls)
        self.assertEqual(done.out, "hello /v1/a\n" * 200, done.err)

    def test_alt_svc_leads_nowhere(self):
        done = self.curl("https://api.example.com/v1/a", "-i")
        self.assertNotIn("alt-svc", done.out.lower())


class LifeTest(EgressWorld):
    @classmethod
    def serve(cls):
        cls.echo = cls.network.serve(PUBLIC, 7000, "echo")
        cls.web = cls.network.serve(PUBLIC, 80)

    def test_killed_worker_and_broker_lose_connections_and_no_more(self):
        loop = ("while read path; do curl -s --max-time 60 http://$path"
                " || echo failed; done")
        cell = self.world.start("exec", "--policy", self.policy_file, "--", "sh", "-c", loop,
                                stdin=subprocess.PIPE)

        def ask(path, answer):
            cell.process.stdin.write(path.encode() + b"\n")
            cell.process.stdin.flush()
            cell.until(answer)

        ask("api.example.com/first", "hello /first\n")
        for program in ("odyssey-egress-worker", "odyssey-egress"):
            os.kill(self.world.daemon(program), signal.SIGKILL)
            ask("api.example.com/after-" + program, f"hello /after-{program}\n")
            ask("other.example.org/" + program, "no rule names the host")
        cell.process.stdin.close()
        self.assertNotIn("failed", cell.out)

    def test_a_changed_policy_is_in_force_at_once(self):
        """The same cell gets the new endpoints; connections that they refuse are reset."""
        script = ("import socket, sys\ns = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "s.sendall(b'CONNECT api.example.com:7000 HTTP/1.1\\r\\nHost: api.example.com:7000"
                  "\\r\\n\\r\\n')\nassert b' 200 ' in s.recv(1000)\nprint('open', flush=True)\n"
                  "try: print(s.recv(1) or 'ended')\nexcept OSError: print('reset', flush=True)\n")
        first = self.world.start("exec", "--cell", "live", "--policy", self.policy_file, "--",
                                 "python3", "-c", script)
        first.until("open\n")
        narrower = self.world.make("narrower.yaml", POLICY.replace("[80, 443, 7000]", "[80]"))
        done = self.world.ctl("exec", "--cell", "live", "--policy", narrower, "--", "curl", "-sS",
                              "http://api.example.com/still")
        self.assertEqual(done.out, "hello /still\n", done)
        first.until("reset\n")
        self.assertEqual(first.ended().code, 0)


if __name__ == "__main__":
    world.main()
