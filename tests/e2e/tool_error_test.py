#!/usr/bin/env python3
"""What a model gets wrong in a call comes back as that call's result, and the turn goes on."""

import unittest

import bundles
from world import WorldTest, main


class ToolErrorTest(WorldTest):

    def test_a_directory_that_cannot_be_entered(self):
        bundle = bundles.write(self.world.directory + "/bundle", [
            bundles.bash("pwd", cwd="nope"),
            bundles.bash("pwd", "s", cwd="README.md"),
            bundles.bash("echo goes on", "t"),
            bundles.say("Done."),
        ])
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "x")
        self.assertEqual(done.code, 0, done.out[-500:] + done.err)
        events = [event["payload"] for event in done.lines()]
        results = [event["payload"]["result"] for event in events
                   if event["type"] == "tool_call_finished"]
        self.assertEqual([result["outcome"] for result in results],
                         ["setup_failed", "setup_failed", "exited"])
        self.assertIn("access denied: working directory is not a directory: /workspace/nope", results[0]["error"])
        self.assertIn("access denied: working directory is not a directory: /workspace/README.md", results[1]["error"])
        self.assertEqual(results[2]["stdout"], "goes on\n")


if __name__ == "__main__":
    main()
