#!/usr/bin/python3 -B
"""Prints each event of a session once, also over restarts of agentd. usage: follow_events.py SESSION [AFTER]

A line an event: its sequence number, its type, its fields as JSON. AFTER is the last sequence number that was read.
"""

import json
import os
import sys
import time

import grpc
from google.protobuf.json_format import MessageToDict
from odyssey_stubs import connect, load, show

session_pb, session_grpc = load("agent.v1.session")
SOCKET = os.environ.get("ODYSSEY_AGENTD_SOCKET", "/run/odyssey/agentd.sock")
GIVE_UP_S = 30  # without agentd


def main(session, after=0):
    with connect(SOCKET) as channel:
        sessions = session_grpc.SessionServiceStub(channel)
        give_up = time.monotonic() + GIVE_UP_S
        while True:
            try:
                for event in sessions.Subscribe(session_pb.SubscribeRequest(
                        session_id=session, after_sequence=after, follow=True)):
                    kind = event.WhichOneof("payload")  # None: of a type that these .proto files do not have
                    fields = MessageToDict(getattr(event, kind), preserving_proto_field_name=True) if kind else {}
                    print(event.sequence, kind, json.dumps(fields, ensure_ascii=False), flush=True)
                    after = event.sequence  # where the next subscription goes on
                    give_up = time.monotonic() + GIVE_UP_S
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > give_up:
                    show(error)  # NOT_FOUND: the session was removed
                    return 1
                print(f"lost agentd after event {after}; connecting again", file=sys.stderr, flush=True)
            time.sleep(0.5)


try:
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0))
except KeyboardInterrupt:
    pass
