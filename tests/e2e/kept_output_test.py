#!/usr/bin/env python3
"""Output that is cut: the model reads on in the file that the tool result names."""

import unittest

import bundles
from world import WorldTest, main

CAP = 64 * 1024  # of the Bash tool
LINES = 20000
WHOLE = "".join(f"line {number:06}\n" for number in range(1, LINES + 1))
PRINT = f"seq {LINES} | awk '{{ printf \"line %06d\\n\", $1 }}'"


class KeptOutputTest(WorldTest):

    def results(self, steps):
        """What the tools of one turn returned, in order."""
        bundle = bundles.write(self.world.directory + "/bundle", steps)
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "x")
        self.assertEqual(done.code, 0, done.out[-500:] + done.err)
        events = [event["payload"] for event in done.lines()]
        return [event["payload"]["result"] for event in events
                if event["type"] == "tool_call_finished"]

    def test_later_steps_read_what_was_cut_off(self):
        printed, *parts = self.results([
            bundles.bash(PRINT),
            bundles.call("Read", "a", path="${r.full_stdout}", offset=CAP, max_bytes=CAP),
            bundles.call("Read", "b", path="${r.full_stdout}", offset="${a.next_offset}"),
        ])
        self.assertTrue(printed["stdout_truncated"])
        self.assertTrue(printed["stdout"].startswith(WHOLE[:CAP]))
        self.assertNotIn(WHOLE[CAP:CAP + 24], printed["stdout"])
        self.assertRegex(printed["full_stdout"], r"^/cell/runs/run_[0-9a-f]{16}/outbox/stdout$")
        self.assertNotIn("full_stderr", printed)
        self.assertEqual([part.get("truncated", False) for part in parts], [True, False])
        self.assertTrue("".join(part["content"] for part in parts) == WHOLE[CAP:])

    def test_output_that_fits_names_no_file(self):
        printed, = self.results([bundles.bash("seq 10; seq 10 >&2")])
        self.assertFalse(printed["stdout_truncated"] or printed["stderr_truncated"])
        self.assertEqual([key for key in printed if key.startswith("full_")], [])


if __name__ == "__main__":
    main()
