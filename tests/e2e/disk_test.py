#!/usr/bin/env python3
"""A state directory whose disk is full or read-only: a tmpfs in a mount namespace of the test's own."""

import os
import subprocess
import unittest

import bundles
from world import HANG_S, World, main


class DiskTest(unittest.TestCase):

    def start(self, options):
        """A world whose state is on a tmpfs mounted with these options, which only it sees."""
        world = World()
        os.mkdir(world.state)
        # Holds the namespace until its stdin is closed.
        holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"mount -t tmpfs -o mode=755,{options} tmpfs {world.state} && echo ok && read x"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate, b"\n")
        self.addCleanup(world.close)
        self.assertEqual(holder.stdout.readline(), b"ok\n")
        world.prefix = ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", "--"]
        self.inside = f"/proc/{holder.pid}/root{world.state}"
        return world

    def fill(self):
        path = self.inside + "/filler"
        with open(path, "wb", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass
        return path

    def await_commands(self, world):
        """Until the audit log, which tries again in its own time, can be written."""
        self.assertTrue(any(world.ctl("exec", "--", "true").code == 0 for _ in range(100)))

    def test_a_read_only_state(self):
        world = self.start("size=1m,ro")
        done = world.start_up().ended(HANG_S)
        self.assertEqual((done.code, done.out), (1, ""), done)
        self.assertIn("Read-only file system", done.err)
        self.assertIn(world.state, done.err)

    def test_a_disk_that_is_full_from_the_start(self):
        world = self.start("size=64k")
        self.fill()
        done = world.start_up().ended(HANG_S)
        self.assertEqual((done.code, done.out), (1, ""), done)
        self.assertIn("No space left on device", done.err)
        self.assertIn(world.state, done.err)

    def test_a_disk_that_fills_up(self):
        world = self.start("size=8m")
        world.up()
        bundle = bundles.write(world.directory + "/b", [
            bundles.bash("echo done >file; cat file"), bundles.say("It said ${r.stdout}")])
        created = world.ctl("session", "create", bundle)
        self.assertEqual(created.code, 0, created)
        session = created.out.strip()
        filler = self.fill()

        for words in (["session", "create", bundle], ["turn", "submit", session, "--prompt", "x"],
                      ["run", bundle, "--session", session, "--prompt", "x"]):
            done = world.ctl(*words)
            self.assertEqual(done.code, 1, (words, done))
            self.assertIn("No space left on device", done.err + done.out, words)
        # What changes nothing goes on. What the audit log cannot record is not done; the last page of
        # its file may still take some records.
        self.assertEqual(world.ctl("status").code, 0)
        ended = (world.ctl("exec", "--", "true") for _ in range(100))
        done = next((one for one in ended if one.code != 0), None)
        self.assertIsNotNone(done)
        self.assertEqual(done.code, 125, done)
        self.assertIn("audit", done.err)
        self.assertEqual(world.ctl("session", "show", session).code, 0)

        os.unlink(filler)
        self.await_commands(world)
        done = world.ctl("run", bundle, "--session", session, "--prompt", "x")
        self.assertEqual(done.code, 0, done)
        self.assertIn("It said done", done.out)

    def test_a_disk_that_fills_up_under_a_turn(self):
        world = self.start("size=8m")
        world.up()
        bundle = bundles.write(world.directory + "/b", [
            bundles.bash("echo begun; dd if=/dev/zero of=big bs=64k 2>&1; rm -f big; echo after"),
            bundles.bash("head -c 20000000 /dev/zero >big || echo refused; rm -f big", "again"),
            bundles.say("It ended: ${r.stdout} ${again.stdout}")])
        done = world.ctl("run", bundle, "--prompt", "x")
        self.assertIn("No space left on device", done.out + done.err)
        session = world.json("session", "list")["sessions"][0]["id"]
        turn = world.json("session", "show", session)["turns"][0]
        self.assertIn(turn["status"], ("completed", "failed"))
        self.assertEqual(world.json("status")["agentd"]["info"]["running_turns"], 0)
        # A command that was ended with its turn may have left what it wrote.
        self.assertEqual(world.ctl("session", "rm", session).code, 0)
        self.await_commands(world)
        again = bundles.write(world.directory + "/c", [bundles.bash("echo fine")])
        done = world.ctl("run", again, "--prompt", "x")
        self.assertEqual(done.code, 0, done)


if __name__ == "__main__":
    main()
