"""Attacks on what leaves a cell, by every way out: what is refused reaches no server, and each
refusal is one record with its reason and, where there is one, the smallest grant.
"""

import host
import request_attacks
import world
from cell_client import ABSOLUTE, HTTP_WAYS, CellClient
from egress_test import EgressWorld
from host import HANG_S
from network import PUBLIC


class AttackWorld(EgressWorld):
    """One client in a cell of the test makes all connections; the log has the cell's records, or
    counts them."""

    def setUp(self):
        self.earlier = {record.get("cell_id") for record in self.log()}
        self.client = CellClient(self.world, self.policy_file)
        self.addCleanup(self.client.close)
        self.expected = 0

    def tearDown(self):
        """A test that counts what it has refused has as many records, and no more."""
        if self.expected:
            host.eventually(lambda: self.count_records() >= self.expected, HANG_S,
                            lambda: f"{self.expected} in {self.count_records()}")
            self.assertEqual(self.count_records(), self.expected)

    def log(self):
        return self.world.ctl("-o", "json", "audit", "tail", "-n", "10000").lines()

    def count_records(self):
        """Of decisions on this test's cells, written or counted."""
        log = self.log()
        written = sum(record["type"] == "egress" and record["cell_id"] not in self.earlier
                      for record in log)
        return written + sum(record["count"] for record in log if record["type"] == "suppressed" and
                             record["of"] == "egress" and record["about"] not in self.earlier)


def placed(way, attack):
    target = b"http://" + attack.host.encode() if way == ABSOLUTE else b""
    return attack.sent.replace(b"~", target, 1)


def wrong_with(answer, attack):
    """Why it is not the refusal of the attack; "" if it is."""
    if (answer.status, answer.end) != (attack.status, "ended"):
        return f"{answer} is no {attack.status}"
    if attack.sent.startswith(b"HEAD"):
        return ""
    body = answer.json()
    if body["error"] != attack.code:
        return f"{body} has no {attack.code}"
    if not body.get("reason", body.get("detail")):
        return f"{body} has no reason"
    if ("rule_missing" in body) != attack.grant:
        return f"{body}: rule_missing"
    return ""


class RequestTest(AttackWorld):
    policy = request_attacks.POLICY

    @classmethod
    def serve(cls):
        cls.servers = [cls.network.serve(PUBLIC, 80), cls.network.serve(PUBLIC, 443, "https")]

    def test_no_refused_request_reaches_a_server(self):
        before = [server.received() for server in self.servers]
        wrong = []
        for way, port, tls in HTTP_WAYS:
            for attack in request_attacks.ALL:
                answer = self.client.exchange(way, attack.host, port, placed(way, attack), tls=tls)
                if why := wrong_with(answer, attack):
                    wrong.append(f"{way}:{port} {attack.name}: {why}")
                self.expected += 1 if way == ABSOLUTE else 2  # of the connection, of the request
        self.assertEqual(wrong, [], "\n".join(map(str, wrong)))
        self.assertEqual([server.received() for server in self.servers], before)


class EarlyDataTest(EgressWorld):
    """0-RTT of TLS 1.3 can be replayed, so no session of a cell's TLS may carry it."""

    policy = """
version: 1
network_policies:
  rest:
    endpoints: [{host: api.example.com, port: 443, protocol: rest, access: full}]
    binaries: [{path: /usr/bin/openssl}]
"""
    request = r"printf 'GET /v1/a HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n'"
    connect = ("openssl s_client -proxy 127.0.0.1:3128 -connect api.example.com:443 "
               "-servername api.example.com -tls1_3")

    @classmethod
    def serve(cls):
        cls.server = cls.network.serve(PUBLIC, 443, "https")

    def test_a_session_allows_none(self):
        done = self.run_in_cell("sh", "-c", f"""
            {self.request} | {self.connect} -ign_eof -sess_out /tmp/session | grep '^hello'
            openssl sess_id -in /tmp/session -noout -text | grep 'Max Early Data'
            {self.request} > /tmp/early
            {self.connect} -sess_in /tmp/session -early_data /tmp/early < /dev/null 2>&1 |
              grep 'Early data'""")
        self.assertEqual([line.strip() for line in done.out.splitlines()],
                         ["hello /v1/a", "Max Early Data: 0", "Early data was not sent"], done)
        self.assertEqual(self.server.all_received().count(b"GET "), 1)


if __name__ == "__main__":
    world.main()
