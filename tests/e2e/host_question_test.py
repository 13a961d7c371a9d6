#!/usr/bin/env python3
"""policy check --host: which endpoint of a policy names a host, and what is no host. Without daemons."""

import unittest

from world import World, main

POLICY = """version: 1
network_policies:
  api:
    endpoints:
    - {host: '*.example.com', port: 443, protocol: rest, access: read-only}
    binaries: [{path: /usr/bin/curl}]
"""
ENDPOINT = ":5: network_policies.api.endpoints[0] "

BAD = ["", "a b", "a.b:0", "a.b:65536", "a.b:abc", "a.b:", "[2001:db8::1", "[::1]:x", "a" * 300 + ".b",
       "a\x1b[31m.b", "a\n.b", "*.example.com", "https://a.b/"]


class HostQuestionTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.file = self.world.make("o.yaml", POLICY)

    def reason(self, host, code=3, verdict="deny"):
        done = self.world.ctl("-o", "json", "policy", "check", self.file, "--host", host)
        self.assertEqual((done.code, done.json()["verdict"]), (code, verdict), done)
        return done.json()["reason"]

    def test_the_endpoint_that_would_allow_it(self):
        for host in ("a.example.com", "A.Example.Com.:443"):
            self.assertIn(self.file + ENDPOINT + "allows it (*.example.com:443, rest, enforce, access read-only, "
                          "for /usr/bin/curl)", self.reason(host, 0, "allow"))
        self.assertIn(self.file + ENDPOINT + "names the host with other ports", self.reason("a.example.com:80"))
        for host in ("example.com:443", "a.b.example.com:443", "[2001:db8::1]:443"):
            self.assertIn("no endpoint names it", self.reason(host))
        self.assertIn("closed whatever a policy says", self.reason("169.254.169.254:80"))

    def test_explain_lists_endpoints_with_their_lines(self):
        done = self.world.ctl("policy", "explain", self.file)
        self.assertEqual(done.code, 0, done)
        self.assertIn("network_policies.api.endpoints[0] on line 5: *.example.com:443", done.out)

    def test_what_is_no_host(self):
        for host in BAD:
            done = self.world.ctl("policy", "check", self.file, "--host", host)
            self.assertEqual((done.code, done.out), (2, ""), (host, done))
            self.assertIn("--host", done.err)
            self.assertNotIn("\x1b", done.err)
            self.assertLessEqual(len(done.err.splitlines()), 2, done)


if __name__ == "__main__":
    main()
