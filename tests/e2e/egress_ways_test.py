"""What is refused before there is a request: targets of the proxy, hosts, addresses, names, and what
is no TLS; by each way out that has them.
"""

import world
from cell_client import ABSOLUTE, CONNECT, SOCKS, TCP
from egress_attacks_test import AttackWorld
from network import OTHER, PRIVATE, PUBLIC, RESOLVER
from upstreams import start

API = b"api.example.com"


def request(target, host=API, method=b"GET", lines=b""):
    return method + b" " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + lines + b"\r\n"


class ProxyTargetTest(AttackWorld):
    """The server of every refused request is one that the policy allows."""

    policy = """
version: 1
network_policies:
  api:
    endpoints:
      - {host: api.example.com, ports: [80, 443]}
      - {host: www.example.com, ports: [80, 443], protocol: rest, enforcement: enforce, access: full}
    binaries: [{path: "/usr/bin/python3*"}]
"""

    @classmethod
    def serve(cls):
        cls.servers = [cls.network.serve(PUBLIC, 80), cls.network.serve(PUBLIC, 443, "https"),
                       cls.network.serve(OTHER, 80)]

    def assertNothingArrived(self):
        for server in self.servers:
            self.assertEqual(server.all_received(), b"")

    def refuse(self, sent, status=400, code="malformed_request"):
        answer = self.client.exchange("raw", "", 0, sent)
        self.assertEqual((answer.status, answer.end), (status, "ended"), (sent, answer))
        self.assertEqual(answer.json()["error"], code, sent)
        self.expected += 1

    def test_a_target_has_one_reading(self):
        for target in (b"/", b"api.example.com:80", b"//api.example.com/", b"https://api.example.com/",
                       b"ftp://api.example.com/", b"http:/api.example.com/", b"http:///", b"http://",
                       b"http://x@api.example.com/", b"http://other.example.org@api.example.com/",
                       b"http://api.example.com#@other.example.org/",
                       b"http://api.example.com\\@other.example.org/",
                       b"http://api.example.com:080/", b"http://api.example.com:+80/",
                       b"http://api.example.com:/", b"http://api.example.com:1:2/",
                       b"http://api.example.com:65616/", b"http://api.example.com:0/",
                       b"http://*.example.com/", b"http://api.example.com%00.other.example.org/",
                       b"http://api..example.com/", b"http://.api.example.com/",
                       b"http://api.example.com../", b"http://\xc3\xa4pi.example.com/"):
            self.refuse(request(target))
        self.assertNothingArrived()

    def test_connect_names_one_host_and_port(self):
        for target in (b"/", b"*", b"api.example.com", b"http://api.example.com:443",
                       b"api.example.com:443/", b"api.example.com:0443", b"api.example.com:+443",
                       b"api.example.com:", b"api.example.com:1:2", b"api.example.com:65979",
                       b":443", b"x@api.example.com:443", b"evil%00.example.com:443"):
            self.refuse(request(target, method=b"CONNECT"))
        for host in (b"other.example.org:443", b"api.example.com:80", b"www.example.com"):
            self.refuse(request(b"api.example.com:443", host, b"CONNECT"))
        self.refuse(request(b"api.example.com:443", method=b"CONNECT", lines=b"Content-Length: 5\r\n"))
        self.refuse(request(b"api.example.com:443", method=b"connect"))
        self.assertNothingArrived()

    def test_host_is_the_targets(self):
        for host in (b"other.example.org", b"www.example.com", b"api.example.com:8080"):
            self.refuse(request(b"http://api.example.com/", host))
        self.assertNothingArrived()

    def test_a_request_within_a_connection_is_for_its_host(self):
        for way, port, tls in ((CONNECT, 443, True), (SOCKS, 80, False), (TCP, 443, True)):
            for host in (b"api.example.com", b"other.example.org", b"www.example.com:8080",
                         b"www.example.com.example.org"):
                answer = self.client.exchange(way, "www.example.com", port, request(b"/", host), tls=tls)
                self.assertEqual((answer.status, answer.end), (421, "ended"), (way, host, answer))
                self.assertEqual(answer.json()["error"], "request_authority_mismatch")
                self.expected += 2
            for sent in (request(b"http://www.example.com/", b"www.example.com"),
                         request(b"www.example.com:443", b"www.example.com", b"CONNECT")):
                answer = self.client.exchange(way, "www.example.com", port, sent, tls=tls)
                self.assertEqual((answer.status, answer.end), (400, "ended"), (way, sent, answer))
                self.expected += 2
        self.assertNothingArrived()


HOSTS = """
version: 1
network_policies:
  named:
    endpoints:
      - {host: api.example.com, ports: [80, 8080]}
      - {host: 11.0.0.1, ports: [80]}
      - {host: "*.example.net", ports: [80]}
      - {host: "**.deep.example.org", ports: [80]}
      - {host: named.example.org, ports: [80]}
    binaries: [{path: "/usr/bin/python3*"}]
"""

# What the name server answers; the second list from the second query on.
NAMES = {
    "open.example.net": [[PUBLIC]],
    "a.b.deep.example.org": [[PUBLIC]],
    "loop.example.net": [["127.0.0.1"]],
    "metadata.example.net": [["169.254.169.254"]],
    "cloud.example.net": [["168.63.129.16"]],
    "this.example.net": [["0.0.0.0"]],
    "own.example.net": [["11.0.0.1"]],
    "private.example.net": [[PRIVATE]],
    "carrier.example.net": [["100.64.0.1"]],
    "mixed.example.net": [[PUBLIC, PRIVATE]],
    "first.example.net": [["127.0.0.1", PUBLIC]],
    "turns.example.net": [[PUBLIC], ["127.0.0.1"]],
    "named.example.org": [[PUBLIC, PRIVATE]],
}

# Numbers that resolvers take for addresses, and what is no name.
UNUSUAL = ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "127.0.0.1.", "1.2.3.256",
           "api.example.com:80", "a..example.com", ".example.com", "*.example.net", "[::1", "fe80::1%lo")

# No policy opens them.
NEVER = ("127.0.0.1", "0.0.0.0", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192",
         "224.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::7f00:1", "64:ff9b::7f00:1",
         "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "fe80::1", "fec0::1", "ff02::1", "fd00:ec2::254",
         "2001:db8::5efe:7f00:1")

# No rule names them, and no pattern reaches them.
UNNAMED = ("10.9.9.9", "192.168.1.1", "100.64.0.1", "fd00::1", "203.0.113.9", "93.184.216.35",
           "other.example.org", "www.example.com", "example.net", "a.b.example.net", "deep.example.org",
           "api.example.com.example.org", "xapi.example.com")


class DestinationTest(AttackWorld):
    policy = HOSTS

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.private = cls.network.serve(PRIVATE, 80)
        cls.other = cls.network.serve(OTHER, 80)
        cls.names = start(cls.network, "names", RESOLVER, 53, NAMES)

    def ask(self, way, host, port=80, path=b"/"):
        spelled = f"[{host}]" if ":" in host and way != SOCKS else host
        if way == TCP:
            spelled = host
        name = spelled.encode() + (b"" if port == 80 else b":%d" % port)
        target = b"http://" + name if way == ABSOLUTE else b""
        return self.client.exchange(way, spelled, port, request(target + path, name), until=b"\n")

    def assertRefused(self, way, host, code, port=80):
        answer = self.ask(way, host, port)
        self.expected += 1
        if way == SOCKS:
            self.assertEqual((answer.got, answer.end), (b"socks 2", "refused"), (host, answer))
        elif way == TCP:
            self.assertEqual(answer.end, "reset", (host, answer))
        else:
            status = 400 if code == "malformed_request" else 403
            self.assertEqual(answer.status, status, (way, host, answer))
            self.assertEqual(answer.json()["error"], code, (way, host, answer))

    def tearDown(self):
        for server in (self.private, self.other):
            self.assertEqual(server.received(), [])

    def test_hosts_are_reached_in_their_one_spelling(self):
        for way in (ABSOLUTE, CONNECT, SOCKS, TCP):
            for host in ("api.example.com", "API.Example.COM", "api.example.com.", "open.example.net",
                         "a.b.deep.example.org"):
                answer = self.ask(way, host)
                self.assertEqual(answer.status, 200, (way, host, answer))

    def test_unusual_numbers_are_no_hosts(self):
        for host in UNUSUAL:
            for way in (ABSOLUTE, CONNECT):
                with self.subTest(host=host, way=way):
                    answer = self.ask(way, host)
                    self.assertEqual(answer.status, 400, answer)
            if ":" not in host:
                with self.subTest(host=host, way=SOCKS):
                    answer = self.ask(SOCKS, host)
                    self.assertEqual(answer.got, b"socks 2", answer)

    def test_what_no_policy_opens(self):
        for host in NEVER:
            for way in (ABSOLUTE, CONNECT, SOCKS):
                with self.subTest(host=host, way=way):
                    self.assertRefused(way, host, "ssrf_denied")

    def test_what_no_rule_names(self):
        for host in UNNAMED:
            for way in (ABSOLUTE, CONNECT, SOCKS):
                with self.subTest(host=host, way=way):
                    self.assertRefused(way, host, "policy_denied")

    def test_where_names_lead(self):
        for host in ("loop.example.net", "metadata.example.net", "cloud.example.net",
                     "this.example.net", "own.example.net", "private.example.net",
                     "carrier.example.net", "mixed.example.net", "first.example.net",
                     "named.example.org", "11.0.0.1"):
            for way in (ABSOLUTE, CONNECT, SOCKS, TCP):
                with self.subTest(host=host, way=way):
                    self.assertRefused(way, host, "ssrf_denied")

    def test_a_name_that_changes_is_looked_up_and_decided_each_time(self):
        self.assertEqual(self.ask(CONNECT, "turns.example.net").status, 200)
        self.assertRefused(CONNECT, "turns.example.net", "ssrf_denied")

    def test_ports_of_control_planes(self):
        for port in (2379, 2380, 6443, 10250, 10255):
            for way in (ABSOLUTE, CONNECT, SOCKS):
                self.assertRefused(way, "api.example.com", "ssrf_denied", port)

    def test_no_name_that_is_refused_leaves_the_machine(self):
        for way in (ABSOLUTE, CONNECT, SOCKS):
            self.assertRefused(way, "secret.leak.example.org", "policy_denied")
        self.assertEqual(self.client.resolve("secret.leak.example.org")[3] & 15, 3)
        self.assertNotIn(b"leak", self.names.all_received())
        # Nor is one that is allowed looked up before something connects.
        self.assertEqual(self.client.resolve("early.example.net")[3] & 15, 0)
        self.assertNotIn(b"early", self.names.all_received())

    def test_names_have_no_other_records(self):
        for kind in (65, 64, 15, 16, 255, 33):  # HTTPS, SVCB, MX, TXT, ANY, SRV
            reply = self.client.resolve("api.example.com", kind)
            self.assertEqual((reply[3] & 15, reply[6:8]), (0, b"\0\0"), (kind, reply))
        self.assertEqual(self.client.resolve("api\0.example.com")[3] & 15, 5)

    def test_a_name_with_a_nul_reaches_no_pattern(self):
        answer = self.client.exchange(SOCKS, "evil\0.example.net", 80, b"")
        self.assertEqual(answer.got, b"socks 2", answer)
        self.expected += 1
        self.assertRecord(way="socks", code="malformed_request", verdict="denied", host="")

    def test_no_datagram_goes_out(self):
        for port in (80, 443):
            self.assertEqual(self.client.datagram("api.example.com", port).end, "refused")


class FirstBytesTest(AttackWorld):
    """What a tunnel's first bytes say of where it leads."""

    policy = f"""
version: 1
network_policies:
  ports:
    endpoints:
      - {{host: api.example.com, ports: [80, 443, 7000]}}
      - {{host: www.example.com, ports: [80, 443], protocol: rest, enforcement: enforce, access: full}}
      - {{host: a.b.example.com, port: 443, tls: skip}}
      - {{host: db.corp.example, port: 443, protocol: tcp}}
      - {{host: {PUBLIC}, port: 443}}
    binaries: [{{path: "/usr/bin/python3*"}}]
"""

    @classmethod
    def serve(cls):
        cls.tls = cls.network.serve(PUBLIC, 443, "echo")
        cls.echo = cls.network.serve(PUBLIC, 7000, "echo")
        cls.web = cls.network.serve(PUBLIC, 80)

    def assertRefusedFor(self, way, host, name):
        before = self.tls.all_received()
        answer = self.client.exchange(way, host, 443, b"x", tls=True, name=name)
        self.assertIn(answer.end, ("reset", "ended"), (way, host, name, answer))
        self.expected += 2  # of the connection, of the refusal
        self.assertEqual(self.tls.all_received(), before, (way, host, name))
        said = f"names {name}" if name else "names no host"
        self.assertRecord(way=way, host=host, code="sni_mismatch", verdict="denied",
                          reason=f"the client's TLS {said}, and {host} was asked for")

    def test_tls_names_the_host_that_was_asked_for(self):
        for way in (CONNECT, SOCKS, TCP):
            for host in ("api.example.com", "www.example.com"):
                self.assertRefusedFor(way, host, "other.example.org")

    def test_tls_names_a_host(self):
        for way in (CONNECT, SOCKS, TCP):
            for host in ("api.example.com", "www.example.com"):
                self.assertRefusedFor(way, host, "")

    def test_an_address_needs_no_name(self):
        self.client.exchange(CONNECT, PUBLIC, 443, b"x", tls=True, name="", until=b"x")
        self.assertIn(b"\x16\x03\x01", self.tls.all_received())

    def test_port_443_has_tls(self):
        for way in (CONNECT, SOCKS, TCP):
            for host in ("api.example.com", "www.example.com"):
                sent = self.tls.all_received()
                answer = self.client.exchange(way, host, 443, request(b"/", host.encode()))
                self.assertIn((answer.got, answer.end), ((b"", "reset"), (b"", "ended")), answer)
                self.assertRecord(way=way, host=host, code="not_tls", verdict="denied")
                self.expected += 2
                self.assertEqual(self.tls.all_received(), sent)

    def test_a_rule_leaves_tls_alone(self):
        for way in (CONNECT, SOCKS, TCP):
            for host in ("a.b.example.com", "db.corp.example"):
                answer = self.client.exchange(way, host, 443, b"ssh\n", until=b"ssh\n")
                self.assertEqual(answer.got, b"ssh\n", (way, host, answer))

    def test_other_ports_have_what_they_have(self):
        for way in (CONNECT, SOCKS, TCP):
            answer = self.client.exchange(way, "api.example.com", 7000, b"ssh\n", until=b"ssh\n")
            self.assertEqual(answer.got, b"ssh\n", (way, answer))

    def test_first_bytes_may_come_with_what_opens_the_connection(self):
        for way in (CONNECT, SOCKS):
            answer = self.client.exchange(way, "api.example.com", 7000, b"early\n", early=True,
                                          until=b"early\n")
            self.assertEqual(answer.got, b"early\n", (way, answer))

    def test_http_2_without_tls_is_not_let_through(self):
        before = self.web.all_received()
        for way in (CONNECT, SOCKS, TCP):
            answer = self.client.exchange(way, "www.example.com", 80,
                                          b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            self.assertIn(answer.end, ("reset", "ended"), answer)
            self.assertRecord(way=way, host="www.example.com", port=80, verdict="denied")
        self.assertEqual(self.web.all_received(), before)

    def test_socks_only_connects(self):
        for sent, code in ((b"\5\1\0\5\2\0\1\1\2\3\4\0\x50", 7), (b"\5\1\0\5\3\0\1\1\2\3\4\0\x50", 7),
                           (b"\5\1\0\5\1\0\2\1\2\3\4\0\x50", 8), (b"\5\1\0\4\1\0\1\1\2\3\4\0\x50", 1)):
            answer = self.client.exchange("raw", "", 0, sent)
            self.assertEqual(answer.got[:4], b"\5\0\5" + bytes([code]), (sent, answer))
            self.expected += 1

    def test_connect_in_http_1_0(self):
        answer = self.client.exchange("raw", "", 0, b"CONNECT api.example.com:7000 HTTP/1.0\r\n\r\nx",
                                      until=b"x")
        self.assertTrue(answer.got.startswith(b"HTTP/1.1 200 "), answer)
        self.assertTrue(answer.got.endswith(b"\r\n\r\nx"), answer)


if __name__ == "__main__":
    world.main()
