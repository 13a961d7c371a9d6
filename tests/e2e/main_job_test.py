#!/usr/bin/env python3
"""The main job: a turn of examples/bundles/repo-report on a directory, as a person runs it."""

import os
import re
import unittest

import bundles
from terminal import Terminal
from world import SOURCE, WorldTest, main

BUNDLE = SOURCE + "/examples/bundles/repo-report"
PROMPT = "Report on this directory"
QUESTION = "allow? y once, a always, n [note] deny, ? help: "

# What a terminal acts on: C0 but line feed and tab, DEL, C1, and characters that reorder others.
RAW_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def report_arguments(directory, *more):
    return ["run", BUNDLE, "--prompt", PROMPT, "--cwd", directory, *more]


class MainJobTest(WorldTest):

    def setUp(self):
        name = self.id().rpartition(".")[2]
        self.project = self.world.make_directory(name)
        self.report = f"{self.world.directory}/{name}.md"

    def make(self, path, content):
        self.world.make(f"{self.project}/{path}", content)

    def make_project(self):
        self.make("README.md", "# The project\n\nIt is small.\n")
        self.make("src/main.cc", "// TODO(ann): say more\nint main() {}\n")
        self.make("src/tool.py", "x = 1\n# FIXME(ann) later\ny = 2\n")

    def run_report(self, *more):
        return self.world.ctl(*report_arguments(self.project, *more))

    def read_report(self):
        with open(self.report, encoding="utf-8") as file:
            return file.read()

    def test_writes_the_report(self):
        self.make_project()
        done = self.run_report("--approve", "all", "--save", f"report.md={self.report}")
        self.assertEnded(done, 0, "allowed, as --approve all says")
        report = self.read_report()
        self.assertIn("Entries at the top: src, README.md", report)
        self.assertIn("Lines with TODO or FIXME: 2 ", report)
        self.assertIn("./src/main.cc:1:// TODO(ann): say more\n./src/tool.py:2:# FIXME(ann) later\n", report)
        self.assertRegex(report, r"\b2 +lines +1 +files +C\+\+\n")
        self.assertRegex(report, r"\b3 +lines +1 +files +Python\n")
        self.assertIn("# The project\n\nIt is small.", report)
        self.assertIn(f"saved {self.report}\n", done.out)
        self.assertRegex(done.out, r"\nconfined by: uid [1-9]\d{6,} · namespaces [^·]*user pid mount "
                                   r"net ipc uts cgroup[^·]* · landlock ABI \d+ · seccomp .* · cgroup v")

    def test_shows_what_happens_in_its_order(self):
        self.make_project()
        done = self.run_report("--approve", "all")
        self.assertEqual(done.code, 0, done)
        order = ["ses_", "trn_", "→ LS", "✓ LS", "→ Bash", "exit 0", "✓ Bash", "→ Read", "✓ Read",
                 "→ Write", "? Write asks for approval", "allowed once by uid 0", "✓ Write",
                 "The report is report.md", "confined by: "]
        positions = [done.out.find(words) for words in order]
        self.assertNotIn(-1, positions, done.out)
        self.assertEqual(positions, sorted(positions), done.out)

    def test_records_the_events_in_order_and_without_gaps(self):
        self.make_project()
        done = self.world.ctl("-o", "json", *report_arguments(self.project, "--approve", "all"))
        self.assertEqual(done.code, 0, done)
        events = done.lines()
        first = events[0]["sequence"]
        self.assertEqual([event["sequence"] for event in events],
                         list(range(first, first + len(events))))
        again = self.world.ctl("-o", "json", "session", "events", events[0]["session_id"],
                               "--after", str(first - 1)).lines()
        self.assertEqual(again, events)

    def test_a_denied_write_ends_gracefully(self):
        self.make_project()
        done = self.run_report("--approve", "deny")
        self.assertEnded(done, 0, "denied, as --approve deny says")
        self.assertIn("✗ Write", done.out)
        self.assertIn("I did not write the report", done.out)
        sessions = self.world.json("session", "list")["sessions"]
        missing = self.world.ctl("session", "exec", sessions[0]["id"], "--", "ls", "report.md")
        self.assertEqual(missing.code, 2, missing)

    def test_without_a_terminal_nothing_waits(self):
        self.make_project()
        for how in ([], ["--approve", "ask"]):
            done = self.run_report("--save", f"report.md={self.report}", *how)
            self.assertEnded(done, 1, "there is no terminal to ask on", "--approve all",
                             "save report.md")
            self.assertIn("I did not write the report", done.out)
            self.assertFalse(os.path.exists(self.report))

    def test_a_directory_without_readme(self):
        self.make("a.c", "int a;\n")
        done = self.run_report("--approve", "all", "--save", f"report.md={self.report}")
        self.assertEqual(done.code, 0, done)
        self.assertIn("There is no README.", self.read_report())

    def test_an_empty_directory(self):
        done = self.run_report("--approve", "all", "--save", f"report.md={self.report}")
        self.assertEqual(done.code, 0, done)
        report = self.read_report()
        self.assertIn("Lines with TODO or FIXME: 0 ", report)
        self.assertIn("no files", report)

    def test_a_directory_of_somebody_else_behind_a_link(self):
        self.make_project()
        for path, _, files in os.walk(self.project):
            for each in (path, *(os.path.join(path, name) for name in files)):
                os.chown(each, 54321, 54321)
                os.chmod(each, 0o700)
        link = self.project + " the link"
        os.symlink(self.project, link)
        done = self.world.ctl("run", BUNDLE, "--prompt", PROMPT, "--approve", "all", "--save",
                              f"report.md={self.report}", cwd=link)
        self.assertEqual(done.code, 0, done)
        self.assertIn("# The project", self.read_report())

    def test_what_is_no_directory(self):
        file = self.world.make(self.report)
        for path in (file, "/no/such/directory"):
            done = self.world.ctl(*report_arguments(path, "--approve", "all"))
            self.assertEqual((done.code, done.out), (1, ""), done)
            self.assertIn(path, done.err)
            self.assertIn("--cwd", done.err)

    def test_a_report_that_cannot_be_saved(self):
        done = self.run_report("--approve", "all", "--save", "report.md=/no/such/place.md")
        self.assertEnded(done, 1, "/no/such/place.md")

    def test_the_directory_is_as_it_was(self):
        self.make_project()
        before = sorted((path, names, files) for path, names, files in os.walk(self.project))
        self.assertEqual(self.run_report("--approve", "all").code, 0)
        self.assertEqual(
            sorted((path, names, files) for path, names, files in os.walk(self.project)), before)

    def test_hostile_names_reach_no_terminal(self):
        hostile = [b"new\nline.c", b"esc\x1b]0;title\x07\x1b[2J.py", b"c1\xc2\x9b31m.h",
                   "bidi\u202egpj.exe".encode(), b"not-utf8-\xff\xfe.c", b"cr\rover.txt",
                   b"back\x08\x08.md", b"quote'$(touch x)`id`.c"]
        for name in hostile:
            path = os.path.join(os.fsencode(self.project), name)
            with open(path, "wb") as file:
                file.write(b"// TODO(ann): \x1b[31mred\x1b[0m \xe2\x80\xae reversed\n")
        self.make("README.md", "# \x1b[5mblink\x1b[0m\n")
        done = self.run_report("--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertIn("TODO", done.out)
        self.assertNotRegex(done.out, RAW_CONTROLS)
        self.assertNotRegex(done.err, RAW_CONTROLS)
        self.assertIn("\\e]0;title", done.out)
        shown = Terminal(self.world.argv(*report_arguments(self.project, "--approve", "all")),
                         env={"NO_COLOR": "1"})
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertNotRegex(shown.text.replace("\r\n", "\n"), RAW_CONTROLS)

    def test_a_directory_that_holds_the_state_is_refused(self):
        done = self.world.ctl(*report_arguments(self.world.directory, "--approve", "all"))
        self.assertEqual(done.code, 1, done)
        self.assertIn(self.world.directory, done.out + done.err)


class ApprovalOnATerminalTest(WorldTest):

    def setUp(self):
        steps = [bundles.call("Write", "a", path="a", content="1"),
                 bundles.call("Write", "b", path="b", content="2"),
                 bundles.say("first ${a.success} second ${b.success}.")]
        self.bundle = bundles.write(self.world.directory + "/writer", steps,
                                    rules={"allow": ["Bash"], "ask": ["Write"]})

    def turn(self):
        return Terminal(self.world.argv("run", self.bundle, "--prompt", "go"))

    def test_y_allows_once(self):
        turn = self.turn()
        turn.until(QUESTION)
        turn.type("y\n")
        turn.until(QUESTION, count=2)
        turn.type("n\n")
        self.assertEqual(turn.ended(), 0, turn.text)
        self.assertIn("allowed once by uid 0", turn.text)
        self.assertIn("first true second false.", turn.text)

    def test_a_allows_for_the_rest_of_the_session(self):
        turn = self.turn()
        turn.until(QUESTION)
        turn.type("a\n")
        self.assertEqual(turn.ended(), 0, turn.text)
        self.assertEqual(turn.text.count(QUESTION), 1)
        self.assertIn("first true second true.", turn.text)

    def test_n_denies(self):
        turn = self.turn()
        for count in (1, 2):
            turn.until(QUESTION, count)
            turn.type("n\n")
        self.assertEqual(turn.ended(), 0, turn.text)
        self.assertIn("first false second false.", turn.text)

    def test_anything_else_asks_again_and_end_of_input_denies(self):
        turn = self.turn()
        turn.until(QUESTION)
        turn.type("perhaps\n")
        turn.until(QUESTION, count=2)
        turn.type("\x04")
        turn.until(QUESTION, count=3)
        turn.type("\x04")
        self.assertEqual(turn.ended(), 0, turn.text)
        self.assertIn("first false second false.", turn.text)

    def test_ctrl_c_at_the_question_cancels_the_turn(self):
        turn = self.turn()
        turn.until(QUESTION)
        turn.type("\x03")
        self.assertEqual(turn.ended(), 1, turn.text)
        self.assertIn("turn cancelled", turn.text)
        self.assertEqual(self.world.json("approval", "list")["approvals"], [])


if __name__ == "__main__":
    main()
