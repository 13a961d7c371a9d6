#!/usr/bin/env python3
"""A cell as people use it: files, ports, a shell and ssh, with the clients that people have."""

import concurrent.futures
import hashlib
import json
import os
import signal
import socket
import subprocess

import host
from host import HANG_S
from terminal import Terminal
from world import WorldTest, main

NOBODY = 65534
STRANGER = 54321
MARK = "what the cell serves"

# Serves one connection: `before` is sent at once and ended, then what comes is read to its end and its digest sent, or
# written to `digest` where the other half has ended.
SERVE = """
import hashlib, socket
with socket.create_server(("127.0.0.1", %d)) as server:
    print("listens", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            if %r:
                connection.sendall(%r)
                connection.shutdown(socket.SHUT_WR)
            digest = hashlib.sha256()
            while data := connection.recv(1 << 16):
                digest.update(data)
            if %r:
                open("/workspace/digest", "w").write(digest.hexdigest())
            else:
                connection.sendall(digest.hexdigest().encode())
"""


# python3 -m http.server, whose accept queue of 5 makes the kernel reset connections of a crowd.
BUSY = """
import http.server as server
server.ThreadingHTTPServer.request_queue_size = 128
server.test(server.SimpleHTTPRequestHandler, server.ThreadingHTTPServer, port=8001, bind="127.0.0.1")
"""


class AccessTest(WorldTest):

    def make(self, cell, *options):
        done = self.world.ctl("exec", "--cell", cell, *options, "--", "true")
        self.assertEqual(done.code, 0, done)

    def exec(self, cell, *argv):
        return self.world.ctl("exec", "--cell", cell, "--", *argv)

    def serve(self, cell, word, *argv):
        running = self.world.start("exec", "--cell", cell, "--", *argv)
        running.until(word)
        return running

    def web(self, cell, port):
        return self.serve(cell, "Serving", "sh", "-c", f"mkdir -p /workspace/www && cd /workspace/www && "
                          f"echo '{MARK}' >f && exec python3 -u -m http.server {port} --bind 127.0.0.1")

    def forward(self, cell, *words):
        """The running forward, and the port of this host that its first listener has."""
        running = self.world.start("-o", "json", "cell", "forward", cell, *words)
        running.until("]")
        return running, json.loads(running.out)["listeners"][0]["port"]

    def curl(self, url, **options):
        return subprocess.run(["/usr/bin/curl", "-sS", "--max-time", str(HANG_S), url], capture_output=True, text=True,
                              check=False, **options)


class ForwardTest(AccessTest):

    def test_curl_reaches_a_server_in_a_cell(self):
        server = self.web("web", 8000)
        forward, port = self.forward("web", "0:8000")
        for address in ("127.0.0.1", "[::1]"):
            got = self.curl(f"http://{address}:{port}/f")
            self.assertEqual((got.returncode, got.stdout), (0, MARK + "\n"), got)
        forward.process.send_signal(signal.SIGINT)
        self.assertEqual((forward.ended().code, forward.err), (0, ""))
        server.kill()

    def test_many_connections(self):
        server = self.serve("crowd", "Serving", "sh", "-c", f"cd /workspace && echo '{MARK}' >f && "
                            "exec python3 -u -c \"$0\"", BUSY)
        forward, port = self.forward("crowd", "0:8001")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for got in pool.map(self.curl, [f"http://127.0.0.1:{port}/f"] * 48):
                self.assertEqual((got.returncode, got.stdout), (0, MARK + "\n"), got)
        self.assertEqual(forward.err, "")
        forward.kill()
        server.kill()

    def test_either_side_may_end_its_half_first(self):
        sent = os.urandom(3 << 20)
        digest = hashlib.sha256(sent).hexdigest()
        client_first = self.serve("halves", "listens", "python3", "-c", SERVE % (7001, False, b"", False))
        server_first = self.serve("halves", "listens", "python3", "-c", SERVE % (7002, True, b"hello", True))
        forward, port = self.forward("halves", "0:7001")
        other, other_port = self.forward("halves", "0:7002")
        with socket.create_connection(("127.0.0.1", port), HANG_S) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            self.assertEqual(client.makefile("rb").read().decode(), digest)
        with socket.create_connection(("127.0.0.1", other_port), HANG_S) as client:
            self.assertEqual(client.makefile("rb").read(), b"hello")
            client.sendall(sent)
        host.eventually(lambda: self.exec("halves", "cat", "/workspace/digest").out == digest, HANG_S, "the digest")
        for running in (client_first, server_first, forward, other):
            running.kill()

    def test_nothing_listens(self):
        self.make("silent")
        forward, port = self.forward("silent", "0:7999")
        self.assertNotEqual(self.curl(f"http://127.0.0.1:{port}/").returncode, 0)
        host.eventually(lambda: "Connection refused" in forward.err, HANG_S, lambda: forward.err)
        server = self.web("silent", 7999)
        self.assertEqual(self.curl(f"http://127.0.0.1:{port}/f").stdout, MARK + "\n")
        server.kill()
        forward.kill()

    def test_it_ends_with_the_cell(self):
        server = self.web("mortal", 8000)
        forward, port = self.forward("mortal", "0:8000")
        self.assertEqual(self.curl(f"http://127.0.0.1:{port}/f").returncode, 0)
        self.assertEqual(self.world.ctl("cell", "rm", "mortal").code, 0)
        self.assertEnded(forward.ended(), 1, "ended since 20")
        server.ended()

    def test_a_phase_without_commands_is_refused_with_its_reason(self):
        for verb, back in (("suspend", "resume"), ("stop", "start"), ("quarantine", "release")):
            self.make("still")
            self.assertEqual(self.world.ctl("cell", verb, "still", "--reason", "looking at it").code, 0)
            done = self.world.ctl("cell", "forward", "still", "0:8000")
            self.assertEnded(done, 1, "the cell is ", "since 20", "looking at it")
            self.assertEqual(done.out, "")
            self.assertEqual(self.world.ctl("cell", back, "still").code, 0)

    def test_words(self):
        self.make("words")
        for word in ("x", "0", "1:2:3", "host:1:2"):
            self.assertEnded(self.world.ctl("cell", "forward", "words", word), 1, f'"{word}"')
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.assertEnded(self.world.ctl("cell", "forward", "words", f"{port}:80"), 1, "in use")
        running = self.world.start("cell", "forward", "words", "127.0.0.2:0:80")
        running.until(" -> port 80 of cel_")
        self.assertTrue(running.out.startswith("127.0.0.2:"), running.out)
        running.kill()


class ReachTest(AccessTest):
    """A forward opens no connection from the cell to the host, and none for other uids of the host."""

    def test_a_port_is_one_of_the_cell_and_none_of_the_host(self):
        canary = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(canary.close)
        canary.settimeout(0)
        port = canary.getsockname()[1]
        self.make("inside")
        forward, local = self.forward("inside", f"0:{port}")
        with socket.create_connection(("127.0.0.1", local), HANG_S) as client:
            self.assertEqual(client.recv(1), b"")
        host.eventually(lambda: "Connection refused" in forward.err, HANG_S, lambda: forward.err)
        # The cell reaches neither the canary nor the forward's own listener.
        for target in (port, local):
            done = self.exec("inside", "python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {target}))")
            self.assertIn("Connection refused", done.err)
        with self.assertRaises(BlockingIOError):
            canary.accept()
        forward.kill()

    def test_the_hosts_network_is_refused(self):
        canary = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(canary.close)
        self.make("outside", "--network", "full")
        done = self.world.ctl("cell", "forward", "outside", f"0:{canary.getsockname()[1]}")
        self.assertEnded(done, 1, "the host's network")

    def test_another_uid_reaches_no_cell(self):
        self.make("mine")
        cell = next(c for c in self.world.json("cell", "list")["cells"] if c["key"]["component"] == "mine")
        stranger = {"user": STRANGER, "group": STRANGER, "extra_groups": [], "cwd": "/"}
        for verb, words in (("forward", ["0:8000"]), ("attach", ["--", "true"]), ("get", ["/workspace/f", "-"]),
                            ("ssh-proxy", ["--keys", "/tmp"])):
            done = self.world.ctl("cell", verb, cell["cell_id"], *words, **stranger)
            self.assertNotEqual(done.code, 0, (verb, done))
            self.assertRegex(done.err, "serves uids", verb)
            self.assertEqual(done.out, "", verb)

    def test_another_users_connection_is_refused(self):
        server = self.web("shared", 8000)
        forward, port = self.forward("shared", "0:8000")
        url = f"http://127.0.0.1:{port}/f"
        self.assertEqual(self.curl(url).stdout, MARK + "\n")
        for address in ("127.0.0.1", "[::1]"):
            got = self.curl(f"http://{address}:{port}/f", user=NOBODY, group=NOBODY, extra_groups=[])
            self.assertEqual(got.stdout, "", address)
            self.assertNotEqual(got.returncode, 0)
        forward.until("another user", part="err")
        anyone, port = self.forward("shared", "--any-user", "0:8000")
        got = self.curl(f"http://127.0.0.1:{port}/f", user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(got.stdout, MARK + "\n", got)
        for running in (forward, anyone, server):
            running.kill()

    def test_a_cell_in_the_hosts_network_reaches_no_other_by_it(self):
        server = self.web("served", 8000)
        forward, port = self.forward("served", "0:8000")
        done = self.world.ctl("exec", "--network", "full", "--", "curl", "-sS", f"http://127.0.0.1:{port}/f")
        self.assertNotIn(MARK, done.out)
        forward.until("another user", part="err")
        for running in (forward, server):
            running.kill()


class AttachTest(AccessTest):

    def test_a_shell_with_a_terminal(self):
        self.make("shell")
        terminal = Terminal(self.world.argv("cell", "attach", "shell"), rows=30, columns=100)
        terminal.type("tty; stty size; echo $((6*7))-; cd /tmp; exit 3\n")
        terminal.until("/dev/pts/")
        terminal.until("30 100")
        terminal.until("42-")
        self.assertEqual(terminal.ended(), 3)

    def test_a_command_without_one(self):
        self.make("piped")
        done = self.world.ctl("cell", "attach", "piped", "--cwd", "/tmp", "--", "sh", "-c", "pwd; cat; exit 7",
                              input="in\n")
        self.assertEqual((done.code, done.out), (7, "/tmp\nin\n"), done)
        self.assertEnded(self.world.ctl("cell", "attach", "piped"), 125, "not a terminal")
        self.assertEnded(self.world.ctl("cell", "attach", "none", "--", "true"), 125, "no such cell")

    def test_a_cell_of_one_command_stays_for_it(self):
        running = self.world.start("exec", "--", "sh", "-c", "echo began; cat; echo end", stdin=subprocess.PIPE)
        running.until("began")
        cell = next(c["cell_id"] for c in self.world.json("cell", "list")["cells"]
                    if c["key"]["component"].startswith("once-"))
        self.assertEqual(self.world.ctl("cell", "attach", cell, "--", "true").code, 0)
        running.process.stdin.close()
        running.process.stdin = None
        done = running.ended()
        self.assertEqual((done.code, done.out), (0, "began\nend\n"), done)


class CopyTest(AccessTest):

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        self.world.make(f"{self.base}/tree/a", "a\n")
        self.world.make(f"{self.base}/tree/sub/run.sh", "#!/bin/sh\n")
        os.chmod(f"{self.base}/tree/sub/run.sh", 0o750)
        os.symlink("/etc/passwd", f"{self.base}/tree/link")

    def ctl(self, *words, **options):
        return self.world.ctl(*words, cwd=self.base, **options)

    def read(self, name):
        with open(f"{self.base}/{name}", encoding="utf-8") as file:
            return file.read()

    def test_a_tree_in_and_out(self):
        self.make("copies")
        put = self.ctl("cell", "put", "copies", "--to", "deep/new", "tree")
        self.assertEqual((put.code, put.out), (0, ""), put)
        self.assertIn('tree/link" is a symlink, skipping it', put.err)
        shown = self.exec("copies", "sh", "-c", "cd /workspace/deep/new/tree && find . -type f | sort && cat a && "
                          "stat -c %a sub/run.sh && ls | grep -c link")
        self.assertEqual(shown.out, "./a\n./sub/run.sh\na\n750\n0\n", shown)
        self.assertEqual(self.ctl("cell", "put", "copies", "--to", "/tmp", "tree/.").code, 0)
        self.assertEqual(self.exec("copies", "cat", "/tmp/a").out, "a\n")
        self.assertEqual(self.exec("copies", "ln", "-s", "/etc/passwd", "/workspace/deep/new/tree/out").code, 0)
        got = self.ctl("cell", "get", "copies", "deep", "back")
        self.assertEqual(got.code, 0, got)
        self.assertIn('"new/tree/out" is skipped: symbolic link', got.err)
        self.assertEqual(self.read("back/new/tree/a"), "a\n")
        self.assertEqual(os.stat(f"{self.base}/back/new/tree/sub/run.sh").st_mode & 0o777, 0o750)
        self.assertFalse(os.path.lexists(f"{self.base}/back/new/tree/out"))

    def test_one_file_and_streams(self):
        self.make("one")
        data = os.urandom(3 << 20)
        put = self.ctl("cell", "put", "one", "--to", "/workspace/d/f", "-", input=data, text=False)
        self.assertEqual(put.code, 0, put)
        got = self.ctl("cell", "get", "one", "d/f", "-", text=False)
        self.assertEqual((got.code, got.out == data), (0, True), got.err)
        self.assertEqual(self.exec("one", "chmod", "755", "/workspace/d/f").code, 0)
        self.assertEqual(self.ctl("cell", "get", "one", "d/f", "here").code, 0)
        with open(f"{self.base}/here/f", "rb") as file:
            self.assertEqual(file.read(), data)
        self.assertEqual(os.stat(f"{self.base}/here/f").st_mode & 0o777, 0o755)
        self.assertEnded(self.ctl("cell", "get", "one", "d", "-"), 1, "a directory")
        self.assertEnded(self.ctl("cell", "get", "one", "none", "-"), 1, "No such file")

    def test_what_is_there_stays_unless_it_is_to_be_replaced(self):
        self.make("again")
        words = ("cell", "put", "again", "--to", ".")
        self.assertEqual(self.ctl(*words, "tree/a").code, 0)
        self.world.make(f"{self.base}/tree/a", "other\n")
        self.assertEnded(self.ctl(*words, "tree/a"), 1, "is there already")
        self.assertEqual(self.exec("again", "cat", "/workspace/a").out, "a\n")
        self.assertEqual(self.ctl(*words, "--replace", "tree/a").code, 0)
        self.assertEqual(self.exec("again", "cat", "/workspace/a").out, "other\n")
        self.assertEnded(self.ctl("cell", "put", "again", "--replace", "tree/a"), 1, "--to")

    def test_no_link_of_the_cell_leads_out(self):
        self.make("links")
        made = self.exec("links", "sh", "-c", "ln -s /cell/tmp /workspace/away; ln -s /etc /workspace/etc; "
                         "ln -s /etc/passwd /workspace/passwd; echo x >/cell/tmp/x")
        self.assertEqual(made.code, 0, made)
        self.assertEnded(self.ctl("cell", "put", "links", "--to", "away", "tree/a"), 1, "symbolic link")
        self.assertEnded(self.ctl("cell", "get", "links", "etc/passwd", "back"), 1, "symbolic link")
        self.assertEnded(self.ctl("cell", "get", "links", "away", "-"), 1, "symbolic link")
        self.assertEnded(self.ctl("cell", "get", "links", "passwd", "-"), 1, "symbolic link")
        self.assertEnded(self.ctl("cell", "put", "links", "--to", "../x", "tree/a"), 1, "..")
        self.assertEqual(self.exec("links", "ls", "/cell/tmp").out, "x\n")

    def test_what_the_policy_keeps_from_commands_is_kept_from_copies(self):
        self.make("kept", "--mode", "read_only")
        done = self.ctl("cell", "put", "kept", "--to", "/usr/local", "tree/a")
        self.assertEqual(done.code, 1, done)
        done = self.ctl("cell", "get", "kept", "/etc/shadow", "-")
        self.assertEqual((done.code, done.out), (1, ""), done)

    def test_no_program_is_needed(self):
        self.make("bare", "--tools", "explicit", "--tool", "true")
        self.assertEqual(self.ctl("cell", "put", "bare", "--to", ".", "tree/a").code, 0)
        self.assertEqual(self.ctl("cell", "get", "bare", "a", "-").out, "a\n")


class SshTest(AccessTest):

    def setUp(self):
        for program in ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/rsync"):
            if not os.path.exists(program):
                self.assertNotEqual(os.environ.get("ODYSSEY_MUST_RUN"), "1", f"{program} is missing")
                self.skipTest(f"{program} is missing")
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        self.keys = f"{self.base}/keys"
        self.name = "box-" + self.id().rpartition(".")[2].removeprefix("test_").replace("_", "-")
        self.make(self.name)
        config = self.world.ctl("cell", "ssh-config", self.name, "--keys", self.keys, "--host", "box")
        self.assertEqual(config.code, 0, config)
        self.config = self.world.make(f"{self.base}/config", config.out)

    def run_client(self, *argv, input="", **options):
        return subprocess.run(argv, input=input, capture_output=True, text=True, timeout=HANG_S, check=False,
                              cwd=self.base, **options)

    def ssh(self, *words, **options):
        return self.run_client("ssh", "-F", self.config, *words, **options)

    def test_commands_and_a_terminal(self):
        done = self.ssh("box", "id -u; cat; exit 7", input="in\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "1000\nin\n", ""), done)
        env = self.ssh("box", "echo $ODYSSEY_SANDBOX; echo $TMPDIR; echo $PATH")
        self.assertEqual(env.stdout.splitlines()[:2], ["1", "/cell/tmp"], env)
        path = self.exec(self.name, "sh", "-c", "echo $PATH")
        self.assertEqual(env.stdout.splitlines()[2], path.out.strip())
        shell = self.ssh("-tt", "box", input="tty; exit 5\n")
        self.assertEqual(shell.returncode, 5, shell)
        self.assertIn("/dev/pts/", shell.stdout)

    def test_scp_sftp_and_rsync(self):
        data = self.world.make(f"{self.base}/data", os.urandom(1 << 20))
        self.world.make(f"{self.base}/tree/a", "a\n")
        digest = self.run_client("sha256sum", data).stdout.split()[0]
        copied = self.run_client("scp", "-F", self.config, data, "box:/workspace/")
        self.assertEqual(copied.returncode, 0, copied)
        self.assertIn(digest, self.exec(self.name, "sha256sum", "/workspace/data").out)
        batch = self.run_client("sftp", "-F", self.config, "-b", "-", "box", input="get /workspace/data back\n")
        self.assertEqual(batch.returncode, 0, batch)
        self.assertIn(digest, self.run_client("sha256sum", "back").stdout)
        synced = self.run_client("rsync", "-a", "-e", f"ssh -F {self.config}", "tree/", "box:/workspace/tree")
        self.assertEqual(synced.returncode, 0, synced)
        self.assertEqual(self.exec(self.name, "cat", "/workspace/tree/a").out, "a\n")

    def test_its_own_forwarding_stays_in_the_cell(self):
        server = self.web(self.name, 8000)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as canary:
            secret = canary.getsockname()[1]
            client = subprocess.Popen(["ssh", "-F", self.config, "-N", "-o", "ExitOnForwardFailure=yes",
                                       "-L", f"{port}:127.0.0.1:8000", "box"], stderr=subprocess.PIPE)
            try:
                host.eventually(lambda: self.curl(f"http://127.0.0.1:{port}/f").stdout == MARK + "\n", HANG_S, "curl")
                refused = self.ssh("-W", f"127.0.0.1:{secret}", "box")
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("refused", refused.stderr)
            finally:
                client.kill()
                client.wait()
                client.stderr.close()
        server.kill()

    def test_another_host_key_is_refused(self):
        with open(f"{self.keys}/known_hosts", "w", encoding="utf-8") as file, \
                open(f"{self.keys}/client.pub", encoding="utf-8") as other:
            file.write("box " + other.read())
        done = self.ssh("box", "true")
        self.assertEqual(done.returncode, 255, done)
        self.assertIn("Host key verification failed", done.stderr)

    def test_keys_are_the_callers_alone(self):
        self.assertEqual(os.stat(self.keys).st_mode & 0o777, 0o700)
        for name in ("host", "client"):
            self.assertEqual(os.stat(f"{self.keys}/{name}").st_mode & 0o777, 0o600, name)
        os.chmod(self.keys, 0o755)
        done = self.ssh("box", "true")
        self.assertEqual(done.returncode, 255, done)
        self.assertIn("may look into it", done.stderr)
        done = self.world.ctl("cell", "ssh-proxy", self.name, "--keys", f"{self.base}/none")
        self.assertEnded(done, 125, "cell ssh-config")

    def test_a_missing_sshd_is_named(self):
        self.make("bare", "--tools", "explicit", "--tool", "sh", "--tool", "true")
        done = self.world.ctl("cell", "ssh-proxy", "bare", "--keys", self.keys)
        self.assertEnded(done, 127, "openssh-server")


if __name__ == "__main__":
    main()
