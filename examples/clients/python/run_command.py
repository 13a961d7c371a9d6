#!/usr/bin/python3 -B
"""Runs a command in a cell of its own. usage, as root: run_command.py COMMAND [WORD…]; ends as the command does."""

import os
import sys

import grpc
from odyssey_stubs import connect, load, show

policy, _, supervisor, supervisor_grpc = load("policy.v1.policy", "supervisor.v1.supervisor")
SOCKET = os.environ.get("ODYSSEY_SUPERVISOR_SOCKET", "/run/odyssey/supervisor.sock")


def run(stub, argv):
    prepared = stub.PrepareCell(supervisor.PrepareCellRequest(
        key=supervisor.CellKey(agent_id="example", kind="command", component=f"run-{os.getpid()}"),
        sandbox=policy.Sandbox(mode=policy.MODE_WORKSPACE_WRITE, network=policy.NETWORK_NONE,
                               executables_mode=policy.EXECUTABLES_MODE_STANDARD),
        ephemeral=True,     # nothing of it stays on disk
        single_use=True),   # the cell ends with the command, or with this client
        timeout=60)
    start = supervisor.ExecStart(cell_id=prepared.cell.cell_id, argv=argv, wall_clock_ms=60_000)
    # The requests are a stream: after `start` could come stdin, signals and the size of a terminal.
    for answer in stub.Exec(iter([supervisor.ExecRequest(start=start)]), timeout=90):
        kind = answer.WhichOneof("message")
        if kind == "output":
            out = sys.stderr if answer.output.stream == supervisor.OUTPUT_STREAM_STDERR else sys.stdout
            out.buffer.write(answer.output.data)
            out.flush()
        elif kind == "denial":
            denial = answer.denial
            print(f"denied: {denial.access} {denial.resource} by {denial.rule}; would need {denial.grant or 'nothing'}",
                  file=sys.stderr)
        elif kind == "outcome":  # the last one
            return answer.outcome


def main():
    with connect(SOCKET) as channel:
        try:
            outcome = run(supervisor_grpc.SupervisorStub(channel), sys.argv[1:])
        except grpc.RpcError as error:
            show(error)
            return 125
    print(f"{supervisor.OutcomeKind.Name(outcome.kind)} exit_code={outcome.exit_code} signal={outcome.signal} "
          f"{outcome.message}", file=sys.stderr)
    return outcome.exit_code if outcome.kind == supervisor.OUTCOME_KIND_EXITED else 125


sys.exit(main())
