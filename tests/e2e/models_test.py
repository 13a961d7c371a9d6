#!/usr/bin/env python3
"""Each protocol of a model provider, spoken by a server on the loopback that also misbehaves."""

import http.server
import json
import threading
import time
import unittest

import bundles
from world import World, main

KEY = "sk-e2e-0123456789abcdef"
COMMAND = {"command": "echo from the cell"}

# provider → the prefix of its variables, and more of its model's configuration
PROVIDERS = {
    "openai": ("OPENAI", {}),
    "openai-responses": ("OPENAI", {"api": "responses", "reasoning_effort": "low"}),
    "anthropic": ("ANTHROPIC", {"reasoningBudgetTokens": 1024}),
    "gemini": ("GOOGLE", {}),
}


def chat(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def gemini(part, finish=None):
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": finish}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}}


CALLS = {
    "/chat/completions": [
        chat({"reasoning_content": "OPAQUE"}),
        chat({"tool_calls": [{"index": 0, "id": "c", "function": {
            "name": "Bash", "arguments": json.dumps(COMMAND)}}]}),
        chat({}, "tool_calls")],
    "/responses": [
        {"type": "response.output_item.done", "item": {
            "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "OPAQUE"}},
        {"type": "response.output_item.done", "item": {
            "type": "function_call", "call_id": "c", "name": "Bash", "arguments": json.dumps(COMMAND)}},
        {"type": "response.completed", "response": {"status": "completed"}}],
    "/messages": [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {
            "type": "signature_delta", "signature": "OPAQUE"}},
        {"type": "content_block_start", "index": 1, "content_block": {
            "type": "tool_use", "id": "c", "name": "Bash", "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {
            "type": "input_json_delta", "partial_json": json.dumps(COMMAND)}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}],
    ":streamGenerateContent": [
        gemini({"functionCall": {"name": "Bash", "args": COMMAND}, "thoughtSignature": "OPAQUE"}),
        gemini({"text": ""}, "STOP")],
}
SAYS = {
    "/chat/completions": [chat({"content": "It said so."}), chat({}, "stop")],
    "/responses": [{"type": "response.output_text.delta", "delta": "It said so."},
                   {"type": "response.completed", "response": {"status": "completed"}}],
    "/messages": [{"type": "content_block_delta", "index": 0, "delta": {
                      "type": "text_delta", "text": "It said so."}},
                  {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}],
    ":streamGenerateContent": [gemini({"text": "It said so."}, "STOP")],
}


def events(chunks):
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


class Provider:
    """Answers the requests in order: CALLS or SAYS in the protocol of the path, or what a test's
    function of the request's handler does."""

    def __init__(self, answers):
        self.requests = []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.requests.append({"path": self.path, "headers": dict(self.headers), "body": body,
                                      "at": time.monotonic()})
                answer = answers[len(fake.requests) - 1]
                if callable(answer):
                    answer(self)
                    return
                path = next(end for end in answer if self.path.split("?")[0].endswith(end))
                self.stream(events(answer[path]))

            def stream(self, data):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class ModelsTest(unittest.TestCase):

    def start(self, name, *answers):
        self.provider = Provider(answers)
        self.addCleanup(self.provider.close)
        self.world = World()
        self.addCleanup(self.world.close)
        prefix, config = PROVIDERS[name]
        self.world.up(env={prefix + "_API_KEY": KEY, prefix + "_BASE_URL": self.provider.url})
        self.bundle = bundles.write(self.world.directory + "/bundle", [],
                                    model={"provider": name.removesuffix("-responses"), "name": "m",
                                           "config": config})

    def run_turn(self):
        return self.world.ctl("run", self.bundle, "--prompt", "please")

    def a_turn_with_a_tool_call(self, name):
        self.start(name, CALLS, SAYS)
        done = self.run_turn()
        self.assertEqual(done.code, 0, done)
        self.assertIn("from the cell", done.out)
        self.assertIn("It said so.", done.out)
        self.assertNotIn(KEY, done.out + done.err)
        first, second = self.provider.requests
        self.assertIn(KEY, json.dumps(first["headers"]))
        self.assertNotIn("OPAQUE", json.dumps(first["body"]))
        self.assertIn("OPAQUE", json.dumps(second["body"]))
        self.assertIn("from the cell", json.dumps(second["body"]))

    def test_chat(self):
        self.a_turn_with_a_tool_call("openai")

    def test_responses(self):
        self.a_turn_with_a_tool_call("openai-responses")

    def test_anthropic(self):
        self.a_turn_with_a_tool_call("anthropic")

    def test_gemini(self):
        self.a_turn_with_a_tool_call("gemini")

    def test_an_error_with_http_200_fails_the_turn_with_its_words(self):
        self.start("openai", lambda handler: handler.stream(b'{"error": {"message": "no credit left"}}'))
        done = self.run_turn()
        self.assertEqual(done.code, 1, done)
        self.assertIn("no credit left", done.out)

    def test_an_answer_that_is_cut_is_shown_as_such(self):
        self.start("openai", {"/chat/completions": [chat({"content": "Half"}), chat({}, "length")]})
        done = self.run_turn()
        self.assertEqual(done.code, 0, done)
        self.assertIn("it reached the limit of tokens", done.out)

    def test_retry_after_is_honoured(self):
        def busy(handler):
            handler.send_response(429)
            handler.send_header("Retry-After", "2")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        self.start("openai", busy, SAYS)
        done = self.run_turn()
        self.assertEqual(done.code, 0, done)
        first, second = self.provider.requests
        self.assertGreaterEqual(second["at"] - first["at"], 1.9)

    def test_cancel_closes_the_connection(self):
        waits, closed = threading.Event(), threading.Event()

        def hang(handler):
            handler.stream(events([chat({"content": "Thinking"})]))
            handler.wfile.flush()
            waits.set()
            if handler.connection.recv(1) == b"":
                closed.set()
        self.start("openai", hang)
        session = self.world.ctl("session", "create", self.bundle).out.strip()
        run = self.world.start("run", self.bundle, "--session", session, "--prompt", "please")
        self.assertTrue(waits.wait(20))
        self.assertEqual(self.world.ctl("session", "cancel", session).code, 0)
        self.assertTrue(closed.wait(2))
        run.ended()
        self.assertIn("turn cancelled", run.out)

    def test_validate_refuses_what_a_session_refuses(self):
        self.start("openai")
        for model, word in (({"provider": "bogus", "name": "m"}, "bogus"),
                            ({"provider": "openai", "name": "m", "config": {"speed": 1}}, "speed"),
                            ({"provider": "gemini", "name": "m", "config": {"topK": 0}}, "topK")):
            bundles.write(self.bundle, [], model=model)
            for command in (["bundle", "validate"], ["run", "--prompt", "x"]):
                done = self.world.ctl(*command[:2 if command[0] == "bundle" else 1], self.bundle,
                                      *command[1 if command[0] == "run" else 2:])
                self.assertEqual(done.code, 1, done)
                self.assertIn(word, done.out + done.err)
        self.assertEqual(self.provider.requests, [])


if __name__ == "__main__":
    main()
