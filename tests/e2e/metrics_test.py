#!/usr/bin/env python3
"""What the daemons count, against what was done; who may read it; and the page that lists it."""

import math
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import bundles
import host
from egress_test import EgressWorld
from network import PUBLIC
from world import BIN, HANG_S, SOURCE, World, WorldTest, main

STRANGER, ADMIN, ADMINS = 54321, 54322, 54323
TURN = {"allow": ["Bash"], "ask": ["Write"]}
POLICY = """
version: 1
network_policies:
  api:
    endpoints: [{host: api.example.com, port: 443}]
    binaries: [{path: /usr/bin/curl}]
"""
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)')


def labels_of(text):
    out, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found, text
        assert found[1] not in out, text
        out[found[1]] = found[2]
        at = found.end()
    return out


class Scrape:
    """One answer, read strictly: what is no text of format 0.0.4 fails."""

    def __init__(self, text):
        assert text.endswith("\n"), text[-200:]
        self.types, self.values = {}, {}
        helped, family = set(), None
        for line in text.splitlines():
            words = line.split(" ", 3)
            if line.startswith("# HELP "):
                assert words[2] not in helped and words[3], line
                helped.add(words[2])
            elif line.startswith("# TYPE "):
                family = words[2]
                assert family in helped and family not in self.types, line
                assert words[3] in ("counter", "gauge", "histogram"), line
                assert family.endswith("_total") == (words[3] == "counter"), line
                self.types[family] = words[3]
            else:
                self._add(family, line)
        for name in self.types:
            assert self.series(name), f"{name} has no series"
            if self.types[name] == "histogram":
                self._check_histogram(name)

    def _add(self, family, line):
        found = SAMPLE.fullmatch(line)
        assert found, line
        suffixes = ("_bucket", "_sum", "_count") if self.types[family] == "histogram" else ("",)
        assert found[1] in [family + suffix for suffix in suffixes], f"{line} in {family}"
        key = (found[1], frozenset(labels_of(found[2] or "").items()))
        assert key not in self.values, f"twice: {line}"
        value = float(found[3])
        assert math.isfinite(value) and value >= 0, line
        self.values[key] = value

    def _check_histogram(self, name):
        buckets = {}
        for (sample, labels), value in self.values.items():
            if sample == name + "_bucket":
                rest = frozenset(item for item in labels if item[0] != "le")
                buckets.setdefault(rest, []).append((float(dict(labels)["le"]), value))
        for labels, found in buckets.items():
            counts = [value for _, value in sorted(found)]
            assert counts == sorted(counts), (name, found)
            assert max(found)[0] == math.inf and counts[-1] == self.values[(name + "_count", labels)]

    def series(self, family):
        """The labels of each sample of the family."""
        names = (family, family + "_bucket", family + "_sum", family + "_count")
        return [dict(labels) for name, labels in self.values if name in names]

    def get(self, name, **labels):
        return self.values.get((name, frozenset(labels.items())), 0)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def http(port, path="/metrics", **options):
    """Status, content type and text."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", **options)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=HANG_S) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


class Base(WorldTest):
    """Daemons that serve metrics, and have a price."""

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        options = ("--metrics-listen", f"127.0.0.1:{cls.port}", "--allow-user", str(STRANGER),
                   "--admin-group", str(ADMINS))
        cls.world.up(*options)
        cls.world.down()
        with open(os.path.join(cls.world.state, "prices.yaml"), "w", encoding="utf-8") as file:
            file.write("models:\n  script/scenario.yaml: {input: 1000, output: 10000}\n")
        cls.world.up(*options)

    def scrape(self, *options):
        done = self.world.ctl("metrics", *options)
        self.assertEqual(done.code, 0, done)
        return Scrape(done.out)

    def assertGrew(self, before, after, name, growth, **labels):
        self.assertEqual(after.get(name, **labels) - before.get(name, **labels), growth, (name, labels))

    def refuse(self):
        """A cell that no grant of the ceiling covers."""
        done = self.world.ctl("exec", "--mode", "danger_full_access", "--dangerous-sandbox-mode", "--", "true")
        self.assertNotEqual(done.code, 0, done)

    def decide(self):
        """A command whose destination odyssey-egress refuses."""
        policy = self.world.make("egress.yaml", POLICY)
        done = self.world.ctl("exec", "--policy", policy, "--", "curl", "-fsS", "--max-time", "20",
                              "http://other.example.org/")
        self.assertNotEqual(done.code, 0, done)

    def turn(self):
        """A turn of two calls of the model and one of Bash, then one of Write that a person denies."""
        steps = [{"usage": {"input": 90, "output": 10}}, bundles.bash("true"),
                 {"usage": {"input": 40, "output": 5}}, bundles.call("Write", path="a", content="x"),
                 {"usage": {"input": 1, "output": 1}}, bundles.say("done")]
        path = bundles.write(self.world.make_directory("turn"), steps, rules=TURN)
        session = self.world.ctl("session", "create", path).out.strip()
        turn = self.world.ctl("turn", "submit", session, "--prompt", "go").out.strip()
        asked = host.eventually(
            lambda: self.world.json("approval", "list", "--session", session)["approvals"], HANG_S, "a question")
        self.assertEqual(self.scrape().get("odyssey_agentd_approvals_pending"), 1)
        self.assertEqual(self.scrape().get("odyssey_agentd_turns_running"), 1)
        done = self.world.ctl("approval", "deny", asked[0]["request"]["request_id"])
        self.assertEqual(done.code, 0, done)
        host.eventually(lambda: self.world.json("turn", "status", session, turn)["turn"]["status"] == "completed",
                        HANG_S, "the end of the turn")


class CountTest(Base):

    def test_commands(self):
        before = self.scrape()
        for code, *command in ((0, "true"), (3, "sh", "-c", "exit 3"), (127, "no-such-program")):
            self.assertEqual(self.world.ctl("exec", "--", *command).code, code)
        self.assertNotEqual(self.world.ctl("exec", "--timeout", "300ms", "--", "sleep", "60").code, 0)
        copied = self.world.ctl("exec", "--cell", "count", "--tools", "standard", "--", "sh", "-c", "cp /bin/true x")
        self.assertEqual(copied.code, 0, copied)
        denied = self.world.ctl("exec", "--cell", "count", "--tools", "standard", "--", "./x")
        self.assertEqual(denied.code, 126, denied)
        after = self.scrape()
        for outcome, count in (("exited", 3), ("not_found", 1), ("timed_out", 1), ("denied", 1),
                               ("signalled", 0), ("oom_killed", 0), ("setup_failed", 0), ("cancelled", 0)):
            self.assertGrew(before, after, "odyssey_supervisor_execs_total", count, outcome=outcome)
        self.assertGrew(before, after, "odyssey_supervisor_exec_seconds_count", 6)
        self.assertGrew(before, after, "odyssey_supervisor_exec_launch_seconds_count", 6)
        self.assertGrew(before, after, "odyssey_supervisor_denials_total", 1, kind="exec")
        # The sleep's 0.3 s, and the grace after it.
        took = after.get("odyssey_supervisor_exec_seconds_sum") - before.get("odyssey_supervisor_exec_seconds_sum")
        self.assertGreater(took, 0.3)
        self.assertLess(took, 60)
        made = sum(after.get("odyssey_supervisor_cells_made_total", mode=mode)
                   - before.get("odyssey_supervisor_cells_made_total", mode=mode)
                   for mode in ("read_only", "workspace_write", "danger_full_access"))
        self.assertEqual(made, 5)
        self.assertGrew(before, after, "odyssey_supervisor_cell_preparation_seconds_count", 5)
        self.assertGrew(before, after, "odyssey_supervisor_cells_reused_total", 1)
        self.assertGreater(after.get("odyssey_supervisor_audit_records_total"),
                           before.get("odyssey_supervisor_audit_records_total") + 12)

    def test_cells_and_running_commands(self):
        before = self.scrape()
        held = self.world.start("exec", "--cell", "held", "--", "sh", "-c", "echo on; sleep 600")
        held.until("on\n")
        during = self.scrape()
        self.assertEqual(during.get("odyssey_supervisor_execs_running"), 1)
        self.assertGreaterEqual(during.get("odyssey_supervisor_cells"), 1)
        self.assertGreater(during.get("odyssey_supervisor_cells_max"), 1)
        held.kill()
        host.eventually(lambda: self.scrape().get("odyssey_supervisor_execs_running") == 0, HANG_S, "its end")
        after = self.scrape()
        self.assertGrew(before, after, "odyssey_supervisor_execs_total", 1, outcome="cancelled")
        self.assertEqual(self.world.ctl("cell", "rm", "held").code, 0)
        host.eventually(lambda: self.scrape().get("odyssey_supervisor_cell_ends_total", reason="stopped")
                        == before.get("odyssey_supervisor_cell_ends_total", reason="stopped") + 1, HANG_S, "an end")
        self.assertGrew(before, self.scrape(), "odyssey_supervisor_cell_ends_total", 0, reason="failed")

    def test_a_turn(self):
        before = self.scrape()
        self.turn()
        after = self.scrape()
        for name, growth, labels in (
                ("turns_total", 1, {"outcome": "completed"}),
                ("turns_total", 0, {"outcome": "failed"}),
                ("turn_seconds_count", 1, {}),
                ("tool_calls_total", 1, {"tool": "Bash", "outcome": "ok"}),
                ("tool_calls_total", 1, {"tool": "Write", "outcome": "error"}),
                ("model_calls_total", 3, {"provider": "script", "outcome": "ok"}),
                ("model_call_seconds_count", 3, {"provider": "script"}),
                ("tokens_total", 131, {"provider": "script", "direction": "input"}),
                ("tokens_total", 16, {"provider": "script", "direction": "output"}),
                # Per million tokens 1000 dollars in, 10000 out.
                ("cost_microdollars_total", 131 * 1000 + 16 * 10000, {"provider": "script"}),
                ("approvals_total", 1, {"answer": "deny", "by": "client"}),
                ("approvals_total", 0, {"answer": "allow_once", "by": "client"}),
                ("approval_wait_seconds_count", 1, {}),
                ("sessions", 1, {})):
            self.assertGrew(before, after, "odyssey_agentd_" + name, growth, **labels)
        self.assertEqual(after.get("odyssey_agentd_approvals_pending"), 0)
        self.assertEqual(after.get("odyssey_agentd_turns_running"), 0)
        self.assertGreater(after.get("odyssey_agentd_journal_bytes"), before.get("odyssey_agentd_journal_bytes"))
        self.assertGreater(after.get("odyssey_agentd_events_total"), before.get("odyssey_agentd_events_total") + 10)

    def test_refusals_and_destinations(self):
        before = self.scrape()
        self.refuse()
        self.decide()
        after = self.scrape()
        self.assertGrew(before, after, "odyssey_supervisor_refusals_total", 1, what="prepare", code="PERMISSION_DENIED")
        self.assertGrew(before, after, "odyssey_egress_decisions_total", 1, verdict="denied", way="request",
                        code="policy_denied")

    def test_names_of_commands_make_no_series(self):
        def run(number):
            done = self.world.ctl("exec", "--cell", "names", "--", f"no-such-{number}")
            self.assertEqual(done.code, 127, done)

        run(0)
        before = self.scrape()
        for number in range(1, 51):
            run(number)
        after = self.scrape()
        self.assertGrew(before, after, "odyssey_supervisor_execs_total", 50, outcome="not_found")
        self.assertEqual(set(before.values), set(after.values))


class ReaderTest(Base):

    def as_user(self, uid, *words, groups=()):
        return self.world.ctl(*words, user=uid, group=uid, extra_groups=groups,
                              env={**os.environ, "HOME": "/"}, cwd="/")

    def test_users_do_not_see_what_others_do(self):
        served = self.as_user(STRANGER, "session", "list")
        self.assertEqual(served.code, 0, served)
        refused = self.as_user(STRANGER, "metrics")
        self.assertEqual((refused.code, refused.out), (1, ""), refused)
        self.assertIn(f"not for uid {STRANGER}", refused.err)
        refused = self.as_user(STRANGER, "metrics", "--daemon", "supervisor")
        self.assertEqual((refused.code, refused.out), (1, ""), refused)
        self.assertIn(str(STRANGER), refused.err)

    def test_admins_do(self):
        done = self.as_user(ADMIN, "metrics", groups=[ADMINS])
        self.assertEqual(done.code, 0, done)
        self.assertIn("odyssey_supervisor_cells", Scrape(done.out).types)

    def test_the_supervisors_alone(self):
        names = self.scrape("--daemon", "supervisor").types
        self.assertIn("odyssey_supervisor_cells", names)
        self.assertFalse([name for name in names if name.startswith("odyssey_agentd_")])
        self.assertEqual(set(Scrape(self.world.json("metrics")["text"]).types), set(self.scrape().types))

    def test_http(self):
        status, kind, text = http(self.port)
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertEqual(set(Scrape(text).types), set(self.scrape().types))
        self.assertEqual(Scrape(text).get("odyssey_supervisor_up"), 1)
        self.assertEqual(http(self.port, "/")[0], 404)
        self.assertEqual(http(self.port, "/metrics", data=b"x", method="POST")[0], 405)
        with socket.socket() as probe:  # 127.0.0.1 and no other address
            self.assertNotEqual(probe.connect_ex(("127.0.0.2", self.port)), 0)

    def test_which_cells_reach_it(self):
        policy = self.world.make("own.yaml", POLICY.replace("api.example.com", "127.0.0.1").replace("443", str(self.port)))
        for options, reached in ((["--network", "none"], False), (["--policy", policy], False),
                                 (["--network", "full"], True)):
            with self.subTest(options):
                done = self.world.ctl("exec", *options, "--", "curl", "-sS", "--max-time", "20",
                                      f"http://127.0.0.1:{self.port}/metrics")
                self.assertEqual("odyssey_agentd_sessions" in done.out, reached, done)

    def test_other_addresses_are_refused(self):
        world = World()
        self.addCleanup(world.close)
        for address in ("0.0.0.0:9464", "localhost:9464", "9464"):
            ended = world.start_up("--metrics-listen", address).ended()
            self.assertNotEqual(ended.code, 0)
            self.assertIn(f'--metrics-listen "{address}": must be ADDRESS:PORT', ended.err)

    def test_an_egress_that_does_not_answer(self):
        self.assertEqual(self.scrape().get("odyssey_egress_up"), 1)
        status = self.world.json("status")
        self.assertEqual(status["egress"], {"reachable": True, "detail": "odyssey-egress answers"})
        pid = self.world.daemon("odyssey-egress")
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.scrape().get("odyssey_egress_up"), 0)
            self.assertEqual(self.scrape().get("odyssey_supervisor_up"), 1)
            status = self.world.ctl("status")
            self.assertEqual(status.code, 1, status)
            self.assertRegex(status.out, r"✗ odyssey-egress +odyssey-egress at \S+ did not answer in a second")
            self.assertRegex(status.out, r"✓ odyssey-supervisor .*every feature in force")
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.scrape().get("odyssey_egress_up"), 1)
        self.assertEqual(self.world.ctl("status").code, 0)

    def test_a_supervisor_that_does_not_answer(self):
        directory, port = self.world.make_directory("alone"), free_port()
        with subprocess.Popen(
                [os.path.join(BIN, "odyssey-agentd"), "--state", directory + "/state", "--socket",
                 directory + "/agentd.sock", "--supervisor-socket", directory + "/none", "--policy",
                 directory + "/policy.d", "--metrics-listen", f"127.0.0.1:{port}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as agentd:
            try:
                self.assertEqual(agentd.stdout.readline(), "ready\n")
                found = Scrape(http(port)[2])
            finally:
                agentd.terminate()
        self.assertEqual(agentd.returncode, 0)
        self.assertEqual(found.get("odyssey_supervisor_up"), 0)
        self.assertIn("odyssey_agentd_sessions", found.types)
        self.assertNotIn("odyssey_supervisor_cells", found.types)


class TrafficTest(EgressWorld):
    """Bytes and connections of cells, as odyssey-egress counts them."""

    BYTES = 100_000
    # Each line of its input is a connection that stays open, or "close": the oldest ends.
    CLIENT = f"""
import socket, sys
kept = []
for line in sys.stdin:
    if line == "close\\n":
        kept.pop(0).close()
        continue
    s = socket.create_connection(("api.example.com", 7000))
    kept.append(s)
    left = {BYTES}
    s.sendall(b"x" * left)
    while left: left -= len(s.recv(left))
    print("passed", len(kept), flush=True)
"""

    @classmethod
    def serve(cls):
        cls.echo = cls.network.serve(PUBLIC, 7000, "echo")

    def scrape(self):
        return Scrape(self.world.ctl("metrics", "--daemon", "supervisor").out)

    def assertCounts(self, connections, opened):
        wanted = (opened, connections * self.BYTES, connections * self.BYTES)

        def found():
            scrape = self.scrape()
            return (scrape.get("odyssey_egress_connections_open"),
                    *(scrape.get("odyssey_egress_bytes_total", direction=direction) for direction in ("in", "out")))
        host.eventually(lambda: found() == wanted, HANG_S, lambda: f"{wanted} in {found()}")

    def test_bytes_and_connections(self):
        self.assertCounts(0, 0)
        with subprocess.Popen(self.world.argv("exec", "--policy", self.policy_file, "--", "python3", "-c", self.CLIENT),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            def say(line):
                client.stdin.write(line + "\n")
                client.stdin.flush()

            for number in (1, 2):
                say("open")
                self.assertEqual(client.stdout.readline(), f"passed {number}\n")
                self.assertCounts(number, number)
            say("close")
            self.assertCounts(2, 1)
            # Another broker counts from 0, and ends what was open.
            killed = self.world.daemon("odyssey-egress")
            os.kill(killed, signal.SIGKILL)
            self.assertCounts(2, 0)
            host.eventually(lambda: self.scrape().get("odyssey_egress_up") == 1, HANG_S, "another broker")
            say("open")
            self.assertEqual(client.stdout.readline(), "passed 2\n")
            self.assertCounts(3, 1)
            client.stdin.close()
        # Of a cell that is gone.
        self.assertCounts(3, 0)


class PageTest(Base):
    """docs/METRICS.md lists what there is."""

    maxDiff = None

    def page(self):
        listed = {}
        with open(os.path.join(SOURCE, "docs/METRICS.md"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("| `odyssey_"):
                    continue
                name, kind, labels = [cell.strip() for cell in line.split("|")[1:4]]
                self.assertNotIn(name, listed)
                listed[name.strip("`")] = (kind, frozenset(re.findall(r"`(\w+)`", labels)))
        return listed

    def test_the_page_and_the_daemons_agree(self):
        self.refuse()
        self.decide()
        self.turn()
        scrape = self.scrape()
        exported = {}
        for name, kind in scrape.types.items():
            labels = {frozenset(series) - {"le"} for series in scrape.series(name)}
            self.assertEqual(len(labels), 1, name)
            exported[name] = (kind, labels.pop())
        self.assertEqual(sorted(exported.items()), sorted(self.page().items()))
        for (name, labels) in scrape.values:  # every value of a label is declared
            self.assertNotIn("other", dict(labels).values(), (name, labels))


if __name__ == "__main__":
    main()
