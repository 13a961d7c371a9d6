#!/usr/bin/env python3
"""Measures odyssey-ctl acp beside gRPC: `./dev bench --acp`, README.md.

usage: acp_figures.py BIN_DIR [--rounds N]
"""

import time

import surfaces


class ByGrpc:
    """Keeps its subscription, as odyssey-ctl acp does."""

    def __init__(self, world, session):
        self.client, self.session = surfaces.Grpc(world), session
        self.events = self.client.subscribe(session)

    def first_words(self):
        """Seconds from SubmitTurn to the first words; waits for the end of the turn."""
        begun = time.perf_counter()
        self.client.submit(self.session, "go")
        first = None
        for event in self.events:
            what = event.WhichOneof("payload")
            if what == "agent_message_delta" and first is None:
                first = time.perf_counter()
            if what == "turn_completed":
                return first - begun
        raise AssertionError("the stream ended")


def main():
    given = surfaces.read_arguments(__doc__, 200)
    # pylint: disable=import-outside-toplevel
    import bundles
    from rpc_peer import RpcPeer

    class Editor(RpcPeer):
        first = None

        def on_call(self, method, params):
            if self.first is None and params.get("update", {}).get("sessionUpdate") == "agent_message_chunk":
                self.first = time.perf_counter()

        def first_words(self, session):
            self.first = None
            begun = time.perf_counter()
            self.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
            return self.first - begun

    with surfaces.running_world() as world:
        bundle = bundles.write(f"{world.directory}/said", [bundles.say("ok")])
        editor = Editor(world.argv("acp", bundle))
        editor.call("initialize", protocolVersion=1, clientCapabilities={})
        session = editor.call("session/new", cwd=world.directory, mcpServers=[])["sessionId"]
        grpc = ByGrpc(world, world.ctl("session", "create", bundle).out.strip())
        editor.first_words(session), grpc.first_words()
        figures = surfaces.medians((editor.first_words(session), grpc.first_words()) for _ in range(given.rounds))
        editor.close()
    print("| figure | Odyssey | beside | target: measured |\n|---|---|---|---|")
    print(surfaces.row_beside_grpc("`session/prompt` of ACP to the first words", *figures, 5))


if __name__ == "__main__":
    main()
