#!/usr/bin/python3 -B
"""Runs one turn of a bundle and answers what it asks. usage: run_turn.py BUNDLE PROMPT allow|deny

BUNDLE is a directory or a reference. A program that asks a person shows all of the request before it answers.
"""

import os
import sys
import uuid

import grpc
from odyssey_stubs import connect, load, show

session_pb, session_grpc, approval_pb, approval_grpc = load("agent.v1.session", "agent.v1.approval")
SOCKET = os.environ.get("ODYSSEY_AGENTD_SOCKET", "/run/odyssey/agentd.sock")
S = 30  # seconds that a call may take


def answer(approvals, request, decision):
    print(f"{request.tool_name} asks, by the rule {request.rule}: {request.arguments_json}")
    done = approvals.ResolveApproval(approval_pb.ResolveApprovalRequest(
        request_id=request.request_id, digest=request.digest, note="by the example",
        decision=approval_pb.DECISION_ALLOW_ONCE if decision == "allow" else approval_pb.DECISION_DENY), timeout=S)
    print(f"answered: {decision}" if done.resolved else "another client has answered, or the time was over")


def run(channel, bundle, prompt, decision):
    sessions, approvals = session_grpc.SessionServiceStub(channel), approval_grpc.ApprovalServiceStub(channel)
    bundle = os.path.abspath(bundle) if os.path.isdir(bundle) else bundle
    session = sessions.CreateSession(session_pb.CreateSessionRequest(bundle=bundle, cwd=os.getcwd()), timeout=S).session
    print(f"session {session.id}")
    # A call with the same key may be repeated after a lost connection: there is one turn all the same.
    turn = sessions.SubmitTurn(session_pb.SubmitTurnRequest(
        session_id=session.id, prompt=prompt, deadline_ms=600_000, idempotency_key=str(uuid.uuid4())), timeout=S)
    events = sessions.Subscribe(session_pb.SubscribeRequest(
        session_id=session.id, after_sequence=turn.after_sequence, follow=True))
    for event in events:
        kind = event.WhichOneof("payload")
        payload = getattr(event, kind) if kind else None  # None: of a type that these .proto files do not have
        if kind == "permission_requested":
            answer(approvals, payload, decision)
        elif kind == "tool_call_finished":
            print(f"{payload.tool_name}: {payload.result_json}")
        elif kind in ("turn_completed", "turn_failed", "turn_cancelled"):
            print(f"{kind}: {getattr(payload, 'message', '')}")
            return 0 if kind == "turn_completed" else 1
    raise RuntimeError("the events ended before the turn")


def main():
    with connect(SOCKET) as channel:
        try:
            return run(channel, *sys.argv[1:4])
        except grpc.RpcError as error:
            show(error)
            return 1


sys.exit(main())
