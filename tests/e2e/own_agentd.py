"""An odyssey-agentd of a test's own beside a world's: on a state directory of its own, in the same supervisor."""

import os
import signal
import subprocess

import host
from world import BIN, HANG_S, Running, WorldTest


class OwnAgentd:
    """Runs as this process's user. `options` are agentd's, `env` is added to its environment."""

    def __init__(self, of, name, *options, env=None):
        self._world = of
        self.state = of.make_directory(name)
        self.socket = f"{of.directory}/{name}.sock"
        self._options = options
        self._env = {**os.environ, **(env or {})}
        self.process = None
        self.err = ""

    def start(self, ready=True):
        self.process = Running(
            [os.path.join(os.path.abspath(BIN), "odyssey-agentd"), "--state", self.state,
             "--socket", self.socket, "--supervisor-socket", self._world.socket("supervisor"),
             "--policy", f"{self._world.state}/policy.d", *self._options],
            env=self._env, stdin=subprocess.DEVNULL, cwd="/")
        if ready:
            self.process.until("ready\n")
        return self

    def stop(self):
        if self.process and self.process.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
            done = self.process.ended()
            assert done.code == 0, done
        self._forget()

    def kill(self):
        self.process.kill()
        self._forget()

    def _forget(self):
        if self.process:
            self.err += self.process.err
        self.process = None

    def restart(self):
        self.stop()
        return self.start()

    def argv(self, *words):
        return self._world.argv("--socket", self.socket, *words)

    def ctl(self, *words, **options):
        return self._world.ctl("--socket", self.socket, *words, **options)

    def json(self, *words):
        return self._world.json("--socket", self.socket, *words)

    def create(self, bundle, *more):
        done = self.ctl("session", "create", bundle, *more)
        assert done.code == 0, done
        return done.out.strip()

    def submit(self, session, prompt):
        done = self.ctl("turn", "submit", session, "--prompt", prompt)
        assert done.code == 0, done
        return done.out.strip()

    def run(self, bundle, session, prompt):
        return self.ctl("run", bundle, "--session", session, "--prompt", prompt)

    def turns(self, session):
        return self.json("session", "show", session).get("turns", [])

    def await_turn(self, session, turn):
        def ended():
            found = [each for each in self.turns(session) if each["id"] == turn]
            return found and found[0]["status"] not in ("queued", "running") and found[0]
        return host.eventually(ended, HANG_S, lambda: f"{turn} ends: {self.turns(session)}")

    def events(self, session, *more):
        done = self.ctl("-o", "json", "session", "events", session, *more)
        assert done.code == 0, done
        return done.lines()

    def doctor(self):
        return [check["detail"] for check in self.ctl("-o", "json", "doctor").json()["checks"]]


class OwnAgentdTest(WorldTest):
    """Tests with agentds of their own."""

    def agentd(self, *options, env=None):
        own = OwnAgentd(self.world, self.id().rpartition(".")[2], *options, env=env)
        self.addCleanup(own.stop)
        return own
