#!/usr/bin/env python3
"""Secrets that a cell uses and never has: what servers see, and what nothing else does."""

import base64
import hashlib
import hmac
import json
import os
import re
import subprocess

import h2_server
import host
import world
from egress_h2_test import LARGE, client_source
from egress_test import EgressWorld
from network import OTHER, PUBLIC
from world import WorldTest

STRANGER = 64999
ATTACHED = ("--provider", "gh", "--provider", "loose", "--provider", "aws")

TOKEN = "ghp_s3cr3tOfTheOwner0123456789"
ROTATED = "ghp_an0therSecretOfTheOwner012"
LOOSE = "sk-b0undByThePolicyAlone987654"
AWS_SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00"

POLICY = """
version: 1
network_policies:
  bound:
    endpoints:
      - {host: api.example.com, ports: [80, 443, 8443], protocol: rest, access: full}
      - {host: www.example.com, port: 443, protocol: rest, access: full,
         request_body_credential_rewrite: true, credential_binding: {provider: loose}}
      - {host: a.b.example.com, port: 443, protocol: rest, access: full, credential_signing: sigv4,
         signing_service: s3, credential_binding: {provider: aws}}
      - {host: other.example.org, port: 443, protocol: rest, access: full}
    binaries: [{path: /**}]
"""


class Providers:
    """Calls of the command, for tests with a world."""

    def provider(self, *words, code=0, **options):
        done = self.world.ctl("provider", *words, **options)
        self.assertEqual(done.code, code, done)
        self.assertNotIn(TOKEN, done.out + done.err)
        return done


class ProviderTest(Providers, WorldTest):
    """The commands; nothing of a cell."""

    def create(self, name, key, secret, *options):
        self.provider("create", name, "--credential", key, "--from-file", "-", *options,
                      input=secret + "\n")
        self.addCleanup(self.provider, "rm", name)

    def test_a_provider_is_kept_listed_and_removed_and_its_secret_is_not_shown(self):
        self.create("gh", "GH_TOKEN", TOKEN, "--type", "github")
        self.assertIn("GH_TOKEN", self.provider("list").out)
        listed, = json.loads(self.world.ctl("-o", "json", "provider", "list").out)["providers"]
        self.assertEqual((listed["name"], listed["type"], listed["credentials"]),
                         ("gh", "github", ["GH_TOKEN"]))
        self.assertIn("api.github.com:443", listed["endpoints"])
        self.assertIn("it is there", self.provider("create", "gh", "--credential", "A", "--from-file",
                                                   "-", input=TOKEN, code=1).err)

    def test_its_file_is_the_brokers_alone(self):
        self.create("kept", "KEPT", TOKEN)
        path = f"{self.world.state}/egress/providers/0/kept"
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(path).st_uid, os.stat(self.world.state + "/run/egress").st_uid)
        self.assertEqual(os.stat(self.world.state + "/egress").st_mode & 0o777, 0o700)

    def test_a_user_has_its_own_alone(self):
        self.create("roots", "KEY", TOKEN)
        other = {"user": STRANGER, "group": STRANGER, "extra_groups": [], "cwd": "/"}
        self.assertNotIn("roots", self.provider("list", **other).out)
        self.provider("rm", "roots", code=1, **other)
        done = self.provider("list", "--user", "0", code=1, **other)
        self.assertIn("only root names another user", done.err)
        self.provider("create", "strangers", "--credential", "KEY", "--from-file", "-", input=TOKEN, **other)
        self.assertNotIn("strangers", self.provider("list").out)
        self.assertIn("strangers", self.provider("list", "--user", str(STRANGER)).out)
        self.provider("rm", "strangers", **other)

    def test_a_value_is_not_taken_from_the_command_line(self):
        self.provider("create", "x", "--credential", "KEY=" + TOKEN[:4], code=1)
        self.provider("create", "x", "--credential", "KEY", code=1)
        file = self.world.make("secret", TOKEN + "\n")
        self.provider("create", "x", "--credential", "KEY", "--from-file", file)
        self.provider("rm", "x")
        self.provider("rm", "x", code=1)

    def test_what_cannot_be_a_secret_is_refused(self):
        for secret in ("short", "", "two\nlines of a secret that is long"):
            self.provider("create", "bad", "--credential", "KEY", "--from-file", "-", input=secret,
                          code=1)
        self.provider("create", "../bad", "--credential", "KEY", "--from-file", "-", input=TOKEN,
                      code=1)


def aws_signature(head, body):
    """Of a request as a server received it: what it is by the secret."""
    first, *lines = head.split("\r\n")
    fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    said = re.search(r"Credential=[^/]+/(([^/]+)/([^/]+)/([^/]+)/aws4_request), SignedHeaders=([^,]+), "
                     "Signature=(.*)", fields["authorization"])
    scope, date, region, service, names, signature = said.groups()
    digest = hashlib.sha256(body).hexdigest()
    method, path = first.split(" ")[:2]
    canonical = "\n".join([method, path, "", *(f"{name}:{fields[name]}" for name in names.split(";")), "",
                           names, digest])
    text = "\n".join(["AWS4-HMAC-SHA256", fields["x-amz-date"], scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + AWS_SECRET).encode()
    for part in (date, region, service, "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex(), signature


class CredentialWorld(Providers, EgressWorld):
    """With providers attached to its cells."""

    policy = POLICY

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, key, secret, *options in (
                ("gh", "GH_TOKEN", TOKEN, "--endpoint", "api.example.com:443", "--endpoint",
                 "api.example.com:8443"),
                ("loose", "LOOSE", LOOSE)):
            done = cls.world.ctl("provider", "create", name, "--credential", key, "--from-file", "-",
                                 *options, input=secret)
            assert done.code == 0, done
        files = [cls.world.make(name, text)
                 for name, text in (("id", "AKIAIOSFODNN7EXAMPLE"), ("key", AWS_SECRET))]
        done = cls.world.ctl("provider", "create", "aws", "--credential", "AWS_ACCESS_KEY_ID",
                             "--from-file", files[0], "--credential", "AWS_SECRET_ACCESS_KEY",
                             "--from-file", files[1], "--endpoint", "a.b.example.com:443")
        assert done.code == 0, done
        for file in files:
            os.unlink(file)

    def shell(self, script, *options):
        return self.world.ctl("exec", *ATTACHED, "--policy", self.policy_file, *options, "--", "bash",
                              "-c", script)


class CellTest(CredentialWorld):
    """By HTTP/1.1."""

    version = "HTTP/1.1"
    unread = 0  # bytes of a refused body that are read

    @classmethod
    def serve(cls):
        cls.plain = cls.network.serve(PUBLIC, 80)
        cls.bound = cls.network.serve(PUBLIC, 443, "mirror")
        cls.other = cls.network.serve(OTHER, 443, "mirror")

    @staticmethod
    def field(name, value):
        """As this version has it."""
        return f"{name}: {value}"

    def send(self, script):
        """What curl says, which has no secret."""
        done = self.shell("curl -sS -i --suppress-connect-headers --max-time 20 " + script)
        for secret in (TOKEN, ROTATED, LOOSE, AWS_SECRET):
            self.assertNotIn(secret, done.out + done.err)
        return done

    def assertRefused(self, done, code):
        self.assertIn(" 403 ", done.out.split("\n")[0], done)
        self.assertEqual(json.loads(done.out.split("\n\n", 1)[1])["error"], code, done)

    def sent(self):
        return self.bound.all_received() + self.other.all_received() + self.plain.all_received()

    def test_a_variable_has_a_placeholder_that_looks_like_the_secret(self):
        done = self.shell("env")
        held = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
        self.assertEqual(len(held["GH_TOKEN"]), len(TOKEN), done)
        self.assertTrue(held["GH_TOKEN"].startswith("ghp_"))
        self.assertTrue(held["AWS_ACCESS_KEY_ID"].startswith("AKIA"))
        for secret in (TOKEN, LOOSE, AWS_SECRET):
            self.assertNotIn(secret, done.out)

    def test_the_server_sees_the_secret_and_the_cell_the_placeholder(self):
        done = self.send("-H \"Authorization: Bearer $GH_TOKEN\" https://api.example.com/p43; "
                         "echo \"<$GH_TOKEN>\"")
        held = done.out.rsplit("<", 1)[1].split(">")[0]
        self.assertIn(self.version.removesuffix(".0"), done.out.split("\n")[0], done)
        self.assertIn(f"{self.field('Authorization', 'Bearer ' + TOKEN)}\r\n".encode(),
                      self.bound.all_received())
        self.assertIn(f"{self.field('X-Mirror', 'Bearer ' + held)}\n", done.out)
        self.assertIn(f"{self.field('Authorization', 'Bearer ' + held)}\n", done.out)
        self.assertNotIn(held.encode(), self.sent())
        record = self.assertRecord(path="/p43", verdict="allowed")
        self.assertEqual(record["credential"], "gh/GH_TOKEN")

    def test_basic_query_and_path(self):
        self.send("-u \"me:$GH_TOKEN\" \"https://api.example.com/in-$GH_TOKEN?t=$GH_TOKEN\"")
        sent = self.bound.all_received()
        pair = base64.b64encode(b"me:" + TOKEN.encode())
        self.assertIn(f"GET /in-{TOKEN}?t={TOKEN} {self.version}".encode(), sent)
        self.assertIn(self.field("Authorization", "Basic " + pair.decode()).encode(), sent)

    def test_another_server_sees_neither(self):
        done = self.send("-H \"X-T: $GH_TOKEN\" https://other.example.org/p44")
        self.assertRefused(done, "credential_endpoint_mismatch")
        self.assertEqual(self.other.all_received(), b"")
        self.assertRecord(path="/p44", verdict="denied", code="credential_endpoint_mismatch")
        done = self.send("-H \"X-T: $LOOSE\" https://api.example.com/p44-loose")
        self.assertRefused(done, "credential_endpoint_mismatch")
        self.assertNotIn(b"/p44-loose", self.sent())

    def test_no_secret_goes_without_tls(self):
        done = self.send("-H \"X-T: $GH_TOKEN\" http://api.example.com/plain")
        self.assertRefused(done, "credential_endpoint_mismatch")
        self.assertEqual(self.plain.all_received(), b"")

    def test_an_unknown_placeholder_goes_nowhere(self):
        done = self.send("-H 'X-T: openshell:resolve:env:NONE' https://api.example.com/p45")
        self.assertRefused(done, "credential_unknown")
        self.assertNotIn(b"/p45", self.sent())
        done = self.send("-H 'X-T: openshell:resolve:env:GH_TOKEN' https://api.example.com/p45-known")
        self.assertIn(f"{self.field('X-T', TOKEN)}\r\n".encode(), self.bound.all_received())

    def test_a_body_needs_the_endpoints_leave(self):
        done = self.send("-d \"{\\\"t\\\":\\\"$GH_TOKEN\\\"}\" https://api.example.com/p47")
        self.assertRefused(done, "credential_in_body")
        self.assertNotIn(b"/p47", self.sent())
        done = self.send("-H 'Content-Type: application/json' -d \"{\\\"t\\\":\\\"$LOOSE\\\"}\" "
                         "https://www.example.com/p47-leave")
        body = json.dumps({"t": LOOSE}, separators=(",", ":"))
        self.assertIn(f"{self.field('Content-Length', len(body))}\r\n".encode(), self.bound.all_received())
        self.assertIn(body.encode(), self.bound.all_received())

    def test_a_body_of_no_stated_length_is_cut_before_the_placeholder(self):
        self.send("-H 'Transfer-Encoding: chunked' -d \"before $GH_TOKEN\" "
                  "https://api.example.com/chunked; echo \"<$GH_TOKEN>\"")
        self.assertRecord(path="/chunked", verdict="denied", code="credential_in_body")
        self.assertNotIn(TOKEN.encode(), self.bound.received()[-1])

    def test_a_long_body_is_cut_before_the_placeholder(self):
        done = self.shell("(head -c 300000 /dev/zero; echo -n \"<$GH_TOKEN>\"; "
                          f"head -c {self.unread} /dev/zero) > /tmp/long; curl -sS -H expect: "
                          "--data-binary @/tmp/long https://api.example.com/long; echo \" $? $GH_TOKEN\"")
        answer, code, held = done.out.rsplit(" ", 2)
        self.assertEqual((json.loads(answer)["error"], code), ("credential_in_body", "0"), done)
        self.assertEqual(self.assertRecord(path="/long")["verdict"], "denied")
        sent, = [sent for sent in self.bound.received() if b"POST /long " in sent]
        self.assertNotIn(held.strip().encode(), sent)

    def test_a_response_that_ends_as_a_secret_begins_is_whole(self):
        done = self.send(f"-d 'ends in {TOKEN[:9]}' https://api.example.com/beginning")
        self.assertTrue(done.out.endswith(f"ends in {TOKEN[:9]}"), done)

    def test_a_request_for_aws_is_signed_anew(self):
        done = self.send("--aws-sigv4 aws:amz:eu-west-1:s3 --user \"$AWS_ACCESS_KEY_ID:"
                         "$AWS_SECRET_ACCESS_KEY\" https://a.b.example.com/signed")
        self.assertIn("200", done.out.split("\n")[0], done)
        sent = self.bound.all_received()
        self.assertIn(b"Credential=AKIAIOSFODNN7EXAMPLE/", sent)
        self.assertIn(b"/eu-west-1/s3/aws4_request, SignedHeaders=host;", sent)
        head, = [head for head in sent.split(b"\r\n\r\n") if b"GET /signed " in head]
        by_secret, signature = aws_signature(head[head.index(b"GET /signed"):].decode(), b"")
        self.assertEqual(signature, by_secret)

    def test_a_rotated_secret_is_used_at_once_by_the_same_placeholder(self):
        script = ("for path in first second; do read; curl -sS -o /dev/null -H \"X-T: $GH_TOKEN\" "
                  "https://api.example.com/$path; echo $path; done")
        cell = self.world.start("exec", *ATTACHED, "--policy", self.policy_file, "--", "bash", "-c", script,
                                stdin=subprocess.PIPE)
        cell.process.stdin.write(b"\n")
        cell.process.stdin.flush()
        cell.until("first\n")
        self.provider("update", "gh", "--credential", "GH_TOKEN", "--from-file", "-", input=ROTATED)
        self.addCleanup(self.provider, "update", "gh", "--credential", "GH_TOKEN", "--from-file", "-",
                        input=TOKEN)
        cell.process.stdin.write(b"\n")
        cell.process.stdin.flush()
        cell.until("second\n")
        cell.process.stdin.close()
        second, = [sent for sent in self.bound.received() if b"GET /second " in sent]
        self.assertIn(f"{self.field('X-T', ROTATED)}\r\n".encode(), second)

    def test_no_file_variable_record_or_audit_line_has_a_secret(self):
        done = self.shell("cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'")
        for secret in (TOKEN, LOOSE, AWS_SECRET):
            self.assertNotIn(secret, done.out)
        words = " ".join(f"-e {secret[:14]}" for secret in (TOKEN, LOOSE, AWS_SECRET))
        done = self.shell(f"grep -ral {words} /etc /tmp /run /workspace 2> /dev/null")
        self.assertEqual(done.out, "")
        kept = f"{self.world.state}/egress/providers/"
        for directory, _, files in os.walk(self.world.state):
            for name in files:
                path = os.path.join(directory, name)
                if path.startswith(kept) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    text = file.read()
                for secret in (TOKEN, LOOSE, AWS_SECRET):
                    self.assertNotIn(secret.encode(), text, path)


class H2CellTest(CellTest):
    """The same by HTTP/2, and what only it has."""

    version = "HTTP/2"
    unread = 400000

    @classmethod
    def serve(cls):
        cls.plain = cls.network.serve(PUBLIC, 80)
        cls.bound = cls.network.serve(PUBLIC, 443, "h2", h2_server.__file__)
        cls.other = cls.network.serve(OTHER, 443, "h2", h2_server.__file__)

    @staticmethod
    def field(name, value):
        return f"{name.lower()}: {value}"

    def by_hand(self, script):
        """What a client by hand prints, which is all bytes of bodies that it received."""
        done = self.world.ctl("exec", *ATTACHED, "--policy", self.policy_file, "--", "/usr/bin/python3",
                              "-c", client_source() + "\nimport os\n"
                              "TOKEN, LOOSE = os.environ['GH_TOKEN'], os.environ['LOOSE']\n" + script)
        for secret in (TOKEN, ROTATED, LOOSE, AWS_SECRET):
            self.assertNotIn(secret, done.out + done.err)
        return done

    def test_a_refusal_ends_its_stream_alone(self):
        done = self.by_hand("""
c = Client()
c.send(c.request(1, "/first-of-one", ("x-t", TOKEN)) + c.request(3, "/second-of-one", ("x-t", LOOSE))
       + c.request(5, "/third-of-one", ("x-t", "openshell:resolve:env:NONE"))
       + c.request(7, "/fourth-of-one", ("x-t", TOKEN)) + c.request(9, "/fifth-of-one"))
answers = [c.answer(stream) for stream in (1, 3, 5, 7, 9)]
print(answers[1], answers[2], answers[0].count(TOKEN), answers[3].count(TOKEN), sep="\\n")
""")
        second, third, *counts = done.out.splitlines()
        self.assertEqual(json.loads(second)["error"], "credential_endpoint_mismatch", done)
        self.assertEqual(json.loads(third)["error"], "credential_unknown", done)
        self.assertEqual(counts, ["1", "1"])
        sent, = [sent for sent in self.bound.received() if b"/first-of-one" in sent]
        self.assertIn(b"/fourth-of-one", sent)
        self.assertEqual(sent.count(f"x-t: {TOKEN}\r\n".encode()), 2)
        self.assertEqual(sent.count(b"never-indexed: all\r\n"), 2)
        self.assertTrue(sent.split(b"\r\n\r\n")[-2].startswith(b"GET /fifth-of-one "))
        self.assertNotIn(b"/second-of-one", self.sent())
        self.assertNotIn(b"/third-of-one", self.sent())

    def test_a_secret_in_a_trailer_does_not_come_back(self):
        done = self.shell("nghttp -v -H \"authorization: Bearer $GH_TOKEN\" "
                          "https://api.example.com/trailer; echo \"<$GH_TOKEN>\"")
        held = done.out.rsplit("<", 1)[1].split(">")[0]
        self.assertIn(f"x-trailer: Bearer {held}\n", done.out)
        self.assertNotIn(TOKEN, done.out)

    def test_a_body_of_no_stated_length_is_cut_before_the_placeholder(self):
        done = self.by_hand("""
c = Client()
c.send(c.request(1, "/unstated", method="POST", ended=False) + frame(DATA, 0, 1, b"before ")
       + frame(DATA, 0, 1, TOKEN[:9].encode()) + frame(DATA, 0, 1, TOKEN[9:].encode() + b" behind"))
print(c.answer(1), TOKEN[:9])
c.send(frame(DATA, END_STREAM, 1, b"more") + frame(PING, 0, 0, b"12345678"))
kinds = []
while PING not in kinds: kinds.append(c.read()[0])
print(RST_STREAM in kinds)
""")
        first, reset = done.out.splitlines()
        self.assertEqual(reset, "False", "a client that still sends takes a reset for a failure")
        answer, begun = first.rsplit(" ", 1)
        self.assertEqual(json.loads(answer)["error"], "credential_in_body", done)
        self.assertEqual(self.assertRecord(path="/unstated")["code"], "credential_in_body")
        sent, = [sent for sent in self.bound.received() if b"/unstated" in sent]
        self.assertNotIn(begun.encode(), sent)
        self.assertNotIn(b"behind", sent)
        self.assertNotIn(b"more", sent)

    def test_so_is_one_that_the_server_answers_already(self):
        done = self.by_hand("""
c = Client()
c.send(c.request(1, "/early", method="POST", ended=False))
while c.read()[0] != DATA: pass
c.send(frame(DATA, 0, 1, TOKEN.encode()))
print(c.answer(1))
""")
        self.assertEqual(done.out, "reset 8\n", done)
        self.assertRecord(path="/early", verdict="allowed")
        self.assertRecord(path="/early", verdict="denied", code="credential_in_body")

    def test_an_unstated_body_with_leave_is_taken_whole(self):
        done = self.by_hand("""
c = Client("www.example.com")
c.send(c.request(1, "/unstated-leave", method="POST", ended=False) + frame(DATA, 0, 1, b"<" + LOOSE[:5].encode())
       + frame(DATA, END_STREAM, 1, LOOSE[5:].encode() + b">"))
print(c.answer(1).count("<" + LOOSE + ">"))
""")
        self.assertEqual(done.out, "1\n", done)
        sent, = [sent for sent in self.bound.received() if b"/unstated-leave" in sent]
        self.assertIn(f"content-length: {len(LOOSE) + 2}\r\n".encode(), sent)
        self.assertIn(f"<{LOOSE}>".encode(), sent)

    def test_a_body_is_signed_that_came_in_frames(self):
        done = self.by_hand("""
c = Client("a.b.example.com")
c.send(c.request(1, "/framed", method="PUT", ended=False) + frame(DATA, 0, 1, b"some ")
       + frame(DATA, END_STREAM, 1, b"bytes"))
print(c.answer(1))
""")
        self.assertIn("some bytes", done.out, done)
        sent, = [sent for sent in self.bound.received() if b"/framed" in sent]
        head, body = sent.split(b"\r\n\r\n")
        self.assertEqual(body, b"some bytes")
        by_secret, signature = aws_signature(head.decode(), body)
        self.assertEqual(signature, by_secret)

    def test_a_response_that_cannot_be_read_is_refused_before_the_request_has_ended(self):
        done = self.by_hand("""
c = Client()
for i, path in enumerate(("/encoded", "/grpc-encoded")):
    c.send(c.request(2 * i + 1, path, ("x-t", TOKEN), ("grpc-accept-encoding", "gzip"), method="POST",
                     ended=False))
    print(c.answer(2 * i + 1))
c.send(c.request(5, "/encoded", method="POST", ended=False))
while (got := c.read())[0] != DATA or got[2] != 5: pass
print(got[3])
""")
        first, second, third = done.out.splitlines()
        self.assertEqual(json.loads(first)["error"], "response_encoded", done)
        self.assertEqual(json.loads(second)["error"], "response_encoded", done)
        self.assertEqual(third, "b'compressed'")
        self.assertRecord(path="/grpc-encoded", verdict="denied", status=502)
        self.assertIn(b"accept-encoding: identity\r\ngrpc-accept-encoding: identity\r\n",
                      self.bound.all_received())


class H2LoadTest(CredentialWorld):
    """nghttpd has a large file, with a secret in it."""

    @classmethod
    def serve(cls):
        root = os.path.join(cls.network.directory, "root")
        os.mkdir(root)
        with open(os.path.join(root, "large"), "wb") as file:
            file.seek(LARGE // 2)
            file.write(TOKEN.encode())
            file.truncate(LARGE)
        server = subprocess.Popen([*cls.network.internet.prefix(), "nghttpd", "-a", PUBLIC, "-d", root, "8443",
                                   cls.network.key, cls.network.certificate], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)

    def test_a_client_that_does_not_read_holds_its_server_back(self):
        """It gives all the credit there is, and reads nothing, while another one reads all."""
        live = self.world.start("exec", *ATTACHED, "--policy", self.policy_file, "--", "/usr/bin/python3", "-c",
                                client_source() + """
import os, subprocess
large = ["curl", "-sS", "--retry", "9", "--retry-all-errors", "-H", "x-t: " + os.environ["GH_TOKEN"],
         "https://api.example.com:8443/large"]
first = subprocess.run(large, check=True, capture_output=True).stdout
c = Client(settings=b"\\0\\4" + (2**31 - 1).to_bytes(4, "big"), port=8443)
c.send(frame(WINDOW_UPDATE, 0, 0, (2**31 - 65536).to_bytes(4, "big")) + c.request(1, "/large"))
second = subprocess.run(large, check=True, capture_output=True).stdout
print(len(first), first == second, first.strip(b"\\0") == os.environ["GH_TOKEN"].encode(), flush=True)
input()
""", stdin=subprocess.PIPE)
        live.until("True\n")
        self.assertEqual(live.out, f"{LARGE} True True\n")
        self.assertLess(host.peak_bytes(self.world.daemon("odyssey-egress-worker")), LARGE // 2)
        live.process.stdin.close()
        live.ended()


class RefusedPolicyTest(EgressWorld):
    policy = POLICY

    def test_a_credential_needs_an_endpoint_that_is_inspected(self):
        for rest, words in (("port: 443", "L4-only"),
                            ("port: 8443, protocol: rest, access: full, tls: skip", "tls: skip")):
            line = "    endpoints: [{host: api.example.com, %s, credential_binding: {provider: gh}%s}]\n"
            head = "version: 1\nnetwork_policies:\n  x:\n    binaries: [{path: /**}]\n"
            refused = self.world.make("refused.yaml", head + line % (rest, ""))
            done = self.run_in_cell("true", policy=refused)
            self.assertEqual(done.code, 125, done)
            self.assertIn("credentialed endpoint", done.err)
            self.assertIn(words, done.err)
            taken = self.world.make("taken.yaml",
                                    head + line % (rest, ", allow_uninspected_credentials: true"))
            self.assertEqual(self.run_in_cell("true", policy=taken).code, 0)


if __name__ == "__main__":
    world.main()
