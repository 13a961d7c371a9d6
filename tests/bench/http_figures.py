#!/usr/bin/env python3
"""Measures odyssey-http beside gRPC: `./dev bench --http`, README.md.

usage: http_figures.py BIN_DIR [--rounds N]
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.abspath(os.path.join(HERE, "../.."))
SUBSCRIBERS = 1000
sys.path.insert(0, os.path.join(HERE, "../e2e"))


def timed(run):
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


class Bench:
    def __init__(self, world, bundles, messages):
        self.world = world
        self.messages = messages
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
        session_pb2, event_pb2, grpc = self.messages
        channel = grpc.insecure_channel("unix:" + self.world.socket("agentd"))
        service = "/odyssey.agent.v1.SessionService/"
        submit = channel.unary_unary(service + "SubmitTurn", session_pb2.SubmitTurnRequest.SerializeToString,
                                     session_pb2.SubmitTurnResponse.FromString)
        subscribe = channel.unary_stream(service + "Subscribe", session_pb2.SubscribeRequest.SerializeToString,
                                         event_pb2.Event.FromString)
        session = self.session(self.bundle)
        own = "ses_" + session.replace("-", "")

        def by_grpc():
            turn = submit(session_pb2.SubmitTurnRequest(session_id=own, prompt="go"))
            events = subscribe(session_pb2.SubscribeRequest(session_id=own, after_sequence=turn.after_sequence, follow=True))
            for event in events:
                if event.WhichOneof("payload") == "turn_completed":
                    return events.cancel()
            raise AssertionError("the stream ended")
        self.run_sync(session)
        by_grpc()
        samples = [(timed(lambda: self.run_sync(session)), timed(by_grpc)) for _ in range(rounds)]
        return [statistics.median(column) for column in zip(*samples)]

    def calls(self, rounds):
        """The same of one `true` as a tool call: seconds by MCP over HTTP, and by gRPC."""
        session_pb2, event_pb2, grpc = self.messages
        channel = grpc.insecure_channel("unix:" + self.world.socket("agentd"))
        service = "/odyssey.agent.v1.SessionService/"
        submit = channel.unary_unary(service + "SubmitTurn", session_pb2.SubmitTurnRequest.SerializeToString,
                                     session_pb2.SubmitTurnResponse.FromString)
        subscribe = channel.unary_stream(service + "Subscribe", session_pb2.SubscribeRequest.SerializeToString,
                                         event_pb2.Event.FromString)
        assert self.world.ctl("bundle", "install", self.tools).code == 0
        opened = self.world.json("session", "create", self.tools)["id"]
        call = {"name": "Bash", "arguments": {"command": "true"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}
        fields = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Bash"}
        prompt = json.dumps({"tool": "Bash", "arguments": call["arguments"]})

        def by_mcp():
            done = self.post("/mcp/bench-tools", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, fields)
            assert done["result"]["structuredContent"]["status_code"] == 0, done

        def by_grpc():
            turn = submit(session_pb2.SubmitTurnRequest(session_id=opened, prompt=prompt))
            events = subscribe(session_pb2.SubscribeRequest(session_id=opened, after_sequence=turn.after_sequence, follow=True))
            for event in events:
                if event.WhichOneof("payload") == "turn_completed":
                    return events.cancel()
            raise AssertionError("the stream ended")
        by_mcp()
        by_grpc()
        samples = [(timed(by_mcp), timed(by_grpc)) for _ in range(rounds)]
        return [statistics.median(column) for column in zip(*samples)]

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


def load_messages(directory):
    """protoc's Python modules of the interfaces, and gRPC."""
    protos = [os.path.relpath(os.path.join(place, name), f"{SOURCE}/proto")
              for place, _, names in os.walk(f"{SOURCE}/proto/odyssey") for name in names if name.endswith(".proto")]
    subprocess.run(["protoc", "-I", f"{SOURCE}/proto", f"--python_out={directory}", *protos], check=True)
    sys.path.append(directory)
    # pylint: disable=import-outside-toplevel,import-error
    import grpc
    from odyssey.agent.v1 import event_pb2, session_pb2
    return session_pb2, event_pb2, grpc


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin_dir")
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    os.environ["ODYSSEY_BIN"] = given.bin_dir
    # pylint: disable=import-outside-toplevel
    import bundles
    from world import World
    world = World()
    try:
        world.up("--http-listen", "127.0.0.1:0")
        with tempfile.TemporaryDirectory() as directory:
            bench = Bench(world, bundles, load_messages(directory))
            by_http, by_grpc = bench.turns(given.rounds)
            by_mcp, call_by_grpc = bench.calls(given.rounds)
            idle, span = bench.subscribers(max(given.rounds // 40, 1))
        print("| figure | Odyssey | beside | target: measured |\n|---|---|---|---|")
        beyond = (by_http - by_grpc) * 1000
        print(f"| a turn of one `true` by `POST …/run-sync` | {by_http * 1000:.2f} ms | SubmitTurn and Subscribe by gRPC: "
              f"{by_grpc * 1000:.2f} ms | ≤ 1 ms beyond: {beyond:.2f} ms, {'met' if beyond <= 1 else '**missed**'} |")
        beyond = (by_mcp - call_by_grpc) * 1000
        print(f"| one `true` by `tools/call` (MCP by HTTP) | {by_mcp * 1000:.2f} ms | SubmitTurn and Subscribe by gRPC: "
              f"{call_by_grpc * 1000:.2f} ms | ≤ 1 ms beyond: {beyond:.2f} ms, {'met' if beyond <= 1 else '**missed**'} |")
        print(f"| memory of odyssey-http with {SUBSCRIBERS} idle subscribers | {idle:.1f} MiB | | ≤ 60 MiB: "
              f"{'met' if idle <= 60 else '**missed**'} |")
        print(f"| one event, from the first to the last of {SUBSCRIBERS} subscribers | {span * 1000:.1f} ms | | ≤ 50 ms: "
              f"{'met' if span <= 0.05 else '**missed**'} |")
    finally:
        world.close()


if __name__ == "__main__":
    main()
