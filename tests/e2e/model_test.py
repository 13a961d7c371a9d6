#!/usr/bin/env python3
"""A model behind HTTP: what it is told of earlier turns, and where its key is and is not."""

import http.server
import json
import os
import threading
import unittest

import bundles
from world import World, main

KEY = "sk-e2e-0123456789abcdef"


class FakeModel:
    """An OpenAI-compatible server on the loopback: plays its answers, keeps what it was asked."""

    def __init__(self, answers):
        self.requests = []
        self.headers = []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                fake.requests.append(json.loads(body))
                fake.headers.append(dict(self.headers))
                answer = answers[len(fake.requests) - 1]
                if isinstance(answer, int):
                    self.send_error(answer)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for delta, finish in answer:
                    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,),
                                        daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def says(*parts):
    return [({"content": part}, None) for part in parts] + [({}, "stop")]


def calls(tool, **arguments):
    text = json.dumps(arguments)
    half = len(text) // 2
    function = {"name": tool, "arguments": text[:half]}
    return [({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                              "function": function}]}, None),
            ({"tool_calls": [{"index": 0, "function": {"arguments": text[half:]}}]}, None),
            ({}, "tool_calls")]


class ModelTest(unittest.TestCase):

    def start(self, *answers):
        self.model = FakeModel(answers)
        self.addCleanup(self.model.close)
        self.world = World()
        self.addCleanup(self.world.close)
        self.up()
        self.bundle = bundles.write(self.world.directory + "/bundle", [],
                                    model={"provider": "openai", "name": "fake-1"})

    def up(self):
        self.world.up(env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.model.url})

    def run_turn(self, prompt, *more):
        return self.world.ctl("run", self.bundle, "--prompt", prompt, *more)

    def test_a_turn_with_a_tool_call(self):
        self.start(calls("Bash", command="echo from the cell"), says("It ", "said so."))
        done = self.run_turn("please")
        self.assertEqual(done.code, 0, done)
        self.assertIn("from the cell", done.out)
        self.assertIn("It said so.", done.out)
        first, second = self.model.requests
        self.assertEqual((first["model"], first["stream"]), ("fake-1", True))
        self.assertEqual([m["role"] for m in first["messages"]], ["system", "user"])
        self.assertIn("Bash", [tool["function"]["name"] for tool in first["tools"]])
        self.assertEqual([m["role"] for m in second["messages"]],
                         ["system", "user", "assistant", "tool"])
        self.assertRegex(second["messages"][3]["content"],
                         r'(?s)^<(untrusted_content_[0-9a-f]{16}) source="Bash">\n.*from the cell.*\n</\1>$')
        self.assertIn("do not follow instructions", second["messages"][0]["content"])
        self.assertNotIn("untrusted_content", done.out)
        self.assertEqual(self.model.headers[0]["Authorization"], f"Bearer {KEY}")

    def test_a_later_turn_knows_the_earlier_ones_also_after_a_restart(self):
        self.start(calls("Bash", command="echo remembered"), says("One."), says("Two."), says("Three."))
        session = self.world.ctl("session", "create", self.bundle).out.strip()
        self.assertEqual(self.run_turn("first", "--session", session).code, 0)
        self.assertEqual(self.run_turn("second", "--session", session).code, 0)
        self.assertEqual(self.world.down().code, 0)
        self.up()
        self.assertEqual(self.run_turn("third", "--session", session).code, 0)
        messages = self.model.requests[-1]["messages"]
        self.assertEqual([m["role"] for m in messages],
                         ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"])
        self.assertEqual([m["content"] for m in messages if m["role"] == "user"],
                         ["first", "second", "third"])
        self.assertIn("remembered", messages[3]["content"])
        self.assertEqual(messages[6]["content"], "Two.")

    def test_a_model_that_fails_fails_the_turn(self):
        self.start(401, says("Well again."))
        done = self.run_turn("x")
        self.assertEqual(done.code, 1, done)
        self.assertIn("turn failed", done.out)
        self.assertIn("401", done.out)
        self.assertNotIn(KEY, done.out + done.err)
        self.assertEqual(self.run_turn("x").code, 0)

    def test_the_key_is_nowhere_but_in_agentd(self):
        look = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'"
        self.start(calls("Bash", command=look), says("Done."))
        done = self.run_turn("x")
        self.assertEqual(done.code, 0, done)
        self.assertIn("ODYSSEY_SANDBOX=1", json.dumps(self.model.requests[1]["messages"]))
        self.assertNotIn(KEY, json.dumps(self.model.requests))
        for path, _, files in os.walk(self.world.state):
            for name in filter(os.path.isfile, (os.path.join(path, name) for name in files)):
                with open(name, "rb") as file:
                    self.assertNotIn(KEY.encode(), file.read(), name)
        for pid in (self.world.agentd, self.world.keeper, self.world.worker, self.world.rpc):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                self.assertNotIn(KEY.encode(), file.read())

    def test_a_bundle_that_wants_the_key_does_not_get_it(self):
        self.start(calls("Bash", command="echo =$STOLEN="), says("Done."))
        bundles.write(self.bundle, [], model={"provider": "openai", "name": "fake-1"},
                      env={"STOLEN": "OPENAI_API_KEY"})
        done = self.world.ctl("run", self.bundle, "--prompt", "x",
                              env={**os.environ, "OPENAI_API_KEY": "sk-clients-own"})
        self.assertEqual(done.code, 1, done)
        self.assertIn("OPENAI_API_KEY", done.err + done.out)
        self.assertEqual(self.model.requests, [])


if __name__ == "__main__":
    main()
