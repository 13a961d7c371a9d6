#!/usr/bin/env python3
"""odyssey-ctl gc: what is left goes, what is used stays."""

import glob
import os
import time

import bundles
from world import WorldTest, main


class GcTest(WorldTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bundle = bundles.write(f"{cls.world.directory}/b.bundle", [bundles.bash("echo x >f"), bundles.say("Said.")])

    def session(self):
        session = self.world.ctl("session", "create", self.bundle).out.strip()
        self.assertEqual(self.world.ctl("run", self.bundle, "--session", session, "--prompt", "x").code, 0)
        return session

    def cells_of(self, session):
        return glob.glob(f"{self.world.state}/supervisor/cells/*/*/{session[:32]}-*/*")

    def gc(self, *words):
        if "--older-than" in words:
            time.sleep(2)  # so that age keeps nothing
        done = self.world.ctl("-o", "json", "gc", *words)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(done.json()["bytes"], sum(each["bytes"] for each in done.json()["removed"]))
        return {each["path"]: each["kind"] for each in done.json()["removed"]}

    def forget(self, session):
        """As a state of agentd's that was lost, or put back from an older backup."""
        self.world.down()
        for path in glob.glob(f"{self.world.state}/agentd/*/{session}.*"):
            os.unlink(path)
        self.world.up()

    def test_cells_of_sessions_that_are_gone(self):
        kept, gone = self.session(), self.session()
        self.forget(gone)
        directory, = self.cells_of(gone)
        self.assertNotIn(directory, self.gc(), "not before a day has passed")
        self.assertEqual(self.gc("--dry-run", "--older-than", "1")[directory], "session cell")
        self.assertTrue(os.path.isdir(directory))
        found = self.gc("--older-than", "1")
        self.assertEqual(found[directory], "session cell")
        self.assertFalse(os.path.exists(os.path.dirname(directory)))
        self.assertEqual(len(self.cells_of(kept)), 1)
        self.assertNotIn(self.cells_of(kept)[0], found)
        self.assertEqual(self.gc("--older-than", "1"), {})
        done = self.world.ctl("run", self.bundle, "--session", kept, "--prompt", "next")
        self.assertIn("Said.", done.out)

    def test_a_session_whose_file_was_set_aside_keeps_its_cells(self):
        session = self.session()
        self.world.down()
        path = f"{self.world.state}/agentd/sessions/{session}.json"
        with open(path, "w", encoding="ascii") as file:
            file.write("{")
        self.world.up()
        aside, = glob.glob(f"{path}.corrupt*")
        self.assertEqual(self.gc("--older-than", "1"), {})
        self.assertTrue(self.cells_of(session))
        self.assertEqual(self.gc("--older-than", "1", "--quarantined")[aside], "quarantined file")
        self.assertFalse(os.path.exists(aside))

    def test_named_cells_and_changes_that_wait_stay(self):
        kept = self.world.make_directory("kept")
        os.chmod(kept, 0o777)
        self.assertEqual(self.world.ctl("exec", "--cell", "ses_mine", "--", "true").code, 0)
        self.assertEqual(self.world.ctl("exec", "--cell", "mine", "--", "true").code, 0)
        done = self.world.ctl("exec", "--review", "--write", kept, "--", "touch", f"{kept}/new")
        self.assertEqual(done.code, 0, done)
        waiting = self.world.json("changes")
        self.assertTrue(waiting)
        self.assertEqual(self.gc("--older-than", "1"), {})
        self.assertEqual(self.world.json("changes"), waiting)
        self.assertTrue(glob.glob(f"{self.world.state}/supervisor/cells/command-*/ctl-*/shared/mine-*"))

    def test_changes_of_a_session_that_is_gone_stay(self):
        kept = self.world.make_directory("reviewed")
        os.chmod(kept, 0o777)
        bundle = bundles.write(f"{self.world.directory}/r.bundle", [
            bundles.bash(f"touch {kept}/new"), bundles.say("Said.")], write_=[kept])
        session = self.world.ctl("session", "create", bundle, "--review").out.strip()
        self.assertEqual(self.world.ctl("run", bundle, "--session", session, "--prompt", "x").code, 0)
        self.assertTrue([each for each in self.world.json("changes")["cells"] if each["key"]["session_id"] == session])
        self.forget(session)
        self.assertEqual(self.gc("--older-than", "1"), {})
        self.assertTrue(self.cells_of(session))

    def assertRefuses(self, *words):
        time.sleep(2)
        self.assertEnded(self.world.ctl("gc", "--older-than", "1"), 1, "Nothing was removed", *words)

    def test_without_sessions_nothing_is_known(self):
        session = self.session()
        self.world.down()
        self.world.up()  # no cell lives
        sessions = f"{self.world.state}/agentd/sessions"
        os.rename(sessions, sessions + ".away")
        self.assertRefuses("/agentd/sessions")
        os.rename(sessions + ".away", sessions)
        self.assertTrue(self.cells_of(session))

    def test_without_a_supervisor_nothing_is_known(self):
        session = self.session()
        self.forget(session)
        self.world.down()
        self.assertRefuses("supervisor.sock")
        self.world.up()
        self.assertTrue(self.cells_of(session))
        self.gc("--older-than", "1")
        self.assertFalse(self.cells_of(session))

    def test_a_restore_that_was_killed(self):
        left = f"{self.world.state}/restore.new"
        os.makedirs(f"{left}/agentd")
        self.assertEqual(self.gc("--older-than", "1"), {left: "restore"})
        self.assertFalse(os.path.exists(left))

    def command_cell(self, name, mebibytes=0):
        """Its directory; its process has ended."""
        done = self.world.ctl("exec", "--cell", name, "--", "sh", "-c",
                              f"head -c {mebibytes}M /dev/urandom >/cell/data/home/f")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.world.ctl("cell", "rm", name).code, 0)
        directory, = glob.glob(f"{self.world.state}/supervisor/cells/command-*/ctl-*/shared/{name}-*")
        return directory

    def test_cells_of_commands_by_age(self):
        gone = self.command_cell("gone")
        kept = {self.command_cell(name): name for name in ("lives", "stopped", "quarantined")}
        for name in kept.values():
            self.assertEqual(self.world.ctl("exec", "--cell", name, "--", "true").code, 0)
        self.assertEqual(self.world.ctl("cell", "stop", "stopped").code, 0)
        self.assertEqual(self.world.ctl("cell", "quarantine", "quarantined", "--reason", "x").code, 0)
        try:
            self.assertNotIn(gone, self.gc("--older-than", "1"), "cells of commands without the option")
            self.assertNotIn(gone, self.gc("--command-cells"), "not before a day has passed")
            would = self.gc("--dry-run", "--command-cells", "--older-than", "1")
            self.assertEqual(would.get(gone), "command cell")
            self.assertFalse(set(would) & set(kept))
            self.assertTrue(os.path.isdir(gone))
            found = self.gc("--command-cells", "--older-than", "1")
        finally:
            self.assertEqual(self.world.ctl("cell", "release", "quarantined").code, 0)
        self.assertEqual(found.get(gone), "command cell")
        self.assertFalse(os.path.exists(gone))
        self.assertFalse(os.path.exists(f"{self.world.state}/supervisor/cells.gone"))
        for directory in kept:
            self.assertNotIn(directory, found)
            self.assertTrue(os.path.isdir(directory))
        # Its name may be used again.
        self.assertEqual(self.world.ctl("exec", "--cell", "gone", "--", "test", "!", "-e", "/cell/data/home/f").code, 0)
        for name in ("gone", *kept.values()):
            self.world.ctl("cell", "rm", name, "--purge")

    def test_cells_of_commands_by_bytes(self):
        self.gc("--command-cells", "--older-than", "1")
        first, second, third = (self.command_cell(f"large{number}", 4) for number in range(3))
        self.assertEqual(self.gc("--command-cells", "--older-than", "1", "--keep-bytes", "20m"), {})
        found = self.gc("--command-cells", "--older-than", "1", "--keep-bytes", "10m")
        self.assertEqual(found, {first: "command cell"})
        self.assertEqual([os.path.exists(each) for each in (first, second, third)], [False, True, True])
        self.assertEqual(set(self.gc("--command-cells", "--older-than", "1", "--keep-bytes", "1")), {second, third})
        self.assertEnded(self.world.ctl("gc", "--keep-bytes", "1m"), 1, "Nothing was removed", "--command-cells")

    def test_what_a_removal_has_left(self):
        left = f"{self.world.state}/supervisor/cells.gone"
        os.makedirs(f"{left}/1-0/data")
        self.assertEqual(self.gc(), {left: "gc"})
        self.assertFalse(os.path.exists(left))

    def test_links_are_not_followed(self):
        session = self.session()
        outside = self.world.make("outside/file", "mine")
        self.forget(session)
        directory, = self.cells_of(session)
        os.symlink(os.path.dirname(outside), f"{directory}/app/link")
        self.gc("--older-than", "1")
        self.assertFalse(os.path.exists(directory))
        self.assertTrue(os.path.exists(outside))


if __name__ == "__main__":
    main()
