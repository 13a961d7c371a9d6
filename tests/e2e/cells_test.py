#!/usr/bin/env python3
"""A cell over time: its phases, suspend, stop, quarantine."""

import os
import re
import time

import host
from host import HANG_S
from terminal import Terminal
from world import WorldTest, main

# Appends to a file until it has been there for some time of its own.
COUNT = "echo began; i=0; while [ $i -lt %d ]; do echo $i >/cell/data/home/count; i=$((i+1)); sleep 0.05; done"


class CellsTest(WorldTest):

    def cell(self, name):
        cells = [cell for cell in self.world.json("cell", "list", "--all")["cells"]
                 if cell["key"]["component"] == name and cell["standing"]["phase"] != "ended"]
        self.assertEqual(len(cells), 1, cells)
        return cells[0]

    def phase(self, name):
        return self.cell(name)["standing"]["phase"]

    def exec(self, name, *argv):
        return self.world.ctl("exec", "--cell", name, "--", *argv)

    def change(self, verb, name, *options, **others):
        return self.world.ctl("cell", verb, name, *options, **others)

    def start_count(self, name, steps=10000, *options):
        running = self.world.start("exec", "--cell", name, *options, "--", "sh", "-c", COUNT % steps)
        running.until("began")
        return running

    def count(self, name):
        cell = self.cell(name)
        path = os.path.join(os.path.dirname(cell["workspace_path"]), "data/home/count")
        with open(path, encoding="utf-8") as file:
            return file.read()

    def assertFrozen(self, name):
        """What counts in it does not go on."""
        host.eventually(lambda: self.count(name), HANG_S, "a count")
        time.sleep(0.3)  # for what had begun when it was frozen
        before = self.count(name)
        time.sleep(0.6)
        self.assertEqual(self.count(name), before)


class SuspendTest(CellsTest):

    def test_processes_are_frozen_and_go_on(self):
        running = self.start_count("frozen")
        self.assertEqual(self.phase("frozen"), "running")
        done = self.change("suspend", "frozen", "--reason", "looking at it")
        self.assertEqual(done.code, 0, done)
        self.assertIn("suspended since 20", done.out)
        self.assertIn("by uid 0: looking at it", done.out)
        self.assertFrozen("frozen")
        self.assertEnded(self.exec("frozen", "true"), 125, "the cell is suspended", "looking at it", "cell resume")
        self.assertEqual(self.change("suspend", "frozen").code, 1, "it is suspended already")
        before = self.count("frozen")
        self.assertEqual(self.change("resume", "frozen").code, 0)
        host.eventually(lambda: self.count("frozen") != before, HANG_S, "the count goes on")
        self.assertEqual(self.phase("frozen"), "running")
        self.assertEqual(self.exec("frozen", "true").code, 0)
        running.kill()

    def test_the_time_does_not_count_against_a_timeout(self):
        running = self.world.start("exec", "--cell", "late", "--timeout", "3s", "--", "sh", "-c",
                                   "echo began; sleep 1; echo end")
        running.until("began")
        self.assertEqual(self.change("suspend", "late").code, 0)
        time.sleep(4)
        self.assertIsNone(running.process.poll())
        self.assertEqual(self.change("resume", "late").code, 0)
        done = running.ended()
        self.assertEqual((done.code, done.out), (0, "began\nend\n"), done)

    def test_a_command_times_out_after_it_was_resumed(self):
        running = self.start_count("timeout", 10000, "--timeout", "2s")
        self.assertEqual(self.change("suspend", "timeout").code, 0)
        time.sleep(1)
        self.assertEqual(self.change("resume", "timeout").code, 0)
        self.assertEqual(running.ended().code, 124)

    def test_a_suspended_cell_can_be_removed(self):
        running = self.start_count("removed")
        self.assertEqual(self.change("suspend", "removed").code, 0)
        cell = self.cell("removed")["cell_id"]
        self.assertEqual(self.change("rm", "removed").code, 0)
        self.assertEqual(running.ended().code, 125)
        self.assertEqual(self.exec("removed", "true").code, 0, "its suspension went with it")
        self.assertIn("ended since 20", self.world.ctl("cell", "show", cell).out)
        self.assertIn(cell, self.world.ctl("cell", "list", "--all").out)
        self.assertNotIn(cell, self.world.ctl("cell", "list").out)

    def test_what_is_not_suspended_is_not_resumed(self):
        self.assertEqual(self.exec("ready", "true").code, 0)
        host.eventually(lambda: self.phase("ready") == "ready", HANG_S, "its command's slot is empty again")
        self.assertEnded(self.change("resume", "ready"), 1, "it is ready")
        self.assertEnded(self.change("start", "ready"), 1, "it is ready")
        self.assertEnded(self.change("release", "ready"), 1, "it is ready")
        self.assertEnded(self.change("suspend", "nobody"), 1, "no such cell")


class StopTest(CellsTest):

    def test_it_ends_keeps_its_directories_and_starts(self):
        running = self.start_count("stopped")
        self.assertEqual(self.change("stop", "stopped", "--reason", "not needed").code, 0)
        self.assertEqual(running.ended().code, 125)
        self.assertEqual(self.world.cell_commands("count"), [])
        self.assertEqual(self.phase("stopped"), "stopped")
        self.assertEnded(self.exec("stopped", "true"), 125, "the cell is stopped", "not needed", "cell start")
        self.assertEqual(self.change("start", "stopped").code, 0)
        kept = self.exec("stopped", "cat", "/cell/data/home/count")
        self.assertEqual(kept.code, 0, kept)
        self.assertTrue(kept.out.strip().isdigit(), kept)


class QuarantineTest(CellsTest):

    def test_root_alone_lifts_it(self):
        running = self.start_count("bad")
        self.assertEnded(self.change("quarantine", "bad"), 1, "a quarantine needs one")
        self.assertEqual(self.change("quarantine", "bad", "--reason", "it wrote to lib/").code, 0)
        self.assertFrozen("bad")
        self.assertEqual(self.phase("bad"), "quarantined")
        self.assertEnded(self.exec("bad", "true"), 125, "quarantined", "it wrote to lib/")
        agentd = host.uid(self.world.agentd)
        self.assertNotEqual(agentd, 0)
        as_agentd = {"user": agentd, "group": agentd, "extra_groups": [], "cwd": "/"}
        self.assertEnded(self.change("resume", "bad"), 1, "it is quarantined")
        cell = self.cell("bad")["cell_id"]
        self.assertEnded(self.change("release", cell, **as_agentd), 1, "root alone releases")
        self.assertEnded(self.change("rm", cell, **as_agentd), 1, "it wrote to lib/")
        self.assertFrozen("bad")
        before = self.count("bad")
        self.assertEqual(self.change("release", "bad").code, 0)
        host.eventually(lambda: self.count("bad") != before, HANG_S, "the count goes on")
        running.kill()
        changes = [line for line in self.world.ctl("audit", "tail", "-n", "1000").out.splitlines()
                   if "cell_change" in line and cell in line]
        self.assertEqual(len(changes), 2, changes)


class RestartTest(CellsTest):

    def test_what_was_stopped_and_quarantined_stays_so(self):
        for name in ("still", "held"):
            self.assertEqual(self.exec(name, "touch", "/cell/data/home/kept").code, 0)
        self.assertEqual(self.change("stop", "still", "--reason", "rest").code, 0)
        self.assertEqual(self.change("quarantine", "held", "--reason", "evil").code, 0)
        self.world.down()
        self.world.up()
        self.assertEqual((self.phase("still"), self.phase("held")), ("stopped", "quarantined"))
        self.assertEnded(self.exec("still", "true"), 125, "stopped", "rest")
        self.assertEnded(self.exec("held", "true"), 125, "quarantined", "evil")
        self.assertEqual(self.change("start", "still").code, 0)
        self.assertEqual(self.change("release", "held").code, 0)
        for name in ("still", "held"):
            self.assertEqual(self.exec(name, "ls", "/cell/data/home/kept").code, 0)
        self.world.down()
        self.world.up()
        self.assertEqual(self.exec("held", "true").code, 0, "and what was lifted stays lifted")


class TopTest(CellsTest):
    ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.running = cls.world.start("exec", "--cell", "busy", "--", "sh", "-c", "echo began; while :; do :; done")
        cls.running.until("began")
        assert cls.world.ctl("exec", "--cell", "idle", "--", "true").code == 0

    def terminal(self, *words, env=None, **size):
        return Terminal(self.world.argv("cell", "top", *words), env={"TERM": "xterm", **(env or {})}, **size)

    def frames(self, terminal):
        """The lines of each table that was shown whole."""
        return [self.ESCAPE.sub("", frame).split("\r\n") for frame in terminal.text.split("\x1b[H")[2:-1]]

    def test_one_plain_sample_in_a_pipe(self):
        done = self.world.ctl("cell", "top")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertNotIn("\x1b", done.out)
        header, first, *others = done.out.splitlines()
        self.assertEqual(header.split(), ["CELL", "PHASE", "CPU", "MEM", "PIDS", "EXECS", "KEY"])
        self.assertRegex(first, r"^busy +running +[1-9][0-9]*% +\S+ +[0-9]+ +1 +-/ctl/command/busy$")
        self.assertTrue([line for line in others if re.match(r"idle +ready +0% .* 0 +-/ctl/command/idle$", line)], done)

    def test_sorted_as_asked(self):
        done = self.world.ctl("cell", "top", "--sort", "name")
        names = [line.split()[0] for line in done.out.splitlines()[1:]]
        self.assertEqual(names, sorted(names))
        self.assertEndsWrong(self.world.ctl("cell", "top", "--sort", "age"), "--sort", "memory")

    def assertEndsWrong(self, done, *words):
        self.assertNotEqual(done.code, 0, done)
        for word in words:
            self.assertIn(word, done.err)

    def test_json_is_one_sample(self):
        cells = {cell["key"]["component"]: cell for cell in self.world.json("cell", "top")["cells"]}
        self.assertEqual(cells["busy"]["running_execs"], 1)

    def test_a_live_table_on_a_terminal(self):
        shown = self.terminal(rows=10, columns=80)
        shown.until("CELL", count=3)
        self.assertFalse(shown.is_cooked())
        for frame in self.frames(shown):
            self.assertLess(len(frame), 10)
            self.assertFalse([line for line in frame if len(line) > 80], frame)
            self.assertRegex(frame[0], r"^[0-9]+ cells, 1 running   cpu [0-9]+%   memory \S+   [0-9]+ pids$")
            self.assertTrue([line for line in frame if line.startswith("busy ")], frame)
        self.assertIn("\x1b[1mCELL", shown.text)
        seen = shown.text.count("\x1b[H")
        shown.type("n")
        shown.until("\x1b[H", count=seen + 2)
        shown.type("q")
        self.assertEqual(shown.ended(), 0)

    def test_the_terminal_is_as_it_was(self):
        for end in ("q", "\x03"):
            shown = Terminal(["/bin/sh", "-c", " ".join(self.world.argv("cell", "top")) + "; echo ended; read x"],
                             env={"TERM": "xterm"})
            shown.until("CELL")
            shown.type(end)
            shown.until("ended")
            self.assertTrue(shown.is_cooked())
            shown.type("x\n")
            self.assertEqual(shown.ended(), 0)

    def test_without_colour(self):
        shown = self.terminal(env={"NO_COLOR": "1"})
        shown.until("CELL", count=2)
        shown.type("q")
        self.assertEqual(shown.ended(), 0)
        self.assertNotRegex(shown.text, r"\x1b\[[0-9;]*m")

    def test_a_terminal_that_cannot_move_has_one_sample(self):
        shown = self.terminal(env={"TERM": "dumb"}, columns=60)
        self.assertEqual(shown.ended(), 0)
        self.assertNotIn("\x1b", shown.text)
        self.assertEqual(shown.text.count("CELL"), 1)
        self.assertFalse([line for line in shown.text.split("\r\n") if len(line) > 60], shown.text)

    def test_a_terminal_that_becomes_smaller(self):
        shown = self.terminal(columns=80)
        shown.until("CELL")
        shown.resize(24, 40)
        seen = shown.text.count("\x1b[H")
        shown.until("\x1b[H", count=seen + 3)
        self.assertFalse([line for line in self.frames(shown)[-1] if len(line) > 40], shown.text)
        shown.type("q")
        self.assertEqual(shown.ended(), 0)


if __name__ == "__main__":
    main()
