#!/usr/bin/env python3
"""Grants: what an approval adds to the cell of one call, or of a session, through the real daemons."""

import os

import bundles
import host
from terminal import Terminal
from world import HANG_S, WorldTest, main


def payloads(done, kind):
    """Of the events that a command printed, those of one type."""
    return [event["payload"]["payload"] for event in done.lines() if event["payload"]["type"] == kind]


def mirror(path, access="write"):
    return f"/workspace/mount/{access}/abs{path}"


class GrantsTest(WorldTest):

    def setUp(self):
        # Short: a terminal breaks a long line.
        self.data = self.world.make_directory(f"data{len(os.listdir(self.world.directory))}")
        self.place = mirror(self.data)

    def bundle(self, steps, **options):
        return bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}",
                             [*steps, bundles.say("done")], **options)

    def create(self, steps, **options):
        done = self.world.ctl("session", "create", self.bundle(steps, **options))
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def events(self, session, kind):
        done = self.world.ctl("-o", "json", "session", "events", session)
        self.assertEqual(done.code, 0, done)
        return payloads(done, kind)

    def submit(self, session):
        done = self.world.ctl("-o", "json", "turn", "submit", session, "go")
        self.assertEqual(done.code, 0, done)
        return done.json()["turn_id"]

    def question(self, session):
        def asked():
            return self.world.json("approval", "list", "--session", session)["approvals"]
        return host.eventually(asked, HANG_S, "a question")[0]["request"]

    def allow(self, session, *options):
        request = self.question(session)
        done = self.world.ctl("approval", "allow", request["request_id"], "--digest", request["digest"], *options)
        self.assertEqual(done.code, 0, done)
        return request

    def turn(self, session, *answer):
        """One turn, whose question, if `answer` is given, is allowed so; the results of its calls."""
        before = len(self.events(session, "tool_call_finished"))
        turn = self.submit(session)
        if answer:
            self.allow(session, *answer[0])
        host.eventually(lambda: any(one["turn_id"] == turn for one in self.events(session, "turn_completed")),
                        HANG_S, lambda: self.world.ctl("session", "events", session).out)
        return [one["result"] for one in self.events(session, "tool_call_finished")[before:]]

    def write_step(self, name="file", result="r", **more):
        return bundles.bash(f"echo written > {self.place}/{name}", result, **more)

    def asking(self, name="file", result="r", **more):
        return self.write_step(name, result, grants=[{"mount_write": self.data}], reason="to keep it", **more)

    # For one call.

    def test_a_refused_model_asks_and_only_that_call_writes(self):
        read_only = f"{mirror(self.data, 'read')}/file"
        session = self.create([bundles.bash(f"echo written > {read_only}", "first"), self.asking(),
                               bundles.bash(f"ls {self.place}; echo written > {read_only}", "last")], read=[self.data])
        first, granted, last = self.turn(session, ())
        self.assertNotEqual(first["status_code"], 0, first)
        ask, = [one["ask"] for one in first["denials"] if "ask" in one]
        self.assertIn(f'"grants": [{{"mount_write":"{self.data}"}}]', ask)
        self.assertIn(self.place, ask)
        self.assertEqual(granted["status_code"], 0, granted)
        with open(self.data + "/file") as file:
            self.assertEqual(file.read(), "written\n")
        self.assertNotEqual(last["status_code"], 0, last)
        self.assertIn("Read-only file system", last["stderr"])
        self.assertIn("No such file or directory", last["stderr"])
        asked, = self.events(session, "permission_requested")
        self.assertEqual(asked["grants"]["grants"],
                         [{"key": "mount_write", "value": self.data, "limit": ""}])
        self.assertEqual(asked["reason"], "to keep it")
        resolved, = self.events(session, "approval_resolved")
        self.assertEqual((resolved["decision"], resolved["grant_scope"]), ("allow_once", "call"))

    def test_the_audit_log_names_the_approval(self):
        session = self.create([self.asking()])
        self.turn(session, ())
        resolved, = self.events(session, "approval_resolved")
        done = self.world.ctl("-o", "json", "audit", "tail", "-n", "200")
        self.assertEqual(done.code, 0, done)
        widened = [one for one in done.lines() if one["type"] == "prepare" and one["session_id"] == session and
                   one.get("granted_by")]
        self.assertEqual([one["granted_by"] for one in widened], [[resolved["request_id"]]])
        plain = [one for one in done.lines() if one["type"] == "prepare" and one["session_id"] == session and
                 not one.get("granted_by")]
        self.assertNotEqual(widened[0]["policy_digest"], plain[0]["policy_digest"])

    def test_a_denial_leaves_the_cell_as_it_is(self):
        session = self.create([self.asking()])
        turn = self.submit(session)
        request = self.question(session)
        self.assertEqual(self.world.ctl("approval", "deny", request["request_id"], "--note", "not there").code, 0)
        host.eventually(lambda: self.events(session, "turn_completed"), HANG_S, turn)
        result, = [one["result"] for one in self.events(session, "tool_call_finished")]
        self.assertEqual(result["error"], "permission denied: tool Bash was denied: not there")
        self.assertEqual(os.listdir(self.data), [])

    def test_what_the_call_leaves_running_is_gone(self):
        session = self.create([bundles.bash(f"(sleep 4713; echo late > {self.place}/late) & disown; echo ok",
                                            grants=[{"mount_write": self.data}])])
        result, = self.turn(session, ())
        self.assertEqual(result["stdout"], "ok\n", result)
        host.eventually(lambda: not self.world.cell_commands("4713"), HANG_S, "the end of sleep")
        self.assertEqual([one for one in self.world.cells().values() if self.sees_data(one)], [],
                         "no process that is left has the directory in its mounts")

    def sees_data(self, pids):
        """Whether one of the processes has the data directory mounted."""
        for pid in pids:
            try:
                with open(f"/proc/{pid}/mountinfo") as file:
                    if any(self.data in line for line in file):
                        return True
            except OSError:
                pass
        return False

    def test_no_process_of_another_call_sees_it(self):
        """One that an earlier call left in the background, and looks for the directory all the time."""
        watch = f"while :; do ls {self.place} 2>/dev/null && echo seen; sleep 0.02; done >> /workspace/seen"
        session = self.create([bundles.bash(f"setsid sh -c '{watch}' >/dev/null 2>&1 & sleep 0.3; echo left", "a"),
                               self.asking("one", "b"), bundles.bash("sleep 0.3; cat seen", "c")])
        left, granted, seen = self.turn(session, ())
        self.assertEqual((left["stdout"], granted["status_code"]), ("left\n", 0))
        self.assertEqual(seen["stdout"], "", seen)

    # For the session.

    def test_a_session_grant_holds_until_it_is_revoked(self):
        session = self.create([self.asking()])
        granted, = self.turn(session, ("--session",))
        self.assertEqual(granted["status_code"], 0, granted)
        again, = self.turn(session)
        self.assertEqual(again["status_code"], 0, again)
        grant, = self.world.json("session", "show", session)["grants"]
        self.assertEqual((grant["by_uid"], grant["expires_at"]), (0, ""))
        shown = self.world.ctl("session", "show", session)
        self.assertIn(f"granted {grant['id']} by uid 0\n  read and write {self.data} on the host\n", shown.out)
        done = self.world.ctl("session", "revoke", session, grant["id"])
        self.assertEqual(done.code, 0, done)
        self.assertEnded(self.world.ctl("session", "revoke", session, grant["id"]), 1, "no such grant")
        self.assertEqual(self.world.json("session", "show", session)["grants"], [])
        ended, = self.events(session, "grant_ended")
        self.assertEqual((ended["reason"], ended["request_id"], ended["by_uid"]), ("revoked", grant["id"], 0))
        self.submit(session)
        self.question(session)  # it is asked again

    def test_other_tools_have_what_the_session_was_granted(self):
        self.world.make(os.path.relpath(self.data, self.world.directory) + "/in.txt", "there\n")
        session = self.create([self.asking(), bundles.call("Read", "read", path=self.place + "/in.txt")])
        granted, read = self.turn(session, ("--session",))
        self.assertEqual(granted["status_code"], 0, granted)
        self.assertEqual(read["content"], "there\n", read)

    def test_a_session_grant_expires(self):
        session = self.create([self.asking(result="a"), bundles.bash("sleep 3", "b"), self.write_step("late", "c")])
        granted, _, late = self.turn(session, ("--session", "--for", "2s"))
        self.assertEqual(granted["status_code"], 0, granted)
        self.assertNotEqual(late["status_code"], 0, late)
        self.assertEqual(os.listdir(self.data), ["file"])
        resolved, = self.events(session, "approval_resolved")
        self.assertEqual(resolved["grant_scope"], "session")
        self.assertRegex(resolved["grants_expire_at"], "^20")
        ended, = self.events(session, "grant_ended")
        self.assertEqual((ended["reason"], ended["request_id"]), ("expired", resolved["request_id"]))

    # What is granted.

    def test_a_read_a_program_and_a_limit(self):
        self.world.make(os.path.relpath(self.data, self.world.directory) + "/in.txt", "there\n")
        grants = [{"mount_read": self.data}, {"executable": "sha256sum"}, {"limit": "open_files", "value": 2000}]
        command = f"ulimit -n; cat {mirror(self.data, 'read')}/in.txt; echo x | sha256sum; echo no > " \
                  f"{mirror(self.data, 'read')}/x"
        plain = "ulimit -n; sha256sum </dev/null"
        session = self.create([bundles.bash(plain, "a"), bundles.bash(command, "b", grants=grants),
                               bundles.bash(plain, "c")], tools=("sh", "cat"))
        turn = self.submit(session)
        request = self.question(session)
        shown = self.world.ctl("approval", "show", request["request_id"])
        for line in (f"      read {self.data} on the host\n", "      execute sha256sum\n",
                     "      open_files 2000 instead of 1024\n"):
            self.assertIn(line, shown.out)
        self.allow(session)
        host.eventually(lambda: self.events(session, "turn_completed"), HANG_S, turn)
        before, granted, after = [one["result"] for one in self.events(session, "tool_call_finished")]
        self.assertTrue(granted["stdout"].startswith("2000\nthere\n73cb3858"), granted)
        self.assertIn("Read-only file system", granted["stderr"])
        for result in (before, after):
            self.assertEqual(result["stdout"], "1024\n", result)
            self.assertIn(result["status_code"], (126, 127), result)
        ask = [one["ask"] for one in before["denials"] if "ask" in one]
        self.assertTrue(any('{"executable":"sha256sum"}' in one for one in ask), before)

    # What is not.

    def test_nobody_is_asked_for_what_cannot_be_granted(self):
        cases = [({"mount_read": "/etc/shadow"}, "grants: mount_read /etc/shadow"),
                 ({"mount_write": "/usr"}, "grants: mount_write /usr"),
                 ({"limit": "memory_bytes", "value": 1 << 50}, "grants[0].value"),
                 ({"limit": "disk_bytes", "value": 1 << 30}, "grants[0].limit: disk_bytes"),
                 ({"network": "full"}, "grants[0].network: full: HOST:PORT is allowed")]
        session = self.create([bundles.bash("true", f"r{n}", grants=[grant]) for n, (grant, _) in enumerate(cases)])
        results = self.turn(session)
        self.assertEqual(self.events(session, "permission_requested"), [])
        for (_, words), result in zip(cases, results, strict=True):
            self.assertIn(words, result["error"])

    def test_what_is_not_there_fails_the_call_and_the_session_goes_on(self):
        session = self.create([bundles.bash("true", "a", grants=[{"mount_write": self.data + "/missing"}]),
                               bundles.bash("echo on", "b")])
        missing, after = self.turn(session, ("--session",))
        self.assertIn(self.data + "/missing", missing["error"])
        self.assertEqual(after["stdout"], "on\n", after)
        self.assertEqual(self.world.json("session", "show", session)["grants"], [])

    # Who answers.

    def test_on_a_terminal_s_is_for_the_session_and_a_is_refused(self):
        shown = Terminal(self.world.argv("run", self.bundle([self.asking(), self.write_step("two")]), "go"))
        shown.until("? help: ")
        self.assertIn(f"read and write {self.data} on the host", shown.text)
        self.assertIn("the model's reason: to keep it", shown.text)
        self.assertIn("allow? y this call, s session, n [note] deny", shown.text)
        self.assertNotIn("always means", shown.text)
        shown.type("a\n")
        shown.until("type y for this call, or s for the session")
        shown.type("s\n")
        shown.until("its additions for the session by uid 0")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertEqual(sorted(os.listdir(self.data)), ["file", "two"])

    def test_approve_all_is_for_the_call_and_strict_refuses(self):
        bundle = self.bundle([self.asking(), self.write_step("two", "s")], rules={"allow": ["*"]})
        done = self.world.ctl("-o", "json", "run", bundle, "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(os.listdir(self.data), ["file"])
        self.assertEqual([one["grant_scope"] for one in payloads(done, "approval_resolved")], ["call"])
        os.unlink(self.data + "/file")
        for mode, words in (("strict", "strict mode: Bash requires approval"), ("deny", "--approve deny")):
            done = self.world.ctl("-o", "json", "run", bundle, "go", "--approve", mode)
            self.assertIn(words, payloads(done, "tool_call_finished")[0]["result"]["error"])
            self.assertEqual(os.listdir(self.data), [])

    def test_an_answer_must_fit_the_request(self):
        session = self.create([self.asking()])
        self.submit(session)
        request = self.question(session)["request_id"]
        self.assertEnded(self.world.ctl("approval", "allow", request, "--always"), 1, "is not allowed always")
        self.assertEnded(self.world.ctl("approval", "allow", request, "--for", "1m"), 1, "GRANT_SCOPE_SESSION")
        plain = self.create([bundles.bash("true")], rules={"ask": ["Bash"]})
        self.submit(plain)
        request = self.question(plain)["request_id"]
        self.assertEnded(self.world.ctl("approval", "allow", request, "--session"), 1, "grant_scope")


if __name__ == "__main__":
    main()
