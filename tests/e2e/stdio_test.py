#!/usr/bin/env python3
"""Programs that a careless parent starts with stdin, stdout and stderr closed.

A descriptor that is missing is the next one that is opened: one that gRPC makes before main, a
socket, a log, a session's file. What is meant for stdout would be written to it.
"""

import os
import pwd
import signal
import subprocess
import unittest

import host
from world import BIN, HANG_S, World, main

CLOSED = ["/bin/bash", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "bash"]


class ClosedStdioTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        os.makedirs(self.world.state + "/run")

    def start(self, program, *arguments, socket):
        process = subprocess.Popen([*CLOSED, os.path.join(BIN, program), *arguments])
        self.addCleanup(self.stop, process)
        host.eventually(lambda: os.path.exists(socket), HANG_S, f"{program} serves")
        return process.pid

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(HANG_S), 0)

    def start_supervisor(self):
        # A grant, so that there is a host runner too.
        grants = self.world.make("grants", pwd.getpwuid(65534).pw_name + "\n")
        return self.start("odyssey-supervisor", "--state", self.world.state + "/supervisor",
                          "--run", self.world.state + "/run",
                          "--policy", self.world.state + "/policy.d", "--danger-grants", grants,
                          socket=self.world.socket("supervisor"))

    def assertHasStdio(self, pid):
        self.assertEqual([os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(3)],
                         ["/dev/null"] * 3, host.command_line(pid))

    def program(self, name, root):
        find = lambda: [pid for pid in host.descendants(root) if host.name(pid) == name]
        return host.eventually(find, HANG_S, name)[0]

    def test_of_the_supervisor(self):
        keeper = self.start_supervisor()
        for _ in range(2):
            done = self.world.ctl("exec", "--cell", "a", "--", "echo", "works")
            self.assertEqual((done.code, done.out), (0, "works\n"), done)
        self.assertHasStdio(self.program("odyssey-supervisor-rpc", keeper))
        self.assertHasStdio(self.program("odyssey-host-runner", keeper))

    def test_of_agentd(self):
        self.start_supervisor()
        agentd = self.start("odyssey-agentd", "--state", self.world.state + "/agentd",
                            "--socket", self.world.socket("agentd"),
                            "--supervisor-socket", self.world.socket("supervisor"),
                            "--policy", self.world.state + "/policy.d",
                            socket=self.world.socket("agentd"))
        self.assertHasStdio(agentd)
        self.assertEqual(self.world.json("session", "list")["sessions"], [])

    def test_of_the_client(self):
        self.start_supervisor()
        command = self.world.argv("exec", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 3")
        for closed, out, err in (("0<&-", "out\n", "err\n"), ("1>&-", "", "err\n"),
                                 ("2>&-", "out\n", ""), ("0<&- 1>&- 2>&-", "", "")):
            done = subprocess.run(["/bin/bash", "-c", f'exec "$@" {closed}', "bash", *command],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False, timeout=HANG_S)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, out, err), closed)


if __name__ == "__main__":
    main()
