#!/usr/bin/env python3
"""Who reaches the daemons' sockets: root and those they were told of; no other uid, no cell."""

import json
import os
import socket

import bundles
import host
from world import WorldTest, main

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"  # and an empty SETTINGS frame
NOBODY = 65534
STRANGER = 54321


def answers_to(uid, path):
    """Whether a process of that uid gets an HTTP/2 answer on the socket. Asks in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b"?"
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(30)
                try:
                    client.connect(path)
                    client.sendall(PREFACE)
                    frames = client.recv(4096)  # a peer that is refused gets a GOAWAY that says so
                    answer = b"1" if frames and b"refused: " not in frames else b"0"
                except (ConnectionError, PermissionError):
                    answer = b"0"
        finally:
            os.write(writer, answer)
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as result:
        answer = result.read()
    os.waitpid(child, 0)
    assert answer in (b"0", b"1"), answer
    return answer == b"1"


class SocketTest(WorldTest):

    def test_who_is_served(self):
        agentd, rpc = host.uid(self.world.agentd), host.uid(self.world.rpc)
        self.assertNotIn(0, (agentd, rpc))
        for uid, supervisor in ((0, True), (agentd, True), (NOBODY, False), (STRANGER, False)):
            self.assertEqual(answers_to(uid, self.world.socket("supervisor")), supervisor, uid)
        for uid, served in ((0, True), (rpc, False), (NOBODY, False), (STRANGER, False)):
            self.assertEqual(answers_to(uid, self.world.socket("agentd")), served, uid)

    def test_a_cells_uid_is_not(self):
        self.assertEqual(self.world.ctl("exec", "--cell", "a", "--", "true").code, 0)
        uid = self.world.json("cell", "list")["cells"][0]["host_uid"]
        for which in ("agentd", "supervisor"):
            self.assertFalse(answers_to(uid, self.world.socket(which)), which)

    def test_the_client_says_why(self):
        environment = {**os.environ, "HOME": "/"}
        for words in (["session", "list"], ["cell", "list"]):
            done = self.world.ctl(*words, user=STRANGER, group=STRANGER, extra_groups=[],
                                  env=environment, cwd="/")
            self.assertEqual(done.code, 1, done)
            self.assertIn(str(STRANGER), done.err)

    def test_state_is_closed_to_others(self):
        for name in ("agentd", "supervisor", "log"):
            self.assertEqual(os.stat(f"{self.world.state}/{name}").st_mode & 0o077, 0, name)
        # Nobody but root removes or replaces the supervisor's socket.
        run = os.stat(self.world.state + "/run")
        self.assertEqual((run.st_uid, bool(run.st_mode & 0o002)), (0, False))
        self.assertTrue(run.st_mode & 0o1000)

    def probe(self, network):
        """What a command of an agent finds when it looks for the sockets."""
        look = f"""
import json, os, socket
found = {{}}
for path in {[self.world.socket("agentd"), self.world.socket("supervisor")]!r}:
    for place in (path, "/proc/1/root" + path, "/workspace/mount/read/current" + path):
        with socket.socket(socket.AF_UNIX) as client:
            found[place] = client.connect_ex(place)
print(json.dumps([found, os.path.exists({self.world.state!r}), os.path.exists("/run/odyssey")]))
"""
        project = self.world.make_directory("project")
        self.world.make(project + "/look.py", look)
        bundle = bundles.write(
            f"{self.world.directory}/probe{len(network)}",
            [bundles.bash("python3 mount/read/current/look.py"), bundles.say("=${r.stdout}=${r.stderr}")],
            network=network, read=["."])
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "x", "--cwd", project)
        self.assertEqual(done.code, 0, done)
        last = done.lines()[-1]["payload"]["payload"]["message"]
        return json.loads(last.split("=")[1])

    def test_an_agents_command_reaches_neither(self):
        for network in ([], ["*"]):
            found, state, run = self.probe(network)
            self.assertEqual(len(found), 6)
            self.assertNotIn(0, found.values(), found)
            self.assertEqual((state, run), (False, False))

    def test_no_mount_shows_them(self):
        for option in ("--read", "--write", "--workspace"):
            for path in (self.world.state + "/run", self.world.state, self.world.directory,
                         self.world.socket("agentd")):
                done = self.world.ctl("exec", option, path, "--", "true")
                self.assertEqual(done.code, 125, (option, path, done))
                self.assertIn(path, done.err)


if __name__ == "__main__":
    main()
