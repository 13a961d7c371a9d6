#!/usr/bin/env python3
"""Measures odyssey-http beside gRPC: `./dev bench --http`, README.md.

usage: http_figures.py BIN_DIR [--rounds N]
"""

import contextlib
import http.client
import json
import re
import selectors
import socket
import statistics
import time

import surfaces
from surfaces import met, timed

SUBSCRIBERS = 1000


class Bench:
    def __init__(self, world, bundles):
        self.world = world
        self.grpc = surfaces.Grpc(world)
        with open(f"{world.state}/run/http/address", encoding="ascii") as file:
            self.port = int(file.read().rpartition(":")[2])
        self.token = world.json("token", "create")["secret"]
        self.fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bundle = bundles.write(f"{world.directory}/bench", [bundles.bash("true"), bundles.say("ok")])
        self.tools = bundles.write(f"{world.directory}/tools", [], model={"provider": "direct", "name": "prompt"},
                                   bundle_id="bench-tools")
        self.said = bundles.write(f"{world.directory}/said", [bundles.say("ok")])

    def post(self, path, body, fields=None):
        self.connection.request("POST", path, json.dumps(body), {**self.fields, **(fields or {})})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)

    def session(self, bundle):
        return self.post("/sessions", {"bundle_ref": bundle, "cwd": self.world.directory})["id"]

    def run_sync(self, session):
        self.post(f"/sessions/{session}/run-sync", {"input": {"prompt": "go"}})

    def turns(self, rounds):
        """One client each, in turn: seconds of a turn by HTTP and by gRPC."""
        session = self.session(self.bundle)
        own = "ses_" + session.replace("-", "")
        self.run_sync(session)
        self.grpc.run_turn(own, "go")
        return surfaces.medians((timed(lambda: self.run_sync(session)), timed(lambda: self.grpc.run_turn(own, "go")))
                                for _ in range(rounds))

    def calls(self, rounds):
        """The same of one `true` as a tool call: seconds by MCP over HTTP, and by gRPC."""
        assert self.world.ctl("bundle", "install", self.tools).code == 0
        opened = self.world.json("session", "create", self.tools)["id"]
        call = {"name": "Bash", "arguments": {"command": "true"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}
        fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Bash"}
        prompt = json.dumps({"tool": "Bash", "arguments": call["arguments"]})

        def by_mcp():
            done = self.post("/mcp/bench-tools", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, fields)
            assert done["result"]["structuredContent"]["status_code"] == 0, done

        by_mcp()
        self.grpc.run_turn(opened, prompt)
        return surfaces.medians((timed(by_mcp), timed(lambda: self.grpc.run_turn(opened, prompt))) for _ in range(rounds))

    def resident(self):
        with open(f"/proc/{self.world.daemon('odyssey-http')}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024

    def subscribers(self, rounds):
        """MiB with so many subscribers, and the seconds from the first one's last event of a turn to the last one's."""
        session = self.session(self.said)
        request = (f"GET /sessions/{session}/events HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer {self.token}\r\n\r\n").encode()
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
            for _ in range(SUBSCRIBERS):
                peer = stack.enter_context(socket.create_connection(("127.0.0.1", self.port)))
                peer.sendall(request)
                text = b""
                while b"keep-alive" not in text:
                    text += peer.recv(4096)
                selector.register(peer, selectors.EVENT_READ)
            idle = self.resident()
            spans = []
            for _ in range(rounds):
                self.post(f"/sessions/{session}/run", {"input": {"prompt": "go"}})
                texts, ended = {}, []
                while len(ended) < SUBSCRIBERS:
                    for key, _ in selector.select():
                        text = texts[key.fd] = texts.get(key.fd, b"") + key.fileobj.recv(65536)
                        if b'"turn_completed"' in text and text.endswith(b"\n\r\n"):
                            ended.append(time.perf_counter())
                spans.append(ended[-1] - ended[0])
            return idle, statistics.median(spans)


def main():
    given = surfaces.read_arguments(__doc__, 200)
    import bundles  # pylint: disable=import-outside-toplevel
    with surfaces.running_world("--http-listen", "127.0.0.1:0") as world:
        bench = Bench(world, bundles)
        turns = bench.turns(given.rounds)
        calls = bench.calls(given.rounds)
        idle, span = bench.subscribers(max(given.rounds // 40, 1))
    print("| figure | Odyssey | beside | target: measured |\n|---|---|---|---|")
    print(surfaces.row_beside_grpc("a turn of one `true` by `POST …/run-sync`", *turns, 1))
    print(surfaces.row_beside_grpc("one `true` by `tools/call` (MCP by HTTP)", *calls, 1))
    print(f"| memory of odyssey-http with {SUBSCRIBERS} idle subscribers | {idle:.1f} MiB | | ≤ 60 MiB: {met(idle <= 60)} |")
    print(f"| one event, from the first to the last of {SUBSCRIBERS} subscribers | {span * 1000:.1f} ms | | ≤ 50 ms: "
          f"{met(span <= 0.05)} |")


if __name__ == "__main__":
    main()
