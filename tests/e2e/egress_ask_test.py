#!/usr/bin/env python3
"""Rules of Network: a destination that the cell's policy refused is asked about, through the real daemons, with
servers that keep each byte they are sent.
"""

import os
import re
import shutil
import signal

import bundles
import host
import world
from egress_test import EgressWorld
from host import HANG_S
from network import OTHER, PUBLIC
from terminal import Terminal

# The cell has egress, to one place that no test needs; api.example.com:8080 is python's.
POLICIES = {"known": {"endpoints": [{"host": "www.example.com", "port": 443},
                                    {"host": "api.example.com", "port": 8080}],
                      "binaries": [{"path": "/usr/bin/python3*"}]}}
API, OTHER_PLACE = "api.example.com:80", "other.example.org:80"
ASK = {"allow": ["*"], "ask": ["Network(*.example.com)", "Network(other.example.org:80)"]}
CEILING = """version: odyssey.ceiling/v1
builtin: false
grants:
  - users: ["*"]
    read: ["{read}"]
    network: [{network}]
"""


def curl(path, result="r", place=API):
    return bundles.bash(f"curl -sS --fail --max-time 20 http://{place}{path}", result)


class AskTest(EgressWorld):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gates = cls.world.make_directory("gates")

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.named = cls.network.serve(PUBLIC, 8080)
        cls.other = cls.network.serve(OTHER, 80)

    def create(self, turns, rules=None, **options):
        """A session in which each word, as the prompt of a turn, plays its steps."""
        steps = [{"if": {"value": "${prompt}", "equals": word}, "then": steps} for word, steps in turns.items()]
        bundle = bundles.write(f"{self.world.directory}/{self.id().rpartition('.')[2]}", [*steps, bundles.say("done")],
                               rules=rules or ASK, network_policies=POLICIES,
                               offered=(*bundles.TOOLS, "Job"), **options)
        done = self.world.ctl("session", "create", bundle)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def events(self, session, kind):
        done = self.world.ctl("-o", "json", "session", "events", session)
        self.assertEqual(done.code, 0, done)
        return [one["payload"]["payload"] for one in done.lines() if one["payload"]["type"] == kind]

    def question(self, session):
        def asked():
            return self.world.json("approval", "list", "--session", session)["approvals"]
        return host.eventually(asked, HANG_S, lambda: self.world.ctl("session", "events", session).out)[0]["request"]

    def submit(self, session, word):
        done = self.world.ctl("-o", "json", "turn", "submit", session, word)
        self.assertEqual(done.code, 0, done)
        return done.json()["turn_id"]

    def await_end(self, session, turn):
        host.eventually(lambda: any(one["turn_id"] == turn for one in self.events(session, "turn_completed")),
                        HANG_S, lambda: self.world.ctl("session", "events", session).out)
        return [one["result"] for one in self.events(session, "tool_call_finished") if one["turn_id"] == turn]

    def answer(self, session, *words):
        request = self.question(session)
        done = self.world.ctl("approval", words[0], request["request_id"], *words[1:])
        self.assertEqual(done.code, 0, done)
        return request

    def turn(self, session, word, *answers):
        """One turn, whose questions are answered so; the results of its calls."""
        turn = self.submit(session, word)
        for words in answers:
            self.answer(session, *words)
        return self.await_end(session, turn)

    def test_allowed_for_the_session_it_is_reached_from_then_on(self):
        session = self.create({"go": [curl("/session-1", "a"), curl("/session-2", "b")],
                               "again": [curl("/session-3")]})
        turn = self.submit(session, "go")
        request = self.question(session)
        self.assertNotIn(b"/session-", self.web.all_received(), "before the answer the server has no byte")
        self.assertEqual(request["rule"], "Network(*.example.com)")
        self.assertEqual(request["grants"]["grants"], [{"key": "network_endpoint", "value": API, "limit": ""}])
        self.assertIn("/usr/bin/curl may not connect to " + API, request["reason"])
        shown = self.world.ctl("approval", "show", request["request_id"]).out
        self.assertIn(f"connect to {API}\n", shown)
        self.assertIn("it was refused: /usr/bin/curl may not connect to", shown)
        self.answer(session, "allow", "--session", "--digest", request["digest"])
        first, second = self.await_end(session, turn)
        self.assertNotEqual(first["status_code"], 0, first)
        self.assertEqual(first["network"], [{"destination": API, "reachable": True, "until": "the session ends",
                                             "then": "run the command again"}])
        self.assertEqual(second["stdout"], "hello /session-2\n", second)
        again, = self.turn(session, "again")
        self.assertEqual(again["stdout"], "hello /session-3\n", again)
        self.assertNotIn(b"/session-1", self.web.all_received())
        resolved, = self.events(session, "approval_resolved")
        self.assertEqual((resolved["decision"], resolved["grant_scope"]), ("allow_once", "session"))
        audited, = [one for one in self.world.ctl("-o", "json", "audit", "tail", "-n", "10000").lines()
                    if one["type"] == "approval" and one["request_id"] == request["request_id"]]
        self.assertEqual((audited["decision"], audited["digest"]), ("allow_once", request["digest"]))
        revisions = self.world.json("session", "show", session)["grants"]
        self.assertEqual([one["id"] for one in revisions], [request["request_id"]])
        self.assertEqual(self.world.ctl("session", "revoke", session, request["request_id"]).code, 0)
        turn = self.submit(session, "again")
        self.answer(session, "deny")
        self.await_end(session, turn)
        self.assertEqual(self.web.all_received().count(b"/session-3"), 1)

    def test_allowed_once_it_is_gone_after_the_turn(self):
        session = self.create({"go": [curl("/once-1", "a"), bundles.bash("true", "b"), curl("/once-2", "c")],
                               "again": [curl("/once-3")]})
        results = self.turn(session, "go", ("allow",))
        self.assertEqual(results[0]["network"][0]["until"], "this turn ends")
        self.assertEqual(results[2]["stdout"], "hello /once-2\n", results)
        resolved, = self.events(session, "approval_resolved")
        self.assertEqual(resolved["grant_scope"], "turn")
        # It is asked about anew.
        again, = self.turn(session, "again", ("deny", "--note", "not twice"))
        self.assertEqual(again["network"], [{"destination": API, "reachable": False, "why": "denied: not twice"}])
        self.assertNotIn(b"/once-3", self.web.all_received())

    def test_what_was_allowed_once_ends_for_a_job_that_goes_on(self):
        fetch = (f"i=0; while :; do i=$((i+1)); curl -s --fail http://{API}/job-$i && touch reached; "
                 "test -e stop && exit; sleep 0.1; done")
        session = self.create({"go": [curl("/job-first", "a"), bundles.bash(fetch, "b", background=True),
                                      bundles.bash("until test -e reached; do sleep 0.1; done", "c")],
                               "mark": [bundles.bash("rm reached; sleep 1; ls reached; touch stop", "d"),
                                        bundles.call("Job", "e", action="poll", job_id="job_1", wait_ms=20000)]},
                              rules={"allow": ["*"], "ask": ["Network(api.example.com)"]})
        self.turn(session, "go", ("allow",))
        self.assertIn(b"/job-", self.web.all_received())
        counted = len(self.web.received())
        turn = self.submit(session, "mark")
        self.answer(session, "deny")  # of the job, which has ended
        marked, polled = self.await_end(session, turn)
        self.assertEqual(marked["stdout"], "", marked)
        self.assertEqual(polled["state"], "ended", "the job was not killed")
        self.assertEqual(polled["outcome"], "exited", polled)
        self.assertLessEqual(len(self.web.received()), counted + 1)

    def test_it_is_open_only_when_odyssey_egress_has_loaded_it(self):
        session = self.create({"go": [curl("/loaded-1", "a"), curl("/loaded-2", "b")]})
        turn = self.submit(session, "go")
        self.question(session)
        workers = [pid for pid in host.descendants(self.world.daemon("odyssey-egress"))
                   if host.name(pid) == "odyssey-egress-worker"]
        self.assertTrue(workers)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            self.answer(session, "allow")
            failed, = host.eventually(lambda: self.events(session, "turn_failed"), HANG_S,
                                      lambda: self.world.ctl("session", "events", session).out)
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
        self.assertIn("has not loaded the policy", failed["message"])
        results = [one["result"] for one in self.events(session, "tool_call_finished") if one["turn_id"] == turn]
        self.assertFalse(results[0]["network"][0]["reachable"])
        self.assertNotIn(b"/loaded-", self.web.all_received())

    def test_denied_no_byte_is_sent_and_the_turn_does_not_ask_again(self):
        session = self.create({"go": [curl("/denied-1", "a"), curl("/denied-2", "b")]})
        first, second = self.turn(session, "go", ("deny", "--note", "not there"))
        self.assertEqual(first["network"], [{"destination": API, "reachable": False, "why": "denied: not there"}])
        self.assertNotIn("network", second)
        self.assertEqual(len(self.events(session, "permission_requested")), 1)
        self.assertNotIn(b"/denied-", self.web.all_received())

    def test_each_of_several_is_asked_about(self):
        both = bundles.bash(f"curl -sS --fail http://{API}/both; curl -sS --fail http://{OTHER_PLACE}/both; "
                            f"curl -sS --fail http://{API}/both; curl -s --fail http://www.example.org/both")
        session = self.create({"go": [both, both]})
        _, second = self.turn(session, "go", ("deny",), ("allow",))
        asked = [one["grants"]["grants"][0]["value"] for one in self.events(session, "permission_requested")]
        self.assertEqual(asked, [API, OTHER_PLACE])
        self.assertEqual(second["stdout"], "hello /both\n", second)
        self.assertNotIn(b"/both", self.web.all_received())
        self.assertEqual(self.other.all_received().count(b"GET /both"), 1)

    def test_without_a_rule_nothing_is_asked(self):
        for name, rules in (("none", {"allow": ["*"]}), ("deny", {"allow": ["*"], "ask": ["Network"],
                                                                  "deny": ["Network(*.example.com)"]})):
            with self.subTest(name):
                session = self.create({"go": [curl("/no-rule")]}, rules=rules)
                result, = self.turn(session, "go")
                self.assertNotIn("network", result)
                self.assertIn("network", [one["kind"] for one in result["denials"]])
                self.assertEqual(self.events(session, "permission_requested"), [])
        self.assertNotIn(b"/no-rule", self.web.all_received())

    def test_an_allow_opens_without_a_question(self):
        session = self.create({"go": [curl("/allow-1", "a"), curl("/allow-2", "b"),
                                      curl("/allow", "c", OTHER_PLACE)]},
                              rules={"allow": ["*", "Network(api.example.com:80)"], "deny": ["Network"]})
        first, second, other = self.turn(session, "go")
        self.assertTrue(first["network"][0]["reachable"])
        self.assertEqual(second["stdout"], "hello /allow-2\n", second)
        self.assertNotIn("network", other)
        self.assertEqual(self.events(session, "permission_requested"), [])
        self.assertEqual(self.other.all_received().count(b"/allow"), 0)

    def test_what_no_policy_opens_and_what_it_names_for_others_is_not_asked(self):
        session = self.create({"go": [curl("/never", "a", "127.0.0.1:80"), curl("/never", "b", "169.254.169.254:80"),
                                      curl("/never", "c", "api.example.com:6443"),
                                      curl("/never", "d", "api.example.com:8080")]},
                              rules={"allow": ["*"], "ask": ["Network"]})
        for result in self.turn(session, "go"):
            self.assertNotEqual(result["status_code"], 0, result)
            self.assertNotIn("network", result)
        self.assertEqual(self.events(session, "permission_requested"), [])
        self.assertEqual(self.named.received(), [])

    def write_ceiling(self, network):
        path = self.world.make("next.yaml", CEILING.format(read=self.world.directory, network=network))
        os.makedirs(self.world.state + "/policy.d", exist_ok=True)
        os.rename(path, self.world.state + "/policy.d/10.yaml")

    def test_beyond_the_ceiling_nobody_is_asked_and_the_model_reads_why(self):
        self.write_ceiling("egress")
        self.addCleanup(lambda: os.unlink(self.world.state + "/policy.d/10.yaml"))
        gate = f"{self.gates}/{os.getpid()}"
        wait = f"until test -e /workspace/mount/read/abs{gate}; do sleep 0.1; done"
        session = self.create({"go": [bundles.bash(f"curl -sS --fail http://{API}/ceiling; echo waits; {wait}")]},
                              read=[self.gates])
        turn = self.submit(session, "go")
        host.eventually(lambda: any("waits" in one["delta"] for one in
                                    self.events(session, "exec_command_output_delta")), HANG_S, "the command")
        self.write_ceiling("")
        with open(gate, "w", encoding="ascii"):
            pass
        result, = self.await_end(session, turn)
        told, = result["network"]
        self.assertEqual((told["destination"], told["reachable"]), (API, False))
        self.assertRegex(told["why"], r"network.*not granted")
        self.assertEqual(self.events(session, "permission_requested"), [])
        self.assertNotIn(b"/ceiling", self.web.all_received())

    def test_modes_without_a_person_fail_closed(self):
        self.create({"go": [curl("/mode-1", "a"), curl("/mode-2", "b")]})
        bundle = f"{self.world.directory}/{self.id().rpartition('.')[2]}"
        for mode, words in (("strict", "strict mode: Network(*.example.com) requires approval"),
                            ("deny", "--approve deny"), ("ask", "no terminal to ask on")):
            done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "go", "--approve", mode)
            results = [one["payload"]["payload"]["result"] for one in done.lines()
                       if one["payload"]["type"] == "tool_call_finished"]
            self.assertIn(words, results[0]["network"][0]["why"])
        self.assertNotIn(b"/mode-", self.web.all_received())
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "go", "--approve", "all")
        self.assertIn("hello /mode-2", done.out)

    def test_on_a_terminal(self):
        self.create({"go": [curl("/terminal-1", "a"), curl("/terminal-2", "b")]})
        bundle = f"{self.world.directory}/{self.id().rpartition('.')[2]}"
        program, *words = self.world.argv("run", bundle, "go")
        shown = Terminal([shutil.which(program), *words])
        shown.until("? help: ")
        self.assertIn("(rule Network(*.example.com))", shown.text)
        self.assertRegex(re.sub(r"\s+", " ", shown.text), "it was refused: /usr/bin/curl may not connect")
        self.assertIn("allow? y this turn, s session, n [note] deny", shown.text)
        shown.type("y\n")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertIn("its additions for this turn by uid 0", shown.text)
        self.assertIn(b"/terminal-2", self.web.all_received())


if __name__ == "__main__":
    world.main()
