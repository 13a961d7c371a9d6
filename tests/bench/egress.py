#!/usr/bin/env python3
"""Measures Odyssey's egress beside a direct connection and three proxies: `./dev bench --egress`, README.md.

usage: egress.py BIN_DIR [--quick] [--rounds N] [--only WORD]
"""

import argparse
import contextlib
import itertools
import os
import re
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))

# pylint: disable=wrong-import-position
import host
import network
from egress_servers import ECHO, HAPROXY, HAPROXY_TERMINATED, PLAIN, SQUID, TINYPROXY, TLS, WEB, Servers
from egress_table import FLOOR, HEAD, ODYSSEY, Row, Target, line, measure
from egress_table import HAPROXY as BY_HAPROXY, SQUID as BY_SQUID, TINYPROXY as BY_TINYPROXY

API, INSPECTED, UNNAMED = "api.example.com", "www.example.com", "other.example.org"
PYTHON = "/usr/bin/python3"
LOCAL, PROXY = "127.0.0.1", 3128
MIB = 1 << 20
CELLS = 20
CLOSED_PORT = 9
MINTED = [f"n{number}.mint.example.com" for number in range(40)]

POLICY = """
version: 1
network_policies:
  bench:
    endpoints:
      - {host: api.example.com, ports: [7000, 8000], protocol: tcp}
      - {host: api.example.com, port: 443}
      - {host: api.example.com, port: 80, protocol: rest, enforcement: enforce, access: read-only}
      - {host: www.example.com, port: 443, protocol: rest, enforcement: enforce, access: read-only}
      - {host: "*.mint.example.com", port: 443, protocol: rest, enforcement: enforce, access: read-only}
    binaries: [{path: /usr/bin/curl}, {path: /usr/bin/wrk}, {path: "/usr/bin/python3*"}]
"""


class Scale:
    """How much one sample is."""

    def __init__(self, quick, rounds):
        self.rounds = rounds or (1 if quick else 5)
        self.big_bytes = 128 * MIB if quick else 1024 * MIB
        self.echoes = 500 if quick else 5000
        self.connections = 10 if quick else len(MINTED)  # of first-byte and refused
        self.seconds = 1 if quick else 4                 # of wrk
        self.pushes = 4 if quick else 8                  # even: the two policies alternate


def without_proxies():
    """The environment of clients on the host."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def pss_bytes(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += int(re.search(r"^Pss:\s+(\d+) kB", file.read(), re.MULTILINE)[1]) * 1024
    return total


class Bench:
    """Clients of one network, in a cell of one world and beside it."""

    def __init__(self, net, servers, world, scale):
        self.net, self.servers, self.world, self.scale = net, servers, world, scale
        self.policies = [world.make("policy.yaml", POLICY),
                         world.make("other.yaml", POLICY.replace("[7000, 8000]", "[7000]"))]
        self.script = net.directory + "/absolute.lua"
        with open(self.script, "w", encoding="ascii") as file:
            file.write(f'wrk.path = "http://{API}/small"\nwrk.headers["Host"] = "{API}"\n')
        with open(HERE + "/egress_client.py", encoding="utf-8") as file:
            self.client = file.read()
        self.environment = {**without_proxies(), "SSL_CERT_FILE": net.certificate}
        self.new_cells = itertools.count()

    def on_host(self, *command):
        # A session of its own is a group of the scheduler (autogroup), as a cell's control group is.
        done = subprocess.run([*self.net.prefix, *command], capture_output=True, text=True, check=False,
                              env=self.environment, timeout=host.HANG_S, start_new_session=True)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]}: exit status {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def in_cell(self, *command, cell="bench"):
        return self.ctl("exec", "--cell", cell, "--cpus", str(os.cpu_count()), "--policy", self.policies[0],
                        "--", *command)

    def ctl(self, *words):
        done = self.world.ctl(*words)
        if done.code != 0:
            raise RuntimeError(f"odyssey-ctl {words[0]}: exit status {done.code}: {done.err[-500:]}")
        return done.out

    # bytes

    def download(self, url, run, *options):
        """GB/s."""
        out = run("curl", "-sS", "--fail", "--http1.1", "--max-time", str(host.HANG_S), "-o", "/dev/null", "-w",
                  "%{size_download} %{speed_download}", *options, url)
        size, speed = out.split()
        if int(size) != self.scale.big_bytes:
            raise RuntimeError(f"curl: {size} bytes of {self.scale.big_bytes}")
        return float(speed) / 1e9

    def downloads(self, name, url, haproxy, target, tunnels=True):
        measures = {
            FLOOR: lambda: self.download(url, self.on_host),
            BY_HAPROXY: lambda: self.download(url, self.on_host, "--connect-to", f"::{LOCAL}:{haproxy}"),
            ODYSSEY: lambda: self.download(url, self.in_cell, "-p", "-x", f"http://{LOCAL}:{PROXY}"),
        }
        if tunnels:
            measures[BY_TINYPROXY] = lambda: self.download(url, self.on_host, "-p", "-x", f"{LOCAL}:{TINYPROXY}")
            measures[BY_SQUID] = lambda: self.download(url, self.on_host, "-p", "-x", f"{LOCAL}:{SQUID}")
        return Row(name, "GB/s", 2, measures, target)

    # round-trip, first-byte, refused

    def ask(self, run, *words, unit_us=1):
        return float(run(PYTHON, "-c", self.client, *map(str, words))) / unit_us

    def round_trip(self):
        target, count = f"{API}:{ECHO}", self.scale.echoes
        return Row("round-trip", "µs", 1, {
            FLOOR: lambda: self.ask(self.on_host, "echo", network.PUBLIC, ECHO, "direct", "-", count),
            BY_HAPROXY: lambda: self.ask(self.on_host, "echo", LOCAL, HAPROXY[ECHO], "direct", "-", count),
            BY_TINYPROXY: lambda: self.ask(self.on_host, "echo", LOCAL, TINYPROXY, "connect", target, count),
            BY_SQUID: lambda: self.ask(self.on_host, "echo", LOCAL, SQUID, "connect", target, count),
            ODYSSEY: lambda: self.ask(self.in_cell, "echo", LOCAL, PROXY, "connect", target, count),
        }, Target("added", 25))

    def first_byte(self):
        def ask(run, *words):
            return self.ask(run, "first-byte", *words, *MINTED[:self.scale.connections], unit_us=1000)

        # A new cell has an authority of its own, and minted none of the names.
        def in_new_cell(*command):
            return self.in_cell(*command, cell=f"first-byte-{next(self.new_cells)}")
        return Row("first-byte", "ms", 2, {
            FLOOR: lambda: ask(self.on_host, network.PUBLIC, TLS, "direct"),
            BY_HAPROXY: lambda: ask(self.on_host, LOCAL, HAPROXY_TERMINATED, "direct"),
            ODYSSEY: lambda: ask(in_new_cell, LOCAL, PROXY, "connect"),
        }, Target("added", 1.5))

    def refused(self):
        def ask(run, *words):
            return self.ask(run, "refused", *words, f"{UNNAMED}:443", self.scale.connections, unit_us=1000)
        return Row("refused", "ms", 3, {
            FLOOR: lambda: ask(self.on_host, network.PUBLIC, CLOSED_PORT, "direct"),
            BY_HAPROXY: lambda: ask(self.on_host, LOCAL, HAPROXY[WEB], "connect"),
            BY_TINYPROXY: lambda: ask(self.on_host, LOCAL, TINYPROXY, "connect"),
            BY_SQUID: lambda: ask(self.on_host, LOCAL, SQUID, "connect"),
            ODYSSEY: lambda: ask(self.in_cell, LOCAL, PROXY, "connect"),
        }, Target("value", 1), compared="added")

    # requests

    def wrk(self, run, connections, what, url, *options):
        out = run("wrk", "-t1", f"-c{connections}", f"-d{self.scale.seconds}", "--latency", *options, url)
        # tinyproxy closes each connection after its response, which wrk counts as an error of read.
        closed = f":{TINYPROXY}/" in url and ", write 0, timeout 0" in out and "connect 0," in out
        if "Non-2xx" in out or "Socket errors" in out and not closed:
            raise RuntimeError(out)
        if what == "rate":
            return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
        value, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)\n", out).groups()
        return float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]

    def requests(self, name, unit, connections, what, target):
        def ask(run, url, *options):
            return self.wrk(run, connections, what, url, *options)
        return Row(name, unit, 0, {
            FLOOR: lambda: ask(self.on_host, f"http://{API}/small"),
            BY_HAPROXY: lambda: ask(self.on_host, f"http://{LOCAL}:{HAPROXY[WEB]}/small"),
            BY_TINYPROXY: lambda: ask(self.on_host, f"http://{LOCAL}:{TINYPROXY}/", "-s", self.script),
            BY_SQUID: lambda: ask(self.on_host, f"http://{LOCAL}:{SQUID}/", "-s", self.script),
            ODYSSEY: lambda: ask(self.in_cell, f"http://{API}/small"),
        }, target)

    # memory

    def egress_processes(self):
        return {pid for pid in host.descendants(self.world.daemons.pid)
                if host.name(pid).startswith("odyssey-egress")}

    def fetch_in(self, cell):
        self.in_cell("curl", "-sS", "--fail", "-o", "/dev/null", f"http://{API}/small", cell=cell)

    def worker_memory(self):
        before = self.egress_processes()
        self.fetch_in("memory")
        (worker,) = self.egress_processes() - before
        return pss_bytes([worker]) / 1e6

    def cells_memory(self):
        """What all processes of egress grow by, a cell."""
        before = pss_bytes(self.egress_processes())
        for number in range(CELLS):
            self.fetch_in(f"memory-{number}")
        return (pss_bytes(self.egress_processes()) - before) / CELLS / 1e6

    def memory(self):
        def peer(name):
            return lambda: pss_bytes([self.servers.pid(name)]) / 1e6
        return (Row("memory of one worker", "MB", 1, {
            **{name: peer(name) for name in (BY_HAPROXY, BY_TINYPROXY, BY_SQUID)}, ODYSSEY: self.worker_memory},
                    rounds=1),
                Row(f"memory of each of {CELLS} cells", "MB", 1, {ODYSSEY: self.cells_memory},
                    Target("value", 3), rounds=1))

    # policy-push

    def push(self, *words):
        """ms of the process. `words` but the cell's name; the policies are set in turn."""
        self.in_cell("true", cell="push")
        times = []
        for number in range(self.scale.pushes):
            policy = [self.policies[(number + 1) % 2]] if words[1] == "set" else []
            began = time.perf_counter()
            self.ctl(*words, "push", *policy)
            times.append(time.perf_counter() - began)
        return statistics.median(times) * 1e3

    def policy_push(self):
        return Row("policy-push", "ms", 1, {
            FLOOR: lambda: self.push("policy", "list"),
            ODYSSEY: lambda: self.push("policy", "set"),
        }, Target("value", 50), compared="added")

    def rows(self):
        """In the order in which they are measured: memory first, while the daemons are new."""
        relayed = Target("ratio", 0.40, least=True)
        return [
            *self.memory(),
            self.downloads("bytes, no TLS", f"http://{API}:{PLAIN}/big", HAPROXY[PLAIN], relayed),
            self.downloads("bytes, TLS passed on", f"https://{API}/big", HAPROXY[TLS], relayed),
            self.downloads("bytes, TLS terminated", f"https://{INSPECTED}/big", HAPROXY_TERMINATED,
                           Target("value", 0.35, least=True), tunnels=False),
            self.round_trip(),
            self.requests("requests, 16 connections", "1/s", 16, "rate", relayed),
            self.requests("requests, p50 of one connection", "µs", 1, "p50", Target("added", 100)),
            self.first_byte(),
            self.refused(),
            self.policy_push(),
        ]


def describe_host():
    uname = os.uname()
    with open("/proc/loadavg", encoding="ascii") as file:
        load = " ".join(file.read().split()[:3])
    return (f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}; Linux {uname.release} {uname.machine}, "
            f"{os.cpu_count()} cores; load average at the start: {load}\n")


def measure_rows(bench, only):
    """Prints each row when it is measured. What could not be."""
    rows = [row for row in bench.rows() if only in row.name]
    if not rows:
        return [f"no row has {only!r} in its name"]
    print(describe_host())
    print(HEAD)
    failures = []
    for row in rows:
        done = measure(row, bench.scale.rounds)
        failures += [f"{row.name}, {way}: {why}" for way, why in done.failures.items()]
        print(line(done), flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(prog="egress.py")
    parser.add_argument("bin", help="the directory of the programs")
    parser.add_argument("--quick", action="store_true", help="one round of few samples")
    parser.add_argument("--rounds", type=int, help="samples of each way (5)")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name has WORD in it")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("egress.py: needs root: it makes network namespaces and runs odyssey-ctl up")
    os.environ["ODYSSEY_BIN"] = os.path.abspath(options.bin)
    import world  # pylint: disable=import-outside-toplevel

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through what stops the servers and daemons
    scale = Scale(options.quick, options.rounds)
    network.NAMES["*.mint.example.com"] = network.PUBLIC  # in the server's certificate
    with contextlib.ExitStack() as stack:
        net = network.Network()
        stack.callback(net.close)
        with open(net.directory + "/hosts", "a", encoding="ascii") as file:
            file.writelines(f"{network.PUBLIC} {name}\n" for name in MINTED)
        servers = Servers(net, scale.big_bytes)
        stack.callback(servers.close)
        odyssey = world.World(net.prefix)
        stack.callback(odyssey.close)
        odyssey.up()
        failures = measure_rows(Bench(net, servers, odyssey, scale), options.only)
    for failure in failures:
        print(f"egress.py: not measured: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
