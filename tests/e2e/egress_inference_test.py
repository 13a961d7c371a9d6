"""inference.local: a cell asks models by the operator's routes, with keys that it never sees."""

import json
import os

import host
import model_server
import world
from egress_test import EgressWorld
from host import HANG_S
from network import PRIVATE, PUBLIC

KEY = "sk-operators-own-0123456789"

POLICY = """
version: 1
network_policies:
  models:
    endpoints: [{host: inference.local, ports: [80, 443]}]
    binaries: [{path: /usr/bin/curl}, {path: "/usr/bin/python3*"}]
"""

ROUTE = {"protocol": "openai", "base_url": "https://api.example.com/ok"}
CHAT = {"model": "theirs", "messages": []}


class InferenceWorld(EgressWorld):
    policy = POLICY

    @classmethod
    def serve(cls):
        cls.server = cls.network.serve(PUBLIC, 443, "https", program=model_server.__file__)
        cls.plain = cls.network.serve(PRIVATE, 8080, "http", program=model_server.__file__)
        cls.egress = host.uid(cls.world.daemon("odyssey-egress"))
        cls.key_file = cls.world.make("route.key", KEY + "\n")
        os.chown(cls.key_file, cls.egress, -1)
        os.chmod(cls.key_file, 0o600)

    def setUp(self):
        self.before = len(self.requests())

    def grant(self, *routes, budget=None):
        """What inference.yaml says from now on; a route has the key unless it says another one."""
        names, written = [], []
        for number, route in enumerate(routes):
            written.append({"name": f"r{number}", "key_file": self.key_file, **ROUTE, **route})
            names.append(written[-1]["name"])
        grant = {"users": ["*"], "routes": names, **({"budget": budget} if budget else {})}
        with open(self.world.state + "/inference.yaml", "w", encoding="ascii") as file:
            json.dump({"version": "odyssey.inference/v1", "routes": written, "grants": [grant]}, file)

    def requests(self):
        """What the server under TLS was asked so far."""
        with open(self.server.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def asked(self):
        """The one request of this test: its path, its fields, its body."""
        new = self.requests()[self.before:]
        self.assertEqual(len(new), 1, new)
        fields = {name.lower(): value for name, value in new[0]["fields"]}
        return new[0]["path"], fields, json.loads(new[0]["body"])

    def ask(self, path, body=None, *options, scheme="https", **more):
        """Status and body of the answer."""
        data = ["-d", json.dumps(body), "-H", "Content-Type: application/json"] if body is not None else []
        done = self.curl(f"{scheme}://inference.local{path}", *data, *options, "-w", "\n%{http_code}", **more)
        text, _, status = done.out.rpartition("\n")
        return status, text

    def python(self, script):
        done = self.run_in_cell("python3", "-c", script)
        self.assertEqual(done.code, 0, done)
        return done.out


class InferenceTest(InferenceWorld):
    def test_any_key_and_model_are_replaced(self):
        self.grant({"model": "large", "price": {"input": 1, "output": 2}})
        status, text = self.ask("/v1/chat/completions?key=theirs&api-version=theirs", CHAT,
                                "-H", "Authorization: Bearer theirs", "-H", "X-Api-Key: theirs",
                                "-H", "OpenAI-Organization: theirs", "-H", "Cookie: theirs")
        self.assertEqual((status, json.loads(text)["model"]), ("200", "large"))
        path, fields, body = self.asked()
        self.assertEqual(path, "/ok/v1/chat/completions")
        self.assertEqual(fields["authorization"], "Bearer " + KEY)
        self.assertEqual(fields["host"], "api.example.com")
        self.assertEqual(body, {"model": "large", "messages": []})
        self.assertNotIn("theirs", json.dumps(self.requests()[self.before:]))
        record = self.assertRecord(route="r0", model="large")
        self.assertEqual(
            [record[name] for name in ("host", "path", "tokens_in", "tokens_out", "cost_microdollars", "status")],
            ["inference.local", "/v1/chat/completions", 7, 5, 17, 200])

    def test_three_protocols(self):
        self.grant({}, {"protocol": "anthropic"}, {"protocol": "gemini", "model": "g-2"})
        for path, body, sent_path, field in (
                ("/v1/responses", {"model": "m", "input": ""}, "/ok/v1/responses", "authorization"),
                ("/v1/embeddings", {"model": "m", "input": ""}, "/ok/v1/embeddings", "authorization"),
                ("/v1/messages", {"model": "m", "messages": []}, "/ok/v1/messages", "x-api-key"),
                ("/v1/messages/count_tokens", {"model": "m"}, "/ok/v1/messages/count_tokens", "x-api-key"),
                ("/v1beta/models/g-1:generateContent", {"contents": []},
                 "/ok/v1beta/models/g-2:generateContent", "x-goog-api-key")):
            self.setUp()
            status, text = self.ask(path, body, "-H", "Anthropic-Version: 2023-06-01")
            self.assertEqual(status, "200", (path, text))
            asked_path, fields, _ = self.asked()
            self.assertEqual(asked_path, sent_path)
            self.assertTrue(fields[field].endswith(KEY), fields)
            self.assertEqual(fields["anthropic-version"], "2023-06-01")
        self.assertRecord(path="/v1/messages", model="m", tokens_in=7, tokens_out=5)
        self.assertRecord(path="/v1beta/models/g-1:generateContent", model="g-2", tokens_in=7)
        counted = self.assertRecord(path="/v1/messages/count_tokens", verdict="allowed")
        self.assertNotIn("tokens_in", counted)

    def test_streams_pass_at_once(self):
        """The first event is read before the server may send the second."""
        self.grant({})
        out = self.python(
            "import json, urllib.request as u\n"
            "def ask(model):\n"
            "  body = json.dumps({'model': model, 'stream': model == 'wait', 'messages': []}).encode()\n"
            "  return u.urlopen('https://inference.local/v1/chat/completions', body)\n"
            "stream = ask('wait')\nprint(stream.readline().decode().strip(), flush=True)\n"
            "ask('release').read()\nprint(stream.read().decode())\n")
        self.assertEqual(out.split("\n")[0], 'data: {"choices": [{"delta": {"content": "hello"}}]}')
        # The usage that only the worker asked for is not the client's.
        self.assertNotIn("usage", out)
        self.assertIn("[DONE]", out)
        record = self.assertRecord(model="wait", verdict="allowed")
        self.assertEqual((record["tokens_in"], record["tokens_out"]), (7, 5))

    def test_usage_of_streams(self):
        self.grant({}, {"protocol": "anthropic"}, {"protocol": "gemini"})
        stream = {"stream": True, "model": "streamed"}
        for path, body in (("/v1/messages", stream), ("/v1/responses", stream),
                           ("/v1beta/models/streamed:streamGenerateContent?alt=sse", {})):
            status, _ = self.ask(path, body, "-N")
            self.assertEqual(status, "200", path)
            self.assertRecord(path=path.split("?")[0], model="streamed", tokens_in=7, tokens_out=5)
        asked = {"stream_options": {"include_usage": True}, **stream, "messages": []}
        self.assertIn("usage", self.ask("/v1/chat/completions", asked)[1])

    def test_the_next_route_is_tried_before_anything_is_answered(self):
        busy = "https://api.example.com/busy"
        self.grant({"base_url": busy}, {"base_url": "https://other.example.org"},
                   {"base_url": "https://loop.example.com"}, {"model": "last"})
        status, text = self.ask("/v1/chat/completions", CHAT)
        self.assertEqual((status, json.loads(text)["model"]), ("200", "last"))
        record = self.assertRecord(route="r3", model="last")
        for words in ("r0: answered 429", "r1: ", "r2: "):
            self.assertIn(words, record["reason"])
        self.assertIn("refused", record["reason"])
        self.assertIn("no policy opens: this machine", record["reason"])
        self.grant({"base_url": "https://other.example.org"}, {"base_url": busy})
        self.assertEqual(self.ask("/v1/chat/completions", CHAT), ("429", '{"error": {"message": "busy"}}'))
        self.grant({"base_url": "https://other.example.org"})
        status, text = self.ask("/v1/chat/completions", CHAT)
        self.assertEqual((status, json.loads(text)["error"]["code"]), ("502", "upstream_unreachable"))

    def test_an_address_of_the_operators_without_tls(self):
        self.grant({"base_url": f"http://{PRIVATE}:8080/ok"})
        self.assertEqual(self.ask("/v1/chat/completions", CHAT)[0], "200")
        with open(self.plain.log, encoding="utf-8") as file:
            self.assertIn(KEY, file.read())

    def test_what_is_refused(self):
        self.grant({"models": ["small-*"]})
        for path, body, method, status in (
                ("/admin", CHAT, "POST", "403"), ("/v1/files", CHAT, "POST", "403"),
                ("/v1/chat/completions", None, "GET", "405"), ("/v1/models", None, "DELETE", "405"),
                ("/v1/chat/completions", "x", "POST", "400"), ("/v1/chat/completions", CHAT, "POST", "403"),
                ("/v1/messages", CHAT, "POST", "400"), ("/v1/chat//completions", CHAT, "POST", "400")):
            answered, text = self.ask(path, body, "-X", method)
            self.assertEqual(answered, status, (path, text))
        error = json.loads(self.ask("/v1/chat/completions", CHAT)[1])["error"]
        self.assertEqual((error["code"], error["type"]), ("model_not_allowed", "permission_error"))
        self.assertRecord(code="model_not_allowed", model="theirs", verdict="denied", count=2)
        self.assertEqual(self.ask("/v1/chat/completions", {"model": "small-1"})[0], "200")
        self.assertEqual(len(self.requests()), self.before + 1)

    def test_models_are_those_of_the_routes(self):
        self.grant({"models": ["small-*", "tiny"]}, {"protocol": "gemini", "model": "g-2"})
        self.assertEqual([model["id"] for model in json.loads(self.ask("/v1/models")[1])["data"]], ["tiny"])
        self.assertEqual(json.loads(self.ask("/v1beta/models")[1])["models"][0]["name"], "models/g-2")
        self.assertEqual(self.requests()[self.before:], [])

    def test_every_way_in(self):
        self.grant({})
        for scheme, *options in (("https",), ("http",), ("https", "--proxy", "socks5h://127.0.0.1:3128"),
                                 ("https", "--noproxy", "*"), ("http", "--noproxy", "*")):
            status, text = self.ask("/v1/chat/completions", CHAT, *options, scheme=scheme)
            self.assertEqual(status, "200", (scheme, options, text))
        done = self.run_in_cell("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT inference.local:443 "
                                "HTTP/1.1\\r\\nHost: inference.local:443\\r\\n\\r\\n' >&3; head -1 <&3")
        self.assertIn(" 403 ", done.out, "a program that no rule names")

    def test_another_host_is_untouched(self):
        self.grant({})
        self.assertEqual(self.curl("https://api.example.com/").code, 56)

    def test_an_answer_that_is_cut_looks_cut_and_is_not_free(self):
        self.grant({"base_url": "https://api.example.com/cut"})
        done = self.curl("https://inference.local/v1/chat/completions", "-d",
                         json.dumps({"model": "cut", "stream": True, "messages": []}))
        self.assertNotEqual(done.code, 0, done)
        self.assertGreater(self.assertRecord(model="cut")["tokens_out"], 1)

    def test_without_a_route_nothing_is_asked(self):
        self.grant({})
        os.unlink(self.world.state + "/inference.yaml")
        self.assertEqual(self.ask("/v1/chat/completions", CHAT)[0], "403")
        self.assertEqual(json.loads(self.ask("/v1/models")[1])["data"], [])


class BudgetTest(InferenceWorld):
    def statuses(self, count):
        """Of so many requests of one cell."""
        one = ["https://inference.local/v1/messages", "-o", "/dev/null", "-w", "%{http_code} ", "-d",
               json.dumps({"model": "m", "messages": []})]
        command = ["curl", "-sS", "--max-time", "60"]
        for number in range(count):
            command += (["--next", "-sS"] if number else []) + one
        return self.run_in_cell(*command).out.split()

    def test_tokens(self):
        self.grant({"protocol": "anthropic"}, budget={"tokens": 20})
        self.assertEqual(self.statuses(4), ["200", "200", "429", "429"])
        self.assertRecord(code="budget_exceeded", verdict="denied", status=429, count=2,
                          reason="this sandbox has used its 20 tokens")
        self.assertEqual(self.statuses(1), ["200"], "another cell")

    def test_cost(self):
        self.grant({"protocol": "anthropic", "price": {"input": 1000, "output": 1000}}, budget={"cost_usd": 0.01})
        self.assertEqual(self.statuses(2), ["200", "429"])

    def test_requests_per_minute(self):
        self.grant({"protocol": "anthropic"}, budget={"requests_per_minute": 2})
        self.assertEqual(self.statuses(3), ["200", "200", "429"])

    def test_the_answer_has_the_form_of_the_protocol(self):
        self.grant({"protocol": "anthropic"}, budget={"tokens": 1})
        out = self.python(
            "import json, urllib.request as u, urllib.error as e\n"
            "def ask(): return u.urlopen('https://inference.local/v1/messages', b'{\"model\": \"m\"}')\n"
            "ask().read()\ntry: ask()\nexcept e.HTTPError as e: print(e.code, e.read().decode())\n")
        status, text = out.split(" ", 1)
        error = json.loads(text)
        self.assertEqual((status, error["type"], error["error"]["type"]), ("429", "error", "rate_limit_error"))

    def test_a_worker_that_dies_takes_no_count_with_it(self):
        self.grant({"protocol": "anthropic"}, budget={"tokens": 10})
        body = json.dumps({"model": "m", "messages": []})
        loop = ("while read x; do curl -s -o /dev/null -w '%{http_code}\\n' -d '" + body +
                "' https://inference.local/v1/messages; done")
        cell = self.world.start("exec", "--policy", self.policy_file, "--", "bash", "-c", loop,
                                stdin=world.subprocess.PIPE)

        def ask(lines):
            cell.process.stdin.write(b"\n")
            cell.process.stdin.flush()
            host.eventually(lambda: cell.out.count("\n") == lines, HANG_S, lambda: cell.out + cell.err)

        ask(1)
        os.kill(self.world.daemon("odyssey-egress-worker"), world.signal.SIGKILL)
        ask(2)
        cell.process.stdin.close()
        self.assertEqual(cell.out, "200\n429\n")


class KeyTest(InferenceWorld):
    def test_an_echo_does_not_have_it(self):
        self.grant({"base_url": "https://api.example.com/echo"})
        status, text = self.ask("/v1/chat/completions", CHAT, "-i")
        self.assertEqual(status, "400")
        self.assertIn("Bearer " + "*" * len(KEY), text)
        self.assertNotIn(KEY, text)
        self.assertNotIn("set-cookie", text.lower())

    def test_no_file_of_the_cell_no_environment_and_no_record_has_it(self):
        self.grant({})
        self.assertEqual(self.ask("/v1/chat/completions", CHAT)[0], "200")
        pattern = KEY[:5] + "[" + KEY[5] + "]" + KEY[6:]
        done = self.run_in_cell("bash", "-c", f"curl -s -d '{json.dumps(CHAT)}' https://inference.local/v1/chat/"
                                f"completions >/dev/null; grep -rsl --exclude-dir=sys '{pattern}' /etc /tmp /app /run "
                                "/home /proc/*/environ /proc/*/cmdline; env; echo end")
        self.assertTrue(done.out.endswith("end\n"), done)
        self.assertNotIn(KEY, done.out)
        self.assertNotIn("/", done.out.split("=", 1)[0], done)
        self.assertNotIn(KEY, json.dumps(self.records()))

    def test_a_key_that_others_may_read_is_not_used(self):
        open_key = self.world.make("open.key", KEY)
        os.chown(open_key, self.egress, -1)
        self.grant({"key_file": open_key})
        self.assertEqual(self.ask("/v1/chat/completions", CHAT)[0], "403")
        self.assertEqual(self.requests()[self.before:], [])


if __name__ == "__main__":
    world.main()
