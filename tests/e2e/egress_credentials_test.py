#!/usr/bin/env python3
"""Secrets that a cell uses and never has: what servers see, and what nothing else does."""

import base64
import json
import os
import subprocess

import world
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
      - {host: api.example.com, ports: [80, 443], protocol: rest, access: full}
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


class CellTest(Providers, EgressWorld):
    """With providers attached to the cell."""

    policy = POLICY

    @classmethod
    def serve(cls):
        cls.plain = cls.network.serve(PUBLIC, 80)
        cls.bound = cls.network.serve(PUBLIC, 443, "mirror")
        cls.other = cls.network.serve(OTHER, 443, "mirror")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, key, secret, *options in (
                ("gh", "GH_TOKEN", TOKEN, "--endpoint", "api.example.com:443"),
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
        self.assertIn(f"Authorization: Bearer {TOKEN}\r\n".encode(), self.bound.all_received())
        self.assertIn(f"X-Mirror: Bearer {held}\n", done.out)
        self.assertIn(f"Authorization: Bearer {held}\n", done.out)
        self.assertNotIn(held.encode(), self.sent())
        record = self.assertRecord(path="/p43", verdict="allowed")
        self.assertEqual(record["credential"], "gh/GH_TOKEN")

    def test_basic_query_and_path(self):
        self.send("-u \"me:$GH_TOKEN\" \"https://api.example.com/in-$GH_TOKEN?t=$GH_TOKEN\"")
        sent = self.bound.all_received()
        pair = base64.b64encode(b"me:" + TOKEN.encode())
        self.assertIn(f"GET /in-{TOKEN}?t={TOKEN} HTTP/1.1".encode(), sent)
        self.assertIn(b"Authorization: Basic " + pair, sent)

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
        self.assertIn(f"X-T: {TOKEN}\r\n".encode(), self.bound.all_received())

    def test_a_body_needs_the_endpoints_leave(self):
        done = self.send("-d \"{\\\"t\\\":\\\"$GH_TOKEN\\\"}\" https://api.example.com/p47")
        self.assertRefused(done, "credential_in_body")
        self.assertNotIn(b"/p47", self.sent())
        done = self.send("-H 'Content-Type: application/json' -d \"{\\\"t\\\":\\\"$LOOSE\\\"}\" "
                         "https://www.example.com/p47-leave")
        body = json.dumps({"t": LOOSE}, separators=(",", ":"))
        self.assertIn(f"Content-Length: {len(body)}\r\n".encode(), self.bound.all_received())
        self.assertIn(body.encode(), self.bound.all_received())

    def test_a_body_of_no_stated_length_is_cut_before_the_placeholder(self):
        self.send("-H 'Transfer-Encoding: chunked' -d \"before $GH_TOKEN\" "
                  "https://api.example.com/chunked; echo \"<$GH_TOKEN>\"")
        self.assertRecord(path="/chunked", verdict="denied", code="credential_in_body")
        self.assertNotIn(TOKEN.encode(), self.bound.received()[-1])

    def test_a_request_for_aws_is_signed_anew(self):
        done = self.send("--aws-sigv4 aws:amz:eu-west-1:s3 --user \"$AWS_ACCESS_KEY_ID:"
                         "$AWS_SECRET_ACCESS_KEY\" https://a.b.example.com/signed")
        self.assertIn("200", done.out.split("\n")[0], done)
        sent = self.bound.all_received()
        self.assertIn(b"Credential=AKIAIOSFODNN7EXAMPLE/", sent)
        self.assertIn(b"/eu-west-1/s3/aws4_request, SignedHeaders=host;", sent)

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
        self.assertIn(f"X-T: {ROTATED}\r\n".encode(), second)

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
