"""What measurements of the surfaces share: a world of daemons, and gRPC's own client to compare with."""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.abspath(os.path.join(HERE, "../.."))
sys.path.insert(0, os.path.join(HERE, "../e2e"))


def read_arguments(description, rounds):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("bin_dir")
    parser.add_argument("--rounds", type=int, default=rounds)
    given = parser.parse_args()
    os.environ["ODYSSEY_BIN"] = given.bin_dir  # before tests/e2e is imported
    return given


@contextlib.contextmanager
def running_world(*arguments):
    from world import World  # pylint: disable=import-outside-toplevel
    world = World()
    try:
        yield world.up(*arguments)
    finally:
        world.close()


def met(is_met):
    return "met" if is_met else "**missed**"


def timed(run):
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def medians(samples):
    return [statistics.median(column) for column in zip(*samples)]


def row_beside_grpc(what, own_s, grpc_s, most_ms):
    """A row of the table: seconds by a surface, and by gRPC."""
    beyond = (own_s - grpc_s) * 1000
    return (f"| {what} | {own_s * 1000:.2f} ms | SubmitTurn and Subscribe by gRPC: {grpc_s * 1000:.2f} ms | "
            f"≤ {most_ms} ms beyond: {beyond:.2f} ms, {met(beyond <= most_ms)} |")


class Grpc:
    """gRPC's Python client of agentd, with protoc's modules of the interfaces."""

    def __init__(self, world):
        self._directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        protos = [os.path.relpath(os.path.join(place, name), f"{SOURCE}/proto")
                  for place, _, names in os.walk(f"{SOURCE}/proto/odyssey") for name in names if name.endswith(".proto")]
        subprocess.run(["protoc", "-I", f"{SOURCE}/proto", f"--python_out={self._directory.name}", *protos], check=True)
        sys.path.append(self._directory.name)
        # pylint: disable=import-outside-toplevel,import-error
        import grpc
        from odyssey.agent.v1 import event_pb2, session_pb2
        self._messages = session_pb2
        channel = grpc.insecure_channel("unix:" + world.socket("agentd"))
        service = "/odyssey.agent.v1.SessionService/"
        self._submit = channel.unary_unary(service + "SubmitTurn", session_pb2.SubmitTurnRequest.SerializeToString,
                                           session_pb2.SubmitTurnResponse.FromString)
        self._subscribe = channel.unary_stream(service + "Subscribe", session_pb2.SubscribeRequest.SerializeToString,
                                               event_pb2.Event.FromString)

    def submit(self, session, prompt):
        return self._submit(self._messages.SubmitTurnRequest(session_id=session, prompt=prompt))

    def subscribe(self, session, after=None):
        request = self._messages.SubscribeRequest(session_id=session, follow=True)
        if after is not None:
            request.after_sequence = after
        return self._subscribe(request)

    def run_turn(self, session, prompt):
        """Until a subscriber has the turn's end."""
        turn = self.submit(session, prompt)
        events = self.subscribe(session, turn.after_sequence)
        for event in events:
            if event.WhichOneof("payload") == "turn_completed":
                return events.cancel()
        raise AssertionError("the stream ended")
