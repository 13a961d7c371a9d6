#!/usr/bin/env python3
"""The supervisor with no more capabilities than its systemd unit leaves it."""

import os
import re
import unittest

import bundles
from world import SOURCE, World, main


class UnitCapabilitiesTest(unittest.TestCase):

    def setUp(self):
        with open(SOURCE + "/systemd/odyssey-supervisor.service", encoding="utf-8") as unit:
            names = re.search(r"^CapabilityBoundingSet=(.*)$", unit.read(), re.MULTILINE).group(1).split()
        kept = ",".join("+" + name.removeprefix("CAP_").lower() for name in names)
        self.world = World(["setpriv", "--no-new-privs", "--bounding-set=-all," + kept])
        self.addCleanup(self.world.close)
        self.world.up()

    def assertWorks(self, *words):
        done = self.world.ctl(*words)
        self.assertEqual(done.code, 0, done)
        return done.out

    def test_a_directory_of_somebodys_is_written(self):
        workspace = self.world.directory + "/workspace"
        os.mkdir(workspace)
        os.chown(workspace, 1234, 1234)
        self.assertWorks("exec", "--workspace", workspace, "--", "touch", "made")
        self.assertEqual(os.stat(workspace + "/made").st_uid, 1234)

    def test_a_cell_is_kept(self):
        self.assertWorks("exec", "--cell", "kept", "--", "touch", "made")
        self.assertWorks("exec", "--cell", "kept", "--", "test", "-e", "made")

    def test_a_turn_runs(self):
        bundle = bundles.write(self.world.directory + "/b", [
            bundles.bash("echo done >file; cat file"), bundles.say("It said ${r.stdout}")])
        self.assertIn("It said done", self.assertWorks("run", bundle, "--prompt", "x"))


if __name__ == "__main__":
    main()
