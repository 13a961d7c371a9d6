"""A whole Odyssey of a test's own: `odyssey-ctl up` on a private state directory, and clients of it.

Everything runs as child processes of the real binaries. Closing a world fails the test if anything
of it is left: a process, a control group, a mount, a socket.
"""

import ctypes
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import host
from host import HANG_S

BIN = os.environ.get("ODYSSEY_BIN") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../build/dev/bin")
CTL = os.path.join(os.path.abspath(BIN), "odyssey-ctl")
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_the_test():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclasses.dataclass
class Ended:
    """How a command ended. out and err are str, or bytes with text=False."""
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    def lines(self):
        """-o json prints one object a line where it prints several."""
        return [json.loads(line) for line in self.out.splitlines()]


class Running:
    """A ctl command that runs beside the test; its output is collected as it comes."""

    def __init__(self, argv, **options):
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=_die_with_the_test, **options)
        self.pid = self.process.pid
        self._parts = {"out": [], "err": []}
        self._threads = {}
        for part, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            thread = threading.Thread(target=self._collect, args=(part, stream), daemon=True)
            thread.start()
            self._threads[part] = thread

    def _collect(self, part, stream):
        with stream:
            while chunk := stream.read1():
                self._parts[part].append(chunk)

    @property
    def out(self):
        return b"".join(self._parts["out"]).decode("utf-8", "replace")

    @property
    def err(self):
        return b"".join(self._parts["err"]).decode("utf-8", "replace")

    def until(self, text, seconds=HANG_S, part="out"):
        """Waits until `part` of the output, "out" or "err", holds `text`; not longer than to its end, which may come to be
        read after the process's.
        """
        host.eventually(lambda: text in getattr(self, part) or not self._threads[part].is_alive(), seconds,
                        lambda: f"{text!r} in {self.out!r}; stderr {self.err!r}")
        assert text in getattr(self, part), f"{text!r} not in {self.out!r}; stderr {self.err!r}"

    def ended(self, seconds=HANG_S):
        code = self.process.wait(seconds)
        for thread in self._threads.values():
            thread.join(seconds)
        return Ended(code, self.out, self.err)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


class World:
    """`prefix`: words before every command, such as nsenter's."""

    def __init__(self, prefix=()):
        self.prefix = list(prefix)
        self.directory = tempfile.mkdtemp(prefix="odyssey-e2e-")
        os.chmod(self.directory, 0o755)  # agentd reaches its state through it
        self.state = self.directory + "/state"
        self.daemons = None  # the running `up`
        self._seen = set()   # every process of this world that a test or close() looked at
        self._keepers = set()
        self._clients = []

    # Daemons.

    def start_up(self, *arguments, env=None):
        """Starts `up` without waiting for it."""
        self.daemons = Running([*self.prefix, CTL, "--state", self.state, "up", *arguments],
                               cwd="/", env={**os.environ, **(env or {})},
                               stdin=subprocess.DEVNULL)
        return self.daemons

    def up(self, *arguments, **options):
        self.start_up(*arguments, **options).until("ready\n", HANG_S)
        self._remember()
        return self

    def daemon(self, program, child_of=None):
        """The pid of one of the daemons, by its program's name."""
        root = child_of or self.daemons.pid
        for pid in host.descendants(root):
            if host.name(pid) == program:
                return pid
        raise AssertionError(f"no {program} below {root}: {self.daemons.err}")

    @property
    def keeper(self):
        return self.daemon("odyssey-supervisor")

    @property
    def worker(self):
        return self.daemon("odyssey-supervisor", child_of=self.keeper)

    @property
    def rpc(self):
        return self.daemon("odyssey-supervisor-rpc")

    @property
    def agentd(self):
        return self.daemon("odyssey-agentd")

    def socket(self, which):
        return f"{self.state}/run/{which}.sock"

    def cells(self):
        """Processes of the cells, by cgroup."""
        return host.cell_processes(self.keeper)

    def cell_commands(self, word):
        """Processes in cells whose command line has `word` in it."""
        return [pid for members in self.cells().values() for pid in members
                if word in " ".join(host.command_line(pid))]

    def _remember(self):
        below = host.descendants(self.daemons.pid)
        self._keepers |= {pid for pid in below if host.name(pid) == "odyssey-supervisor"}
        self._seen |= {host.identity(pid) for pid in [self.daemons.pid, *below]} - {None}

    # Clients.

    def argv(self, *arguments):
        return [*self.prefix, CTL, "--state", self.state, *arguments]

    def ctl(self, *arguments, input="", text=True, timeout=HANG_S, **options):
        """Runs odyssey-ctl to its end; never on a terminal."""
        if isinstance(input, str):
            options["input"] = input if text else input.encode()
        else:
            options["stdin" if hasattr(input, "fileno") else "input"] = input
        done = subprocess.run(self.argv(*arguments), capture_output=True, text=text,
                              errors="replace" if text else None, timeout=timeout, check=False,
                              **options)
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments, **options):
        """Starts odyssey-ctl beside the test."""
        client = Running(self.argv(*arguments), **{"stdin": subprocess.DEVNULL, **options})
        self._clients.append(client)
        return client

    def json(self, *arguments):
        done = self.ctl("-o", "json", *arguments)
        assert done.code == 0, done
        return done.json()

    def make(self, path, content=""):
        """A file below the world's directory; its absolute path."""
        full = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return full

    def make_directory(self, path):
        full = os.path.join(self.directory, path)
        os.makedirs(full, exist_ok=True)
        return full

    # The end.

    def left(self):
        """What is left of this world, in words; empty if nothing is."""
        alive = [f"process {pid} {host.command_line(pid)}" for pid, started in self._seen
                 if host.identity(pid) == (pid, started)]
        groups = [f"cgroup {path}" for keeper in self._keepers for path in host.cgroups(keeper)]
        mounts = [f"mount {line}" for line in host.mounts_below(self.directory)]
        sockets = [f"socket {line}" for line in host.sockets_below(self.directory)]
        return alive + groups + mounts + sockets

    def down(self):
        """Stops everything as a person would; the `down` command's end."""
        self._remember()
        done = self.ctl("down")
        self.daemons.ended()
        return done

    def close(self):
        """Stops everything, and fails if something is left."""
        for client in self._clients:
            client.kill()
        try:
            if self.daemons and self.daemons.process.poll() is None:
                done = self.down()
                assert done.code == 0, f"{done}; {self.daemons.err}"
                for which in ("agentd", "supervisor"):
                    assert not os.path.exists(self.socket(which)), f"{which}.sock is left"
            host.eventually(lambda: not self.left(), HANG_S, self.left)
        finally:
            if self.daemons:
                self.daemons.kill()
            shutil.rmtree(self.directory, ignore_errors=True)


class WorldTest(unittest.TestCase):
    """Tests that share one running world: self.world."""

    world: World

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up()

    def assertEnded(self, done, code, *words):
        """The exit code, and each word in stderr."""
        self.assertEqual(done.code, code, done)
        for word in words:
            self.assertIn(word, done.err)


SKIPPED = 77


def main():
    """unittest.main for these tests: without root they are skipped, or fail if they must run."""
    if os.geteuid() != 0:
        print("needs root: it runs odyssey-ctl up")
        sys.exit(1 if os.environ.get("ODYSSEY_MUST_RUN") == "1" else SKIPPED)
    unittest.main(verbosity=2)
