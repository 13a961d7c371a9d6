#!/usr/bin/env python3
"""What a person sees while something takes long; and that pipes, -o json, NO_COLOR and dumb terminals have none of it."""

import os
import time
import xml.etree.ElementTree

import bundles
import host
from terminal import Terminal
from world import HANG_S, WorldTest, main

ERASE = "\r\x1b[K"
TERM = {"TERM": "xterm"}


class ProgressTest(WorldTest):

    def terminal(self, *arguments, env=TERM):
        return Terminal(self.world.argv(*arguments), env=env)

    def slow_bundle(self, seconds=3):
        path = f"{self.world.directory}/{self.id().rpartition('.')[2]}"
        return bundles.write(path, [bundles.bash(f"echo begun; sleep {seconds}; echo over"), bundles.say("said")])

    def assertErased(self, text, line):
        """`line` was shown, and nothing of it is left on the screen."""
        begin = text.index(line)
        self.assertIn(ERASE, text[begin:])
        self.assertNotIn("\n", text[begin:text.index(ERASE, begin)])

    # Turns.

    def test_a_long_command_of_a_turn(self):
        terminal = self.terminal("run", self.slow_bundle(), "--prompt", "x", "--approve", "all")
        terminal.until("Bash echo begun; sleep 3; echo over")
        terminal.until("of output")
        self.assertEqual(terminal.ended(), 0)
        self.assertIn("(1 tool call)", terminal.text)
        self.assertErased(terminal.text, "(1 tool call)")
        self.assertIn("said", terminal.text)

    def test_a_question_stays_the_last_line(self):
        path = f"{self.world.directory}/asks"
        bundle = bundles.write(path, [bundles.bash("true"), bundles.say("said")], rules={"ask": ["Bash"]})
        terminal = self.terminal("run", bundle, "--prompt", "x")
        terminal.until("? help: ")
        shown = len(terminal.shown)
        until = time.monotonic() + 2.5  # a status line would have come after one
        while time.monotonic() < until:
            terminal.read(host.POLL_S)
        self.assertNotIn(ERASE.encode(), terminal.shown[shown:])
        terminal.type("y\n")
        self.assertEqual(terminal.ended(), 0)

    def test_without_a_terminal_there_is_none(self):
        bundle = self.slow_bundle(seconds=2)
        for arguments in ((), ("-o", "json")):
            done = self.world.ctl(*arguments, "run", bundle, "--prompt", "x", "--approve", "all")
            self.assertEqual(done.code, 0, done)
            self.assertNotIn("\x1b", done.out + done.err)
            self.assertNotIn("tool call)", done.out + done.err)

    def test_a_dumb_terminal_and_json_have_none(self):
        bundle = self.slow_bundle(seconds=2)
        for arguments, env in (((), {"TERM": "dumb"}), (("-o", "json"), TERM)):
            terminal = self.terminal(*arguments, "run", bundle, "--prompt", "x", "--approve", "all", env=env)
            self.assertEqual(terminal.ended(), 0)
            self.assertNotIn("tool call)", terminal.text)
            self.assertNotIn(ERASE, terminal.text)

    def test_no_color(self):
        terminal = self.terminal("run", self.slow_bundle(), "--prompt", "x", "--approve", "all",
                                 env={**TERM, "NO_COLOR": "1"})
        self.assertEqual(terminal.ended(), 0)
        self.assertErased(terminal.text, "(1 tool call)")
        self.assertNotIn("\x1b[", terminal.text.replace("\x1b[K", ""))

    # Probes, bundles.

    def test_probes(self):
        terminal = self.terminal("doctor", "--probe")
        terminal.until("] 1/", seconds=4 * HANG_S)
        terminal.ended(seconds=4 * HANG_S)
        self.assertErased(terminal.text, "] 1/")

    def test_a_bundle_is_sent(self):
        bundle = self.slow_bundle()
        with open(f"{bundle}/resources.bin", "wb") as out:
            out.write(os.urandom(8 << 20))
        terminal = self.terminal("bundle", "build", bundle)
        self.assertEqual(terminal.ended(), 0)
        self.assertErased(terminal.text, "packing")

    # cell top --svg.

    def test_cell_top_draws(self):
        self.assertEnded(self.world.ctl("exec", "--cell", "drawn", "--", "true"), 0)
        done = self.world.ctl("cell", "top", "--svg", "--for", "2s")
        self.assertEqual((done.code, done.err), (0, ""))
        root = xml.etree.ElementTree.fromstring(done.out)
        texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("drawn", texts)
        paths = [each.get("d") for each in root.iter("{http://www.w3.org/2000/svg}path")]
        self.assertGreaterEqual(min(path.count("L") for path in paths), 1)

    def test_cell_top_draws_until_it_is_interrupted(self):
        terminal = self.terminal("cell", "top", "--svg")
        self.assertEqual(terminal.ended(), 2)
        self.assertIn("--svg writes a picture to stdout, which is a terminal", terminal.text)

        command = " ".join(self.world.argv("cell", "top", "--svg"))
        terminal = Terminal(["/bin/sh", "-c", f"exec {command} >{self.world.directory}/cells.svg"], env=TERM)
        terminal.until("drawing  ")
        terminal.type("\x03")
        self.assertEqual(terminal.ended(), 0)
        self.assertErased(terminal.text, "drawing  ")
        xml.etree.ElementTree.parse(f"{self.world.directory}/cells.svg")


if __name__ == "__main__":
    main()
