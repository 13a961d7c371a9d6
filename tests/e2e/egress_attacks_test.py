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
    """One client in one cell makes all connections; the log has its records, or counts them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = CellClient(cls.world, cls.policy_file)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.before, self.expected = self.count_records(), 0

    def tearDown(self):
        """A test that counts what it has refused has as many records, and no more."""
        if self.expected:
            wanted = self.before + self.expected
            host.eventually(lambda: self.count_records() >= wanted, HANG_S,
                            lambda: f"{wanted} in {self.count_records()}")
            self.assertEqual(self.count_records(), wanted)

    def count_records(self):
        """Of decisions, written or counted."""
        log = self.world.ctl("-o", "json", "audit", "tail", "-n", "10000").lines()
        written = sum(record["type"] == "egress" for record in log)
        return written + sum(record["count"] for record in log
                             if record["type"] == "suppressed" and record["of"] == "egress")


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


if __name__ == "__main__":
    world.main()
