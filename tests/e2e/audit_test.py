#!/usr/bin/env python3
"""The audit log as an auditor reads it, and refusals as a person sees them."""

import glob
import json
import os
import re
import shutil
import time

import bundles
import host
from terminal import Terminal
from world import HANG_S, World, WorldTest, main


class AuditVerbsTest(WorldTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.log = cls.world.state + "/supervisor/audit"
        cls.world.ctl("exec", "--", "sh", "-c", "echo recorded; exit 3")
        host.eventually(lambda: " cell_end " in cls.world.ctl("audit", "tail").out, HANG_S,
                        "the end of the cell in the log")

    def copy(self):
        """A whole log of the test's own to change."""
        directory = self.world.make_directory("copy-" + self.id().rsplit(".", 1)[1])
        host.eventually(lambda: self.head() == self.last(), HANG_S, "head at the last record")
        shutil.copytree(self.log, directory, dirs_exist_ok=True)
        return directory

    def head(self):
        with open(os.path.join(self.log, "head"), encoding="ascii") as file:
            return json.load(file)["seq"]

    def last(self):
        return self.world.ctl("-o", "json", "audit", "verify").json()["last_seq"]

    @staticmethod
    def lines(directory):
        name = next(n for n in os.listdir(directory) if n.endswith(".jsonl"))
        path = os.path.join(directory, name)
        with open(path, encoding="ascii") as file:
            return path, file.read().splitlines()

    def verify_changed(self, change):
        directory = self.copy()
        path, lines = self.lines(directory)
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in change(lines)))
        done = self.world.ctl("audit", "verify", directory)
        self.assertEqual(done.code, 1, done)
        return done.out

    def test_tail_shows_the_last_records(self):
        done = self.world.ctl("audit", "tail", "-n", "100")
        self.assertEqual(done.code, 0, done)
        self.assertIn(' exec exec_id=exe_', done.out)
        self.assertIn('argv=["sh","-c","echo recorded; exit 3"]', done.out)
        self.assertIn("exit_code=3", done.out)
        self.assertEqual(len(self.world.ctl("audit", "tail", "-n", "2").out.splitlines()), 2)

    def test_tail_as_json_is_the_log_itself(self):
        done = self.world.ctl("-o", "json", "audit", "tail", "-n", "100")
        types = [json.loads(line)["type"] for line in done.out.splitlines()]
        self.assertEqual(types[0], "start")
        self.assertIn("exec_end", types)

    def test_tail_follows(self):
        follower = self.world.start("audit", "tail", "-n", "1", "--follow")
        follower.until("\n")  # it looks by now
        self.world.ctl("exec", "--", "true", "followed")
        follower.until('argv=["true","followed"]')

    def test_whole_log(self):
        done = self.world.ctl("audit", "verify")
        self.assertEqual(done.code, 0, done)
        self.assertTrue(done.out.startswith("ok: "), done)
        self.assertTrue(self.world.ctl("-o", "json", "audit", "verify").json()["ok"])

    def test_changed_record(self):
        out = self.verify_changed(
            lambda lines: [line.replace("exit 3", "exit 0") for line in lines])
        self.assertIn("changed: its hash does not match its text", out)
        self.assertRegex(out, r"audit-\d{20}\.jsonl:\d+: record \d+: ")

    def test_removed_record(self):
        self.assertIn("before it, record 3 is missing",
                      self.verify_changed(lambda lines: lines[:2] + lines[3:]))

    def test_reordered_records(self):
        self.assertIn("record 3",
                      self.verify_changed(lambda lines: lines[:1] + [lines[2], lines[1]] + lines[3:]))

    def test_inserted_record(self):
        self.assertIn("out of place", self.verify_changed(lambda lines: lines[:3] + lines[1:]))

    def test_truncated_log(self):
        self.assertIn("at the end, ", self.verify_changed(lambda lines: lines[:-2]))

    def test_nobody_waits_for_what_is_no_regular_file(self):
        for pick in (lambda path: path, lambda path: os.path.dirname(path) + "/head"):
            directory = self.copy()
            place = pick(self.lines(directory)[0])
            os.unlink(place)
            os.mkfifo(place)
            done = self.world.ctl("audit", "verify", directory)
            self.assertEqual(done.code, 1, done)
            self.assertIn(os.path.basename(place) + ": it is no regular file", done.out + done.err)
            shutil.rmtree(directory)

    def test_known_record_is_held_against_the_log(self):
        directory = self.copy()
        path, lines = self.lines(directory)
        third = json.loads(lines[2])
        known = f"3:{third['hash']}"
        self.assertEqual(self.world.ctl("audit", "verify", directory, "--after", known).code, 0)
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines[3:]))
        os.rename(path, os.path.join(directory, f"audit-{4:020}.jsonl"))
        self.assertEqual(self.world.ctl("audit", "verify", directory, "--after", known).code, 0)
        self.assertEqual(self.world.ctl("audit", "verify", directory).code, 1)
        forged = f"3:{'0' * 64}"
        self.assertEqual(self.world.ctl("audit", "verify", directory, "--after", forged).code, 1)
        self.assertEqual(self.world.ctl("audit", "verify", directory, "--after", "3").code, 2)

    def test_no_log(self):
        done = self.world.ctl("audit", "verify", "/no/such/log")
        self.assertEqual(done.code, 1)
        self.assertIn("/no/such/log", done.err)

    def test_orderly_stop_is_recorded(self):
        other = World().up()
        self.addCleanup(other.close)
        other.ctl("exec", "--", "true")
        other.down()
        log = other.state + "/supervisor/audit"
        self.assertIn(' stop reason="the supervisor was stopped"\n',
                      other.ctl("audit", "tail", "-n", "1", log).out)
        self.assertNotIn("supervisor-rpc", other.daemons.err)  # nothing went wrong
        self.assertEqual(other.ctl("audit", "verify", log).code, 0)


class RotationTest(WorldTest):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--audit-keep-bytes", "64k")

    def fill(self):
        """More records than may stay: each has 8 KiB of arguments."""
        for _ in range(30):
            self.world.ctl("exec", "--", "true", "x" * 4000, "y" * 4000)

    def test_the_oldest_records_go_and_the_log_is_whole(self):
        log = self.world.state + "/supervisor/audit"
        self.fill()
        self.assertEqual(self.world.ctl("down").code, 0)
        names = sorted(name for name in os.listdir(log) if name.endswith(".jsonl"))
        self.assertLessEqual(sum(os.path.getsize(f"{log}/{name}") for name in names), (64 + 2 * 16) << 10)
        verdict = self.world.json("audit", "verify")
        self.assertTrue(verdict["ok"], verdict)
        self.assertGreater(verdict["first_seq"], 1)
        self.assertGreaterEqual(verdict["rotated_seq"], verdict["first_seq"] - 1)
        done = self.world.ctl("audit", "verify")
        self.assertIn("note: rotation removed the records up to ", done.out)

        copy = self.world.make_directory("copy")
        shutil.copytree(log, copy, dirs_exist_ok=True)
        os.unlink(min(glob.glob(f"{copy}/audit-*.jsonl")))
        done = self.world.ctl("audit", "verify", copy)
        self.assertEqual(done.code, 1, done)
        self.assertIn("; rotation removed those up to record ", done.out)

    def test_records_go_when_they_are_too_old(self):
        world = World()
        self.addCleanup(world.close)
        world.up("--audit-keep", "2s")

        def has_first():
            self.assertEqual(world.ctl("exec", "--", "true").code, 0)
            return os.path.exists(f"{world.state}/supervisor/audit/audit-{1:020}.jsonl")
        host.eventually(lambda: not has_first(), HANG_S, "a removal")
        self.assertEqual(world.ctl("down").code, 0)
        verdict = world.json("audit", "verify")
        self.assertTrue(verdict["ok"], verdict)
        self.assertGreater(verdict["first_seq"], 1)
        self.assertGreaterEqual(verdict["rotated_seq"], verdict["first_seq"] - 1)

    def test_too_little_to_keep_ends_the_start(self):
        world = World()
        self.addCleanup(world.close)
        done = world.start_up("--audit-keep-bytes", "100").ended()
        self.assertNotEqual(done.code, 0)
        self.assertIn('--audit-keep-bytes "100": expected 0, or at least 64 KiB', done.err)


class DenialsTest(WorldTest):
    REFUSED = ("--", "sh", "-c", "echo out; echo x > /usr/x")

    def test_scripts_see_the_command_alone(self):
        done = self.world.ctl("exec", *self.REFUSED)
        self.assertEqual(done.out, "out\n")
        self.assertNotIn("denied", done.err)
        self.assertNotEqual(done.code, 0)

    def test_who_asks_is_told(self):
        done = self.world.ctl("exec", "--denials", "always", *self.REFUSED)
        self.assertEqual(done.out, "out\n")
        self.assertRegex(done.err, r"(?m)^odyssey-ctl: maybe denied: write /usr/x "
                                   r"\(mount /usr read_only\) by sh\[\d+\]$")

    def test_person_on_a_terminal_is_told(self):
        shown = Terminal(self.world.argv("exec", *self.REFUSED))
        shown.until("maybe denied: write /usr/x")
        shown.ended()

    def test_grant_is_named(self):
        directory = self.world.make_directory("shown")
        done = self.world.ctl("exec", "--denials", "always", "--read", directory, "--", "touch",
                              directory + "/x")
        self.assertIn(f"to allow: --write {directory}", done.err)

    def test_names_and_addresses_are_told_of_a_command_that_ends_well(self):
        script = ("import socket\n"
                  "for call in (lambda: socket.getaddrinfo('example.org', 443),\n"
                  "             lambda: socket.create_connection(('192.0.2.1', 443))):\n"
                  "    try: call()\n"
                  "    except OSError as error: print(error)\n")
        done = self.world.ctl("exec", "--denials", "always", "--", "python3", "-c", script)
        self.assertEqual(done.code, 0, done)
        self.assertIn("[Errno -2] Name or service not known", done.out)
        grant = "; to allow: --network full"
        self.assertRegex(done.err, r"(?m)^odyssey-ctl: denied: resolve example\.org \(network none\)"
                                   r" by python3\[\d+\]" + grant)
        self.assertRegex(done.err, r"(?m)^odyssey-ctl: denied: connect 192\.0\.2\.1:443 \(network none\)"
                                   r" by python3\[\d+\]" + grant)

    def test_npm_fails_at_once_and_names_its_registry(self):
        began = time.monotonic()
        done = self.world.ctl("exec", "--denials", "always", "--", "npm", "view", "x", "version",
                              "--registry", "https://registry.example")
        self.assertNotEqual(done.code, 0)
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn("denied: resolve registry.example (network none)", done.err)

    def test_terminal_escapes_of_a_command_are_shown_not_obeyed(self):
        script = ("import ctypes, socket; ctypes.CDLL(None).prctl(15, b'\\x1b]0;t\\x07', 0, 0, 0)\n"
                  "socket.socket(2, 2).connect(('192.0.2.1', 1))")
        done = self.world.ctl("exec", "--denials", "always", "--", "python3", "-c", script)
        told = [line for line in done.err.splitlines() if line.startswith("odyssey-ctl: denied")]
        self.assertEqual(len(told), 1, done)
        self.assertNotIn("\x1b", told[0])


class SessionDenialsTest(WorldTest):
    def test_model_and_journal_are_told(self):
        bundle = bundles.write(self.world.directory + "/bundle", [
            bundles.bash("echo x > /usr/x"),
            bundles.call("Write", path="/usr/y", content="x"),
            bundles.say("done")])
        done = self.world.ctl("run", bundle, "--prompt", "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertIn("maybe denied: write /usr/x (mount /usr read_only)", done.out)
        session = self.world.json("session", "list")["sessions"][0]["id"]
        events = [event["payload"] for event in
                  self.world.ctl("-o", "json", "session", "events", session).lines()]
        denied = [e["payload"] for e in events if e["type"] == "access_denied"]
        self.assertEqual([(d["denial"]["resource"], d["denial"].get("hint", False)) for d in denied],
                         [("/usr/x", True), ("/usr/y", False)])
        self.assertTrue(all(d["tool_call_id"] and d["turn_id"] for d in denied))
        for denial in (d["denial"] for d in denied):
            self.assertEqual((denial["session_id"], denial["verdict"]), (session, "deny"))
            self.assertTrue(denial["process"] and denial["rule"] and denial["kind"], denial)
        results = [e["payload"]["result"] for e in events if e["type"] == "tool_call_finished"]
        self.assertIn("/usr/y", results[1]["error"])
        for result, event in zip(results, denied):
            told = {key: value for key, value in event["denial"].items() if value and key != "count"}
            self.assertEqual(result["denials"], [told], "the model reads the same record")


if __name__ == "__main__":
    main()
