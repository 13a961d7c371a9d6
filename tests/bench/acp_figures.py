#!/usr/bin/env python3
"""Measures odyssey-ctl acp beside gRPC: `./dev bench --acp`, README.md.

usage: acp_figures.py BIN_DIR [--rounds N]
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from http_figures import load_messages  # noqa: E402  pylint: disable=wrong-import-position


def first_update_by_acp(peer, session):
    """Seconds from session/prompt to the agent's first words; waits for the end of the turn."""
    peer.first = None
    begun = time.perf_counter()
    peer.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    return peer.first - begun


class Grpc:
    """A client that keeps its subscription, as odyssey-ctl acp does."""

    def __init__(self, messages, socket, session):
        self.session_pb2, event_pb2, grpc = messages
        channel = grpc.insecure_channel("unix:" + socket)
        service = "/odyssey.agent.v1.SessionService/"
        self.submit = channel.unary_unary(service + "SubmitTurn",
                                          self.session_pb2.SubmitTurnRequest.SerializeToString,
                                          self.session_pb2.SubmitTurnResponse.FromString)
        subscribe = channel.unary_stream(service + "Subscribe", self.session_pb2.SubscribeRequest.SerializeToString,
                                         event_pb2.Event.FromString)
        self.session = session
        self.events = subscribe(self.session_pb2.SubscribeRequest(session_id=session, follow=True))

    def first_update(self):
        begun = time.perf_counter()
        self.submit(self.session_pb2.SubmitTurnRequest(session_id=self.session, prompt="go"))
        first = None
        for event in self.events:
            what = event.WhichOneof("payload")
            if what == "agent_message_delta" and first is None:
                first = time.perf_counter()
            if what == "turn_completed":
                return first - begun
        raise AssertionError("the stream ended")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin_dir")
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    os.environ["ODYSSEY_BIN"] = given.bin_dir
    # pylint: disable=import-outside-toplevel
    import bundles
    from rpc_peer import RpcPeer
    from world import World

    class Editor(RpcPeer):
        first = None

        def on_call(self, method, params):
            if self.first is None and params.get("update", {}).get("sessionUpdate") == "agent_message_chunk":
                self.first = time.perf_counter()

    world = World()
    try:
        world.up()
        bundle = bundles.write(f"{world.directory}/said", [bundles.say("ok")])
        editor = Editor(world.argv("acp", bundle))
        editor.call("initialize", protocolVersion=1, clientCapabilities={})
        session = editor.call("session/new", cwd=world.directory, mcpServers=[])["sessionId"]
        own = world.ctl("session", "create", bundle).out.strip()
        with tempfile.TemporaryDirectory() as directory:
            grpc = Grpc(load_messages(directory), world.socket("agentd"), own)
            first_update_by_acp(editor, session), grpc.first_update()
            samples = [(first_update_by_acp(editor, session), grpc.first_update()) for _ in range(given.rounds)]
        by_acp, by_grpc = (statistics.median(column) * 1000 for column in zip(*samples))
        editor.close()
        beyond = by_acp - by_grpc
        print("| figure | Odyssey | beside | target: measured |\n|---|---|---|---|")
        print(f"| `session/prompt` of ACP to the first words | {by_acp:.2f} ms | SubmitTurn and Subscribe by gRPC: "
              f"{by_grpc:.2f} ms | ≤ 5 ms beyond: {beyond:.2f} ms, {'met' if beyond <= 5 else '**missed**'} |")
    finally:
        world.close()


if __name__ == "__main__":
    main()
