#!/usr/bin/env python3
"""Bundles over a real `hub serve`, from one store to another, and over hubs that lie."""

import base64
import hashlib
import http.server
import json
import os
import signal
import struct
import threading
import unittest

import bundles
from world import World, main


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def parts(ns="local", version="0.1.0", layer=b"layer"):
    """Manifest, config and layer of a bundle."""
    config = json.dumps({"schema_version": 1, "id": "demo", "version": version, "namespace": ns, "readme": ""}).encode()
    manifest = json.dumps({"schemaVersion": 2,
                           "config": {"digest": digest_of(config), "size": len(config)},
                           "layers": [{"digest": digest_of(layer), "size": len(layer)}]}).encode()
    return manifest, config, layer


def archive(*blobs):
    index = json.dumps({"schemaVersion": 2, "manifests": [{"digest": digest_of(blobs[0]), "size": len(blobs[0])}]}).encode()
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}\n', "index.json": index}
    files |= {"blobs/sha256/" + digest_of(blob)[7:]: blob for blob in blobs}
    out = b"ODYB1\n" + struct.pack("<I", len(files))
    for path, data in sorted(files.items()):
        out += struct.pack("<I", len(path)) + path.encode() + struct.pack("<Q", len(data)) + data
    return out


def pull_answer(manifest, config, layer, signature=None, version="0.1.0"):
    answer = {"manifestBytes": base64.b64encode(manifest).decode(), "configBytes": base64.b64encode(config).decode(),
              "layers": [{"digest": digest_of(layer), "bytes": base64.b64encode(layer).decode()}],
              "version": {"version": version, "manifestDigest": digest_of(manifest)}}
    if signature:
        answer["signature"] = signature
    return answer


class FakeHub:
    """Answers every POST with one status, headers and body, and keeps the requests."""

    def __init__(self, status, body, headers=()):
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):

            def do_POST(handler):
                length = int(handler.headers["Content-Length"])
                self.requests.append((handler.path, dict(handler.headers), handler.rfile.read(length)))
                handler.send_response(status)
                for name, value in headers:
                    handler.send_header(name, value)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HubCase(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.home = self.world.make_directory("home")
        self.archive = self.world.directory + "/demo.odyssey"
        self.write(self.archive, archive(*parts()))

    def write(self, path, data):
        with open(path, "wb") as file:
            file.write(data)

    def ctl(self, *arguments, **environment):
        return self.world.ctl(*arguments, env={**os.environ, "HOME": self.home, **environment})

    def fake(self, status, body, headers=()):
        hub = FakeHub(status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers)
        self.addCleanup(hub.close)
        return hub

    def assertDone(self, done):
        self.assertEqual((done.code, done.err), (0, ""), done)

    def assertRefused(self, done, *words):
        self.assertEqual(done.code, 1, done)
        for word in words:
            self.assertIn(word, done.err)

    def keygen(self, name):
        path = f"{self.home}/{name}"
        self.assertDone(self.ctl("hub", "keygen", path))
        return path

    def trust(self, ns, key):
        with open(key + ".pub", encoding="ascii") as file:
            self.world.make("home/.config/odyssey/trusted-keys", f"{ns} {file.read()}")


class ServeTest(HubCase):

    def setUp(self):
        super().setUp()
        self.serve()

    def serve(self, *options, **environment):
        running = self.world.start("hub", "serve", self.world.directory + "/hub", "--bind", "127.0.0.1:0", *options,
                                   env={**os.environ, **environment})
        self.addCleanup(running.kill)
        running.until("serving ")
        self.running, self.url = running, running.out.split()[-1]

    def push(self, *options, to="team/demo:0.1.0", **environment):
        return self.ctl("bundle", "push", self.archive, "--to", to, "--hub", self.url, *options, **environment)

    def pull(self, reference, *options, **environment):
        return self.ctl("bundle", "pull", reference, "--hub", self.url, "--archive", self.home, *options, **environment)

    def test_pushes_and_pulls(self):
        pushed = self.push()
        self.assertDone(pushed)
        self.assertRegex(pushed.out, r"^published demo@0\.1\.0 sha256:[0-9a-f]{64}\n$")
        digest = pushed.out.split()[-1]
        path = self.home + "/demo-0.1.0.odyssey"
        for reference in ("team/demo", "team/demo:0.1.0", "team/demo@latest", "team/demo@" + digest):
            pulled = self.pull(reference)
            self.assertDone(pulled)
            self.assertEqual(pulled.out, f"pulled team/demo@0.1.0 {path}\n")
            os.rename(path, self.home + "/again")
        # What was pulled is an archive that can be pushed again, unchanged.
        again = self.ctl("bundle", "push", self.home + "/again", "--to", "team/demo", "--registry", self.url)
        self.assertDone(again)
        self.assertIn(digest, again.out)

    def test_takes_the_hub_from_the_environment_and_prints_json(self):
        done = self.ctl("-o", "json", "bundle", "push", self.archive, "--to", "team/demo", ODYSSEY_HUB_URL=self.url)
        self.assertDone(done)
        self.assertEqual((done.json()["namespace"], done.json()["signed"]), ("team", False))

    def test_refuses_targets(self):
        for target, why in (("demo:1", "publish target must be a namespaced remote reference"),
                            ("team/demo:0.2.0", "publish target version 0.2.0 does not match bundle version 0.1.0"),
                            ("team/other:0.1.0", "publish target id other does not match bundle id demo")):
            self.assertRefused(self.push(to=target), why)

    def test_answers_missing(self):
        self.assertRefused(self.pull("team/none"), "http error: hub returned 404 Not Found: missing")

    def test_keeps_a_tag(self):
        self.assertDone(self.push())
        self.write(self.archive, archive(*parts(layer=b"other")))
        self.assertRefused(self.push(), "hub returned 409 Conflict: team/demo@0.1.0: exists")
        self.running.kill()
        self.serve("--allow-replace")
        self.assertDone(self.push())

    def test_needs_its_token(self):
        self.running.kill()
        self.serve(ODYSSEY_HUB_TOKEN="right")
        self.assertRefused(self.push(), "hub returned 401 Unauthorized")
        self.assertRefused(self.push(ODYSSEY_HUB_TOKEN="wrong"), "hub returned 401 Unauthorized")
        self.assertDone(self.push(ODYSSEY_HUB_TOKEN="right"))

    def test_needs_a_token_off_loopback(self):
        done = self.ctl("hub", "serve", self.home + "/hub", "--bind", "0.0.0.0:0", ODYSSEY_HUB_TOKEN="")
        self.assertRefused(done, "set ODYSSEY_HUB_TOKEN")

    def test_ends_at_sigterm(self):
        os.kill(self.running.pid, signal.SIGTERM)
        self.assertEqual(self.running.ended().code, 0)

    def test_checks_signatures(self):
        ann, bob = self.keygen("ann"), self.keygen("bob")
        self.assertDone(self.push())
        self.assertRefused(self.pull("team/demo", "--verify", ann + ".pub"), "not signed")
        self.assertDone(self.push("--sign", ann))
        self.assertDone(self.pull("team/demo", "--verify", bob + ".pub", "--verify", ann + ".pub"))
        self.assertRefused(self.pull("team/demo", "--verify", bob + ".pub"), "not signed by a trusted key")
        self.trust("team", ann)
        self.assertDone(self.pull("team/demo"))
        self.trust("team", bob)
        self.assertRefused(self.pull("team/demo"), "not signed by a trusted key")
        self.trust("other", bob)
        self.assertDone(self.pull("team/demo"))

    def test_refuses_a_key_that_others_can_read(self):
        key = self.keygen("ann")
        os.chmod(key, 0o644)
        self.assertRefused(self.push("--sign", key), "other users can read it")
        self.assertRefused(self.ctl("hub", "keygen", key), "File exists")


class TwoHostsTest(HubCase):
    """One host pushes from its store, and another pulls into its own."""

    def setUp(self):
        super().setUp()
        self.other = World()
        self.addCleanup(self.other.close)
        self.world.up()
        self.other.up()
        self.scratch = self.world.make_directory("scratch")
        hub = self.world.start("hub", "serve", self.world.directory + "/hub", "--bind", "127.0.0.1:0",
                               "--allow-replace")
        self.addCleanup(hub.kill)
        hub.until("serving ")
        self.url = hub.out.split()[-1]

    def on(self, world, *arguments):
        return world.ctl(*arguments, env={**os.environ, "HOME": self.home, "ODYSSEY_HUB_URL": self.url,
                                          "TMPDIR": self.scratch})

    def ok(self, world, *arguments):
        done = self.on(world, *arguments)
        self.assertDone(done)
        return done.out

    def source(self, text):
        return bundles.write(self.world.directory + "/source", [bundles.say(text)], bundle_id="demo")

    def push(self, source):
        """The digest on the hub."""
        published = self.ok(self.world, "bundle", "push", source, "--to", "team/demo")
        self.assertRegex(published, r"^published demo@0\.1\.0 sha256:[0-9a-f]{64}\n$")
        return published.split()[-1]

    def test_one_store_pushes_and_another_pulls_and_runs(self):
        source = self.source("From the hub.")
        self.ok(self.world, "bundle", "install", source)
        digest = self.push("demo")
        self.assertEqual(self.push(source), digest)
        self.assertEqual(self.push(self.ok(self.world, "bundle", "export", "demo", "--output", self.home).split()[1]),
                         digest)

        words = self.ok(self.other, "bundle", "pull", "team/demo").split()
        self.assertEqual(words[:2], ["pulled", "team/demo@0.1.0"])
        self.assertTrue(words[2].startswith(self.other.state + "/"), words)
        self.assertTrue(os.path.isfile(words[2] + "/agent.yaml"))
        self.assertEqual(self.ok(self.other, "bundle", "list"), f"team/demo@0.1.0 {words[2]}\n")
        self.assertIn("From the hub.", self.on(self.other, "run", "team/demo", "--prompt", "x").out)
        self.assertEqual(os.listdir(self.scratch), [])

        # What was pulled is pushed again, unchanged.
        again = self.ok(self.other, "bundle", "push", "team/demo", "--to", "team/demo:0.1.0")
        self.assertEqual(again.split()[-1], digest)

    def test_a_digest_names_what_a_tag_named_before(self):
        first = self.push(self.source("One."))
        second = self.push(self.source("Two."))
        self.assertNotEqual(first, second)
        done = self.on(self.other, "-o", "json", "bundle", "pull", "team/demo@" + first)
        self.assertDone(done)
        self.assertEqual((done.json()["namespace"], done.json()["id"], done.json()["digest"]),
                         ("team", "demo", first))
        self.assertIn("One.", self.on(self.other, "run", "team/demo", "--prompt", "x").out)
        self.assertRefused(self.on(self.other, "bundle", "pull", "team/demo"), "is installed with digest")
        self.assertIn("One.", self.on(self.other, "run", "team/demo@" + first, "--prompt", "x").out)
        self.ok(self.other, "bundle", "pull", "team/demo", "--force")
        self.assertIn("Two.", self.on(self.other, "run", "team/demo", "--prompt", "x").out)

    def test_what_is_refused_is_not_installed(self):
        self.push(self.source("x"))
        self.assertRefused(self.on(self.other, "bundle", "pull", "team/demo", "--verify", self.keygen("ann") + ".pub"),
                           "not signed")
        answer = pull_answer(*parts("team"))
        answer["layers"][0]["bytes"] = ""
        hub = self.fake(200, answer)
        self.assertRefused(self.on(self.other, "bundle", "pull", "team/demo", "--hub", hub.url),
                           "hub returned layer bytes that do not match digest ")
        # Its digests are right, and its layer is none: agentd refuses it.
        hub = self.fake(200, pull_answer(*parts("team")))
        self.assertRefused(self.on(self.other, "bundle", "pull", "team/demo", "--hub", hub.url), "invalid bundle")
        self.assertEqual(self.ok(self.other, "bundle", "list"), "no bundles installed\n")

    def test_an_archive_is_not_installed(self):
        self.push(self.source("x"))
        path = self.home + "/demo.odyssey"
        self.assertEqual(self.ok(self.other, "bundle", "pull", "team/demo", "--archive", path),
                         f"pulled team/demo@0.1.0 {path}\n")
        self.assertEqual(self.ok(self.other, "bundle", "list"), "no bundles installed\n")
        done = self.on(self.other, "bundle", "pull", "team/demo", "--archive", path, "--force")
        self.assertEqual(done.code, 2, done)

    def test_names_a_source_that_is_none(self):
        self.assertRefused(self.on(self.world, "bundle", "push", "nothing", "--to", "team/nothing"),
                           "bundle not found: nothing")
        self.assertRefused(self.on(self.world, "bundle", "push", self.home, "--to", "team/x"), self.home)


class LyingHubTest(HubCase):

    def pull(self, reference, hub, *options, **environment):
        done = self.ctl("bundle", "pull", reference, "--hub", hub.url, "--archive", self.home, *options, **environment)
        self.assertEqual([name for name in os.listdir(self.home) if name.endswith(".odyssey")], [])
        return done

    def test_another_bundle_is_refused(self):
        mine, other = parts("team"), parts("team", layer=b"other")
        hub = self.fake(200, pull_answer(*other))
        self.assertRefused(self.pull("team/demo@" + digest_of(mine[0]), hub),
                           f"hub returned manifest digest {digest_of(other[0])}, requested is {digest_of(mine[0])}")
        hub = self.fake(200, pull_answer(*parts("local")))
        self.assertRefused(self.pull("team/demo", hub),
                           "hub returned bundle local/demo@0.1.0, requested is team/demo@0.1.0")

    def test_tampered_bytes_are_refused(self):
        answer = pull_answer(*parts("team"))
        tampered = {**answer, "configBytes": base64.b64encode(b"{}").decode()}
        self.assertRefused(self.pull("team/demo", self.fake(200, tampered)),
                           "hub returned config bytes that do not match manifest digest")
        layer = answer["layers"][0]
        for layers, why in (([], "hub response missing layer "),
                            ([layer, layer], "hub returned duplicate layer digest "),
                            ([{**layer, "bytes": ""}], "hub returned layer bytes that do not match digest "),
                            ([layer, {"digest": digest_of(b"x"), "bytes": "eA=="}], "hub returned unexpected layer ")):
            self.assertRefused(self.pull("team/demo", self.fake(200, {**answer, "layers": layers})), why)

    def test_an_unsigned_bundle_of_a_trusted_namespace_is_refused(self):
        self.trust("team", self.keygen("ann"))
        self.assertRefused(self.pull("team/demo", self.fake(200, pull_answer(*parts("team")))), "not signed")

    def test_a_redirect_is_not_followed(self):
        other = self.fake(200, pull_answer(*parts("team")))
        hub = self.fake(307, b"", [("Location", other.url + "/api/v1/artifacts/pull")])
        self.assertRefused(self.pull("team/demo", hub, ODYSSEY_HUB_TOKEN="secret"),
                           "http error: hub returned 307 Temporary Redirect")
        self.assertEqual(other.requests, [])
        self.assertEqual(hub.requests[0][1]["Authorization"], "Bearer secret")

    def test_plain_http_is_for_loopback(self):
        done = self.ctl("bundle", "pull", "team/demo", "--hub", "http://hub.invalid")
        self.assertRefused(done, "hub URL http://hub.invalid: http:// is for loopback alone; use https://")

    def test_what_the_hub_says_is_shown_escaped(self):
        done = self.pull("team/demo", self.fake(500, b"\x1b]52;c;x\x07"))
        self.assertRefused(done, "http error: hub returned 500 Internal Server Error: \\e]52")
        self.assertNotIn("\x1b", done.err)


if __name__ == "__main__":
    main()
