"""What the examples share: the messages and services as Python modules, a connection, and how an error is shown.

protoc makes the modules of the .proto files anew at each start, in a directory that is gone afterwards. A program of
your own makes them once, when it is built.
"""

import glob
import importlib
import os
import shutil
import subprocess
import sys
import tempfile

import grpc

INCLUDE = os.environ.get("ODYSSEY_INCLUDE", "/usr/include")  # where odyssey-dev installs odyssey/


def load(*names):
    """load("agent.v1.session") has the messages and the stubs of odyssey/agent/v1/session.proto."""
    with tempfile.TemporaryDirectory() as made:
        protos = glob.glob(f"{INCLUDE}/odyssey/*/v1/*.proto")
        subprocess.run(["protoc", "-I", INCLUDE, f"--python_out={made}", f"--grpc_out={made}",
                        f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}", *protos], check=True)
        sys.path.insert(0, made)
        modules = [importlib.import_module(f"odyssey.{name}_pb2{kind}") for name in names for kind in ("", "_grpc")]
        importlib.import_module("odyssey.policy.v1.failure_pb2")
        sys.path.remove(made)
    return modules


def connect(socket):
    # gRPC itself waits longer and longer between its attempts, and takes no message above 4 MiB.
    return grpc.insecure_channel(f"unix:{socket}", options=[("grpc.max_reconnect_backoff_ms", 1000),
                                                            ("grpc.max_receive_message_length", 17 << 20)])


def show(error):
    """Prints a grpc.RpcError: code and message, and of its details what the call is about."""
    failure_pb2 = sys.modules["odyssey.policy.v1.failure_pb2"]
    print(f"{error.code().name}: {error.details()}", file=sys.stderr)
    details = failure_pb2.ErrorDetails()
    details.ParseFromString(dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b""))
    for detail in details.details:
        failure = failure_pb2.Failure()
        if detail.Unpack(failure):  # other types may come beside it
            for name in ("field", "value", "allowed", "hint"):
                if getattr(failure, name):
                    print(f"  {name}: {getattr(failure, name)}", file=sys.stderr)
