#!/usr/bin/env python3
"""kill -9 of each process while an agent's command runs.

Whatever dies: soon nothing of the cells it touches is left, the next turn works, and what had nothing to do with it goes
on. With agentd the turn is recorded as interrupted; with the supervisor or the cell the model gets an error of its call,
and the turn goes on.
"""

import os
import signal
import subprocess
import unittest

import bundles
import host
from world import HANG_S, World, main

LONG = "86399"  # seconds that the agent's command sleeps, and what it is found by


class KillTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.world.up()
        self.project = self.world.make_directory("project")
        long = [bundles.bash(f"echo begun; exec sleep {LONG}")]
        short = [bundles.bash("test -e /workspace/mount/read/current && echo short"),
                 bundles.say("It said ${r.stdout}")]
        self.bundle = bundles.write(self.world.directory + "/bundle", [
            {"if": {"value": "${prompt}", "equals": "long"}, "then": long, "else": short}],
            read=["."])
        self.session = self.create_session()
        self.turn = self.world.start("run", self.bundle, "--session", self.session,
                                     "--prompt", "long")
        self.turn.until("begun")

    def create_session(self):
        done = self.world.ctl("session", "create", self.bundle, "--cwd", self.project)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    # What is there before.

    def start_bystander(self):
        """A command in another cell that goes on when told to."""
        client = self.world.start("exec", "--cell", "bystander", "--", "sh", "-c",
                                  "echo here; read word; echo got $word", stdin=subprocess.PIPE)
        client.until("here")
        return client

    def agents_cell(self):
        """The processes of the cell where the agent's command runs, and its control groups."""
        def found():
            return [item for item in self.world.cells().items()
                    if any(LONG in " ".join(host.command_line(pid)) for pid in item[1])]
        # A process between two programs has no command line.
        name, members = host.eventually(found, HANG_S, lambda: f"it runs: {self.world.cells()}")[0]
        groups = [path for path in host.cgroups(self.world.keeper) if path.endswith(name)]
        return ({host.identity(pid) for pid in members},
                {path: os.stat(path).st_ino for path in groups})

    def in_agents_cell(self, program):
        """The topmost process of that name in the agent's cell."""
        members = {pid for pid, _ in self.agents_cell()[0]}
        for pid in host.descendants(self.world.daemons.pid):
            if pid in members and host.name(pid) == program:
                return pid
        raise AssertionError(f"no {program} in {[host.name(pid) for pid in members]}")

    # What has to hold after.

    def kill(self, pid):
        self.assertGreater(pid, 1)
        os.kill(pid, signal.SIGKILL)

    def assertCellGone(self, cell):
        processes, groups = cell
        host.eventually(lambda: not [p for p in processes if host.identity(p[0]) == p], HANG_S,
                        "every process of the cell is gone")
        host.eventually(lambda: not [path for path, inode in groups.items()
                                     if host.inode(path) == inode],
                        HANG_S, "the cell's control groups are gone")

    def assertInterrupted(self):
        def turns():
            done = self.world.ctl("-o", "json", "session", "show", self.session)
            return done.code == 0 and done.json()["turns"]
        recorded = host.eventually(
            lambda: [turn for turn in turns() or [] if turn["status"] == "interrupted"], HANG_S,
            lambda: f"interrupted: {turns()}")
        self.assertEqual(len(recorded), 1)
        self.assertTrue(recorded[0]["error"])
        ends = [event["payload"] for event in
                self.world.ctl("-o", "json", "session", "events", self.session).lines()
                if event["payload"]["type"] == "turn_failed"]
        self.assertEqual(len(ends), 1, ends)
        self.assertTrue(ends[0]["payload"]["interrupted"])

    def assertNextTurnWorks(self):
        host.eventually(lambda: self.world.ctl("status").code == 0, HANG_S,
                        lambda: f"status: {self.world.ctl('status')}")
        for session in (self.session, self.create_session()):
            done = self.world.ctl("run", self.bundle, "--session", session, "--prompt", "short")
            self.assertEqual(done.code, 0, done)
            self.assertIn("It said short", done.out)

    def assertWatcherSawIt(self):
        done = self.turn.ended()
        self.assertEqual(done.code, 1, done)
        self.assertIn("turn interrupted", done.out)

    def assertToldToTheModel(self):
        done = self.turn.ended()
        self.assertEqual(done.code, 0, done)
        events = [event["payload"] for event in self.world.ctl("-o", "json", "session", "events", self.session).lines()]
        results = [event["payload"]["result"] for event in events if event["type"] == "tool_call_finished"]
        self.assertEqual(len(results), 1, results)
        self.assertIn("what the call had done by then is not known", results[0]["error"])

    def assertUnharmed(self, bystander):
        bystander.process.stdin.write(b"word\n")
        bystander.process.stdin.close()
        done = bystander.ended()
        self.assertEqual((done.code, done.out), (0, "here\ngot word\n"), done)

    # One test for each process.

    def test_agentd(self):
        bystander = self.start_bystander()
        processes, _ = self.agents_cell()
        commands = {p for p in processes if LONG in " ".join(host.command_line(p[0]))}
        self.kill(self.world.agentd)
        host.eventually(lambda: not [p for p in commands if host.identity(p[0]) == p], HANG_S,
                        "the agent's command is gone")
        self.assertWatcherSawIt()
        self.assertInterrupted()
        self.assertNextTurnWorks()
        self.assertUnharmed(bystander)

    def kill_part_of_the_supervisor(self, pid):
        bystander = self.start_bystander()
        cell = self.agents_cell()
        self.kill(pid)
        self.assertCellGone(cell)
        done = bystander.ended()
        self.assertEqual(done.code, 125, done)
        self.assertIn("odyssey-ctl: ", done.err)
        self.assertToldToTheModel()
        self.assertNextTurnWorks()

    def test_rpc(self):
        self.kill_part_of_the_supervisor(self.world.rpc)

    def test_root_worker(self):
        self.kill_part_of_the_supervisor(self.world.worker)

    def test_root_keeper(self):
        self.kill_part_of_the_supervisor(self.world.keeper)

    def test_everything_below_up(self):
        cell = self.agents_cell()
        for pid in (self.world.agentd, self.world.keeper):
            self.kill(pid)
        self.assertCellGone(cell)
        self.assertWatcherSawIt()
        self.assertInterrupted()
        self.assertNextTurnWorks()

    def kill_part_of_the_cell(self, pid):
        bystander = self.start_bystander()
        cell = self.agents_cell()
        self.kill(pid)
        self.assertCellGone(cell)
        self.assertToldToTheModel()
        self.assertUnharmed(bystander)
        self.assertNextTurnWorks()

    def test_cell_init(self):
        self.kill_part_of_the_cell(self.in_agents_cell("cell-init"))

    def test_bwrap(self):
        self.kill_part_of_the_cell(self.in_agents_cell("bwrap"))

    def test_the_command_itself(self):
        # Its end is the command's, which is the turn's business.
        found = host.eventually(
            lambda: [p for p in self.world.cell_commands(LONG) if host.name(p) == "sleep"], HANG_S,
            "the command runs")
        self.kill(found[0])
        host.eventually(lambda: not self.world.cell_commands(LONG), HANG_S, "no process is left")
        self.assertEqual(self.turn.ended().code, 0)
        self.assertIn("signalled", self.turn.out)
        self.assertNextTurnWorks()

    def test_the_client_of_a_turn(self):
        # The turn is agentd's: it goes on, and whoever looks sees it.
        gate = bundles.write(self.world.directory + "/gate", [
            bundles.bash("echo waiting; until test -e mount/read/current/go; do sleep 0.02; done"),
            bundles.say("It went on.")], read=["."], bundle_id="gate")
        client = self.world.start("run", gate, "--prompt", "x", "--cwd", self.project)
        client.until("waiting")
        session = client.out.split(" ", 1)[0]
        self.kill(client.pid)
        self.world.make(self.project + "/go")
        follower = self.world.start("-o", "json", "session", "events", session, "--follow")
        follower.until("turn_completed")
        turns = self.world.json("session", "show", session)["turns"]
        self.assertEqual([turn["status"] for turn in turns], ["completed"])

    def test_the_client_of_an_exec(self):
        client = self.world.start("exec", "--", "sh", "-c", "echo here; sleep 86398 & sleep 86398")
        client.until("here")
        before = len(self.world.json("cell", "list")["cells"])
        self.kill(client.pid)
        host.eventually(lambda: not self.world.cell_commands("86398"), HANG_S, "the command is gone")
        host.eventually(lambda: len(self.world.json("cell", "list")["cells"]) == before - 1, HANG_S,
                        lambda: f"its cell is gone: {self.world.json('cell', 'list')}")
        self.assertTrue(self.world.cell_commands(LONG), "the agent's command goes on")

    def test_up(self):
        cell = self.agents_cell()
        self.world.left()
        self.kill(self.world.daemons.pid)
        self.world.daemons.kill()
        self.assertCellGone(cell)
        host.eventually(lambda: not self.world.left(), HANG_S, self.world.left)
        self.assertEqual(self.turn.ended().code, 1)
        self.world.up()
        self.assertInterrupted()
        self.assertNextTurnWorks()


if __name__ == "__main__":
    main()
