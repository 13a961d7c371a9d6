#!/usr/bin/env python3
"""Cells that are made ahead of need: who gets them, when they end, and what shows of them."""

import concurrent.futures
import json
import os
import re
import subprocess

import host
from egress_test import EgressWorld
from network import PUBLIC
from world import HANG_S, World, WorldTest, main

ALICE, BOB = "65533", "65534"
# Fails where another command was before it: in any directory that a cell can write to.
ALONE = "for d in /workspace /tmp /cell/data/home /cell/cache /cell/tmp /dev/shm; do " \
        "ls -A $d | grep -v '^mount$' && exit 9; echo mine >$d/mine || exit 8; done; echo ok"


class PoolWorldTest(WorldTest):
    OPTIONS = ("--pool-cells", "4")

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up(*cls.OPTIONS)

    def exec(self, *words, owner=ALICE, memory="100m"):
        """`memory` is what tells the policies of two tests apart."""
        return self.world.ctl("exec", "--owner", owner, "--memory", memory, *words)

    def pool(self):
        """How many were made, claimed and unused; how many there are."""
        text = self.world.ctl("metrics", "--daemon", "supervisor").out
        found = dict(re.findall(r'^odyssey_supervisor_pool_cells_total\{event="(\w+)"\} (\d+)$', text, re.MULTILINE))
        found["ahead"] = re.search(r"^odyssey_supervisor_cells_ahead (\d+)$", text, re.MULTILINE)[1]
        return {event: int(count) for event, count in found.items()}

    def await_pool(self, **wanted):
        host.eventually(lambda: wanted.items() <= self.pool().items(), HANG_S, lambda: f"{wanted}: {self.pool()}")

    def make_ahead(self, **options):
        """Runs a command twice and waits until a cell of its policy is ready that no command has; their ids.

        Meanwhile the supervisor may make cells ahead for policies of other tests: they do not count.
        """
        for _ in range(2):
            self.assertEqual(self.exec("--", "true", **options).code, 0)
        policy = self.policy_of(self.records("prepare")[-1])
        return host.eventually(lambda: self.waiting(policy), HANG_S, "a cell that is made ahead")

    @staticmethod
    def policy_of(record):
        return record["owner_uid"], record["policy_digest"]

    def waiting(self, policy):
        made = [record["cell_id"] for record in self.records("ahead") if self.policy_of(record) == policy]
        gone = {record["cell_id"] for kind in ("prepare", "cell_end") for record in self.records(kind)}
        return [cell for cell in made if cell not in gone]

    def records(self, kind):
        tail = self.world.ctl("-o", "json", "audit", "tail", "-n", "10000")
        self.assertEqual(tail.code, 0, tail)
        return [record for record in tail.lines() if record["type"] == kind]

    def assertClaims(self, count, *words, **options):
        before = self.pool()["claimed"]
        done = self.exec(*words, **options)
        self.assertEqual((done.code, self.pool()["claimed"] - before), (0, count), done)
        return done


class ClaimTest(PoolWorldTest):

    def test_a_claimed_cell_runs_a_command_as_a_new_one_does(self):
        script = "id -u; pwd; echo $0 $A; " + ALONE
        cold = self.exec("--env", "A=first", "--", "sh", "-c", script, memory="101m")
        self.assertEqual(cold.out, "1000\n/workspace\nsh first\nok\n", cold)
        self.make_ahead(memory="101m")
        done = self.assertClaims(1, "--", "sh", "-c", "env; " + ALONE, memory="101m")
        self.assertTrue(done.out.endswith("ok\n"), done)
        self.assertNotIn("first", done.out)

    def test_a_loop_is_served(self):
        before = self.pool()["claimed"]
        for _ in range(12):
            self.assertEqual(self.exec("--", "sh", "-c", ALONE, memory="102m").code, 0)
        self.assertGreaterEqual(self.pool()["claimed"] - before, 8)

    def test_what_is_asked_for_once_is_not_made_ahead(self):
        for megabytes in range(110, 116):
            self.assertEqual(self.exec("--", "true", memory=f"{megabytes}m").code, 0)
        once = {self.policy_of(record) for record in self.records("prepare")[-6:]}
        self.assertEqual(len(self.make_ahead(memory="116m")), 1)
        self.assertEqual(len(once), 6)
        self.assertFalse(once & {self.policy_of(record) for record in self.records("ahead")})

    def test_two_owners_share_none(self):
        self.make_ahead(memory="103m")
        self.assertClaims(0, "--", "true", memory="103m", owner=BOB)
        self.assertClaims(1, "--", "true", memory="103m", owner=ALICE)
        owners = {record["cell_id"]: record["owner_uid"] for record in self.records("ahead")}
        for record in self.records("prepare"):
            if record.get("ahead"):
                self.assertEqual(record["owner_uid"], owners[record["cell_id"]])

    def test_another_policy_gets_none(self):
        self.make_ahead(memory="104m")
        self.assertClaims(0, "--pids", "77", "--", "true", memory="104m")
        self.assertClaims(0, "--cell", "lasting", "--", "true", memory="104m")
        self.assertClaims(1, "--", "true", memory="104m")

    def test_a_directory_in_the_place_of_another_is_seen(self):
        place = self.world.make_directory("shown")
        os.chown(place, int(ALICE), int(ALICE))
        for word in ("one", "two"):
            self.world.make("shown/word", word)
            for _ in range(2):
                self.assertEqual(self.exec("--read", place, "--", "cat", f"{place}/word").out, word)
            host.eventually(lambda: self.pool()["ahead"] > 0, HANG_S, "one that shows it")
            os.rename(place, f"{place}-{word}")
            os.mkdir(place)
            os.chown(place, int(ALICE), int(ALICE))
        self.world.make("shown/word", "three")
        self.assertEqual(self.exec("--read", place, "--", "cat", f"{place}/word").out, "three")

    def test_a_directory_that_is_written_gets_none(self):
        place = self.world.make_directory("written")
        os.chown(place, int(ALICE), int(ALICE))
        before = self.pool()
        for _ in range(3):
            self.assertEqual(self.exec("--write", place, "--", "touch", f"{place}/x").code, 0)
        self.assertEqual(self.pool()["claimed"], before["claimed"], "its protected names may be there by then")

    def test_what_it_costs_shows_and_nothing_else(self):
        waiting = self.make_ahead(memory="105m")[0]
        ahead = next(record for record in self.records("ahead") if record["cell_id"] == waiting)
        self.assertEqual(ahead["owner_uid"], int(ALICE))
        listed = json.dumps(self.world.json("cell", "list", "--all"))
        self.assertNotIn(ahead["cell_id"], listed)
        for verb, *words in (("show",), ("rm",), ("suspend",), ("attach", "--", "true"), ("get", "/tmp", "/nonexistent")):
            done = self.world.ctl("cell", verb, ahead["cell_id"], *words)
            self.assertIn("no such cell", done.err, done)
        self.assertClaims(1, "--", "true", memory="105m")
        claims = [record for record in self.records("prepare") if record["cell_id"] == ahead["cell_id"]]
        self.assertEqual([(record["created"], record["ahead"]) for record in claims], [(True, True)])

    def test_many_clients_each_have_a_cell_of_their_own(self):
        def run(number):
            owner = (ALICE, BOB)[number % 2]
            return self.exec("--env", f"N={number}", "--", "sh", "-c", f"{ALONE}; echo $N", owner=owner,
                             memory="106m")
        before = self.pool()["claimed"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for number, done in enumerate(pool.map(run, range(80))):
                self.assertEqual((done.code, done.out), (0, f"ok\n{number}\n"), done)
        self.assertGreater(self.pool()["claimed"], before)
        used = [record["cell_id"] for record in self.records("exec") if "echo $N" in record["argv"][-1]]
        self.assertEqual(len(set(used)), 80)
        owners = {record["cell_id"]: record["owner_uid"] for record in self.records("ahead")}
        for record in self.records("exec"):
            self.assertEqual(record["owner_uid"], owners.get(record["cell_id"], record["owner_uid"]), record)


class EndTest(PoolWorldTest):
    OPTIONS = ("--pool-cells", "2", "--pool-idle", "3s")

    def test_another_ceiling_ends_those_there_are(self):
        self.make_ahead()
        unused = self.pool()["unused"]
        self.world.make("state/policy.d/10.yaml", "version: odyssey.ceiling/v1\nlimits: {max: {pids: 200}}\n")
        self.assertClaims(0, "--", "true")
        host.eventually(lambda: self.pool()["unused"] > unused, HANG_S, self.pool)

    def test_idle_ones_end(self):
        self.make_ahead(memory="120m")
        self.await_pool(ahead=0)
        host.eventually(lambda: not self.world.cells(), HANG_S, self.world.cells)
        reasons = {record["cell_id"]: record["reason"] for record in self.records("cell_end")}
        self.assertIn("nobody asked for it in time", reasons.values())

    def test_they_end_with_the_supervisor(self):
        world = World()
        self.addCleanup(world.close)
        world.up("--pool-cells", "3", "--pool-idle", "10m")
        for _ in range(5):
            self.assertEqual(world.ctl("exec", "--", "true").code, 0)
        host.eventually(world.cells, HANG_S, "a cell that waits")
        self.assertEqual(world.down().code, 0)
        host.eventually(lambda: not world.left(), HANG_S, world.left)

    def test_they_end_with_rpc(self):
        world = World()
        self.addCleanup(world.close)
        world.up("--pool-cells", "3", "--pool-idle", "10m")
        for _ in range(5):
            self.assertEqual(world.ctl("exec", "--", "true").code, 0)
        before = host.eventually(world.cells, HANG_S, "a cell that waits")
        pids = {host.identity(pid) for members in before.values() for pid in members}
        os.kill(world.rpc, 9)
        host.eventually(lambda: not any(host.identity(pid[0]) == pid for pid in pids - {None}), HANG_S, "their end")


class MountTest(PoolWorldTest):
    """In a mount namespace of the daemons' own."""

    @classmethod
    def setUpClass(cls):
        cls.world = World(prefix=["unshare", "--mount", "--propagation", "private"])
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--pool-cells", "2", "--pool-idle", "10m")

    def on_host(self, *command):
        subprocess.run(["nsenter", "-m", "-t", str(self.world.keeper), *command], check=True, timeout=HANG_S)

    def await_end(self, unused, reason):
        host.eventually(lambda: self.pool()["unused"] > unused and self.pool()["ahead"] == 0, HANG_S, self.pool)
        self.assertIn(reason, [record["reason"] for record in self.records("cell_end")])

    def test_what_is_mounted_otherwise_meanwhile_is_no_claimants(self):
        place = self.world.make_directory("options")
        self.on_host("mount", "-t", "tmpfs", "plain", place)
        self.make_ahead()
        unused = self.pool()["unused"]
        self.on_host("mount", "-o", "remount,bind,noexec", place)
        self.await_end(unused, "the host's mounts have changed")
        self.make_ahead()
        unused = self.pool()["unused"]
        self.on_host("umount", place)
        self.await_end(unused, "the host's mounts have changed")


class EgressTest(EgressWorld):
    up_options = ("--pool-cells", "2")

    @classmethod
    def serve(cls):
        cls.network.serve(PUBLIC, 80)

    def test_a_claimed_cell_reaches_what_its_policy_names_and_nothing_else(self):
        for number in range(6):
            done = self.curl(f"http://api.example.com/{number}")
            self.assertEqual((done.code, done.out), (0, f"hello /{number}\n"), done)
        claims = {record["cell_id"] for record in self.claims()}
        self.assertGreater(len(claims), 0)
        reached = {record["cell_id"] for record in self.records() if record["verdict"] == "allowed"}
        self.assertTrue(claims <= reached, (claims, reached))
        refused = self.curl("http://other.example.org/x", "-i")
        self.assertIn("HTTP/1.1 403", refused.out)
        denied = {record["cell_id"] for record in self.records() if record["verdict"] == "denied"}
        self.assertTrue(denied <= {record["cell_id"] for record in self.claims()}, denied)

    def claims(self):
        done = self.world.ctl("-o", "json", "audit", "tail", "-n", "10000")
        return [record for record in done.lines() if record["type"] == "prepare" and record.get("ahead")]

    def test_another_list_of_endpoints_gets_none(self):
        other = self.world.make("other.yaml", self.policy.replace("ports: [80, 443, 7000]", "port: 443"))
        for _ in range(4):
            self.assertEqual(self.curl("http://api.example.com/x").code, 0)
        before = self.claims()
        done = self.curl("http://api.example.com/x", "-i", policy=other)
        self.assertIn("HTTP/1.1 403", done.out)
        self.assertEqual(self.claims(), before)


class OffTest(PoolWorldTest):
    OPTIONS = ()

    def test_without_the_option_none_is_made(self):
        for _ in range(6):
            self.assertEqual(self.exec("--", "true").code, 0)
        self.assertEqual(self.pool(), {"made": 0, "claimed": 0, "unused": 0, "ahead": 0})

    def test_wrong_values_are_refused(self):
        for words in (("--pool-cells", "65"), ("--pool-cells", "x"), ("--pool-idle", "0"), ("--pool-idle", "11m")):
            done = self.world.ctl("up", *words)
            self.assertEqual(done.code, 2, done)
            self.assertIn(words[0], done.err)


if __name__ == "__main__":
    main()
