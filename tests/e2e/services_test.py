#!/usr/bin/env python3
"""Daemons as units start them, by odyssey-start: settings in files, sockets and reports of the service manager, reload."""

import os
import signal
import socket
import subprocess

import bundles
import host
from world import BIN, HANG_S, World, WorldTest, main

START = os.path.join(os.path.abspath(BIN), "odyssey-start")
EX_CONFIG = 78
NOBODY = 65534


class Service:
    """A daemon below odyssey-start, with a listening socket and a notification socket as systemd's."""

    def __init__(self, daemon, settings, watchdog_s=0):
        path = f"{settings}/{daemon}.sock"
        self.path = path
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.settimeout(HANG_S)
        notify = f"{settings}/notify"
        self._notify.bind(notify)
        os.chmod(notify, 0o777)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        os.chmod(path, 0o666)
        self._listener.listen()

        def child():
            os.dup2(self._listener.fileno(), 3)
        self.log = open(f"{settings}/{daemon}.log", "w+b")
        environment = {"PATH": os.environ["PATH"], "NOTIFY_SOCKET": notify, "LISTEN_FDS": "1"}
        if watchdog_s:
            environment["WATCHDOG_USEC"] = str(watchdog_s * 1_000_000)
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", START, "--directory", settings, daemon],
            env=environment, preexec_fn=child, pass_fds=[3], cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.log)

    def report(self):
        return self._notify.recv(256).decode().split("\n")[0]

    def until(self, report):
        while self.report() != report:
            pass

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        code = self.process.wait(HANG_S)
        self._listener.close()
        self._notify.close()
        self.log.close()
        return code


class ServicesTest(WorldTest):

    def setUp(self):
        super().setUp()
        self.name = self.id().rpartition(".")[2]
        self.settings = self.world.make_directory(self.name)

    def write(self, file, text):
        return self.world.make(f"{self.name}/{file}", text)

    def start(self, daemon, **options):
        service = Service(daemon, self.settings, **options)
        self.addCleanup(service.stop)
        return service

    def agentd_settings(self, more=""):
        self.write("agentd.yaml",
                   f"state: {self.settings}/state\n"
                   f"socket: {self.settings}/agentd.sock\n"
                   f"supervisor_socket: {self.world.socket('supervisor')}\n"
                   f"policy: {self.world.state}/policy.d\n"
                   f"prices: {self.settings}/prices.yaml\n"
                   f"allow_group: {NOBODY - 1}\n" + more)

    def ctl(self, *words, **options):
        return self.world.ctl("--socket", f"{self.settings}/agentd.sock", *words, **options)

    def as_nobody(self):
        """Whether agentd serves uid 65534."""
        done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                               *self.world.argv("--socket", f"{self.settings}/agentd.sock", "session", "list")],
                              capture_output=True, text=True, check=False, timeout=HANG_S)
        self.assertTrue(done.returncode == 0 or "this socket serves uids" in done.stderr, done)
        return done.returncode == 0

    def test_agentd_serves_on_the_managers_socket_and_reports(self):
        self.agentd_settings("drain: 0\nworkers: 3\n")
        service = self.start("agentd", watchdog_s=2)
        self.assertEqual(service.report(), "READY=1")
        service.until("WATCHDOG=1")
        service.until("WATCHDOG=1")
        self.assertEqual(self.ctl("-o", "json", "session", "list").json()["sessions"], [])
        self.assertIn("--workers 3", " ".join(host.command_line(service.process.pid)))
        service.signal(signal.SIGTERM)
        service.until("STOPPING=1")
        self.assertEqual(service.process.wait(HANG_S), 0)
        # The socket is the manager's: it stays for the next start.
        self.assertTrue(os.path.exists(service.path))

    def test_a_reload_applies_who_may_connect(self):
        self.agentd_settings()
        service = self.start("agentd")
        service.until("READY=1")
        self.assertFalse(self.as_nobody())
        self.write("agentd.d/10-more.yaml", f"allow_users: [{NOBODY}]\nworkers: 5\n")
        service.signal(signal.SIGHUP)
        self.assertEqual([service.report(), service.report()], ["RELOADING=1", "READY=1"])
        self.assertTrue(self.as_nobody())
        self.assertIn('need_restart="--workers"', service.logged())
        # A file that cannot be read changes nothing.
        wrong = self.write("agentd.d/20-wrong.yaml", "\nworker: 5\n")
        service.signal(signal.SIGHUP)
        self.assertEqual([service.report(), service.report()], ["RELOADING=1", "READY=1"])
        self.assertIn(f"{wrong}:2: worker: unknown field", service.logged())
        self.assertTrue(self.as_nobody())
        os.remove(wrong)
        os.remove(f"{self.settings}/agentd.d/10-more.yaml")
        service.signal(signal.SIGHUP)
        self.assertEqual([service.report(), service.report()], ["RELOADING=1", "READY=1"])
        self.assertFalse(self.as_nobody())

    def test_a_reload_keeps_a_running_turn(self):
        self.agentd_settings()
        service = self.start("agentd")
        service.until("READY=1")
        bundle = self.world.make_directory(self.name + "/bundle")
        bundles.write(bundle, [bundles.bash("sleep 1; echo ended"), bundles.say("done")])
        session = self.ctl("session", "create", bundle).out.strip()
        self.ctl("turn", "submit", session, "--prompt", "go")
        host.eventually(lambda: "tool_call_started" in self.ctl("session", "events", session, "-o", "json").out, HANG_S,
                        "the turn runs")
        service.signal(signal.SIGHUP)
        host.eventually(lambda: "turn_completed" in self.ctl("session", "events", session, "-o", "json").out, HANG_S,
                        lambda: self.ctl("session", "events", session).out)

    def test_the_supervisor_serves_on_the_managers_socket_and_reports(self):
        self.write("supervisor.yaml",
                   f"state: {self.settings}/state\nrun: {self.settings}\nrpc_user: nobody\nclient_users: [root]\n"
                   f"policy: {self.world.state}/policy.d\n")
        service = self.start("supervisor", watchdog_s=2)
        self.assertEqual(service.report(), "READY=1")
        service.until("WATCHDOG=1")
        service.until("WATCHDOG=1")
        done = self.world.ctl("exec", "--", "sh", "-c", "ls -l /proc/self/fd | grep -c socket:; echo works",
                              env={**os.environ, "ODYSSEY_SUPERVISOR_SOCKET": service.path})
        self.assertEqual(done.out, "0\nworks\n", done)
        self.assertEqual(service.stop(), 0)
        self.assertTrue(os.path.exists(service.path))

    def test_wrong_settings_are_named_and_nothing_starts(self):
        path = self.write("agentd.yaml", "drain: 60s\nqueue: many\n")
        done = subprocess.run([START, "--directory", self.settings, "agentd"], capture_output=True, text=True,
                              check=False, timeout=HANG_S)
        self.assertEqual(done.returncode, EX_CONFIG, done)
        self.assertIn(f'{path}:2: queue: "many": expected a number from 1 to 100000', done.stderr)
        os.chmod(path, 0o666)
        done = subprocess.run([START, "--directory", self.settings, "agentd"], capture_output=True, text=True,
                              check=False, timeout=HANG_S)
        self.assertEqual(done.returncode, EX_CONFIG, done)
        self.assertIn("chmod go-w", done.stderr)


class ConfigTest(WorldTest):
    """odyssey-ctl config, and the files of `up`."""

    def directory(self, **files):
        made = self.world.make_directory(self.id().rpartition(".")[2])
        for name, text in files.items():
            with open(f"{made}/{name}.yaml", "w", encoding="utf-8") as file:
                file.write(text)
        return made

    def test_check_names_each_problem(self):
        made = self.directory(agentd="workers: 0\nqueue: 1\nqueues: 2\n", egress="limits: 3\n")
        os.mkdir(f"{made}/policy.d")
        with open(f"{made}/policy.d/x.yaml", "w", encoding="utf-8") as file:
            file.write("version: odyssey.ceiling/v1\nmodes: 3\n")
        done = self.world.ctl("config", "check", "--directory", made)
        self.assertEqual(done.code, 1, done)
        for place in ("agentd.yaml:1: workers", "agentd.yaml:3: queues", "egress.yaml:1: limits", "policy.d/x.yaml:2"):
            self.assertIn(f"{made}/{place}", done.err)
        done = self.world.ctl("-o", "json", "config", "check", "agentd", "--directory", made)
        self.assertEqual([(each["line"], each["key"]) for each in done.json()["problems"]], [(1, "workers"), (3, "queues")])
        done = self.world.ctl("config", "check", "nothing")
        self.assertEqual((done.code, "supervisor, egress, agentd" in done.err), (1, True), done)

    def test_check_of_good_files_lists_them(self):
        made = self.directory(agentd="workers: 2\n")
        done = self.world.ctl("config", "check", "agentd", "--directory", made)
        self.assertEqual((done.code, done.out), (0, f"{made}/agentd.yaml\n"), done)

    def test_show_says_where_each_value_is_written(self):
        made = self.directory(agentd="\nworkers: 2\n")
        self.assertEqual(self.world.ctl("config", "show", "agentd", "--directory", made).out,
                         f"workers: 2  # {made}/agentd.yaml:2\n")
        effective = self.world.json("config", "show", "agentd", "--effective", "--directory", made)["agentd"]
        self.assertIn({"key": "workers", "value": "2", "file": f"{made}/agentd.yaml", "line": 2}, effective)
        self.assertIn({"key": "queue", "value": "128", "default": True}, effective)

    def test_installed_files_are_the_defaults(self):
        for daemon in ("supervisor", "egress", "agentd"):
            shown = self.world.ctl("config", "show", daemon, "--directory",
                                   os.path.join(os.path.dirname(os.path.abspath(BIN)), "packaging"))
            self.assertEqual((shown.code, shown.out), (0, ""), shown)

    def other(self):
        """A world that is not up."""
        world = World()
        self.addCleanup(world.close)
        return world

    def test_up_reads_its_state_directory(self):
        world = self.other()
        world.make("state/agentd.yaml", "workers: 7\ndrain: 1s\n")
        world.make("state/egress.d/10.yaml", "limits: {clients: 5}\n")
        world.up("--queue", "9")
        self.assertIn("--workers 7 --drain 1 --queue 9", " ".join(host.command_line(world.agentd)))
        self.assertIn("--limit clients=5", " ".join(host.command_line(world.daemon("odyssey-egress"))))

    def test_up_refuses_what_it_decides_itself(self):
        world = self.other()
        path = world.make("state/agentd.yaml", "workers: 7\nsocket: /tmp/x.sock\n")
        done = world.ctl("up")
        self.assertEqual(done.code, 1, done)
        self.assertIn(f"{path}:2: socket: `odyssey-ctl up` decides it", done.err)


if __name__ == "__main__":
    main()
