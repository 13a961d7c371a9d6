#!/usr/bin/env python3
"""How many calls of the supervisor one command is."""

import os
import select
import socket
import threading

from world import WorldTest, main

PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
HEADERS = 1
CALLS = 3


class CountingProxy:
    """A socket before another one, which counts the streams that clients open: each is one call."""

    def __init__(self, path, target):
        self.path, self.target, self.calls = path, target, 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self):
        """Returns when the connections of clients that have ended are closed."""
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()
        os.remove(self.path)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client):
        counter = self._count()
        next(counter)
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self.target)
            while True:
                for source in select.select([client, server], [], [])[0]:
                    try:
                        data = source.recv(65536)
                        (server if source is client else client).sendall(data)
                    except OSError:
                        return
                    if not data:
                        return
                    if source is client:
                        counter.send(data)

    def _count(self):
        """Takes the client's bytes, by send."""
        pending = b""
        while len(pending) < PREFACE:
            pending += yield
        pending = pending[PREFACE:]
        streams = set()
        while True:
            while len(pending) < 9 or len(pending) < 9 + int.from_bytes(pending[:3], "big"):
                pending += yield
            if pending[3] == HEADERS and pending[5:9] not in streams:
                streams.add(pending[5:9])
                self.calls += 1
            pending = pending[9 + int.from_bytes(pending[:3], "big"):]


class RpcCountTest(WorldTest):

    def calls(self, *words, code=0):
        proxy = CountingProxy(self.world.directory + "/counted.sock", self.world.socket("supervisor"))
        try:
            done = self.world.ctl(*words, env={**os.environ, "ODYSSEY_SUPERVISOR_SOCKET": proxy.path})
            self.assertEqual(done.code, code, done)
            return proxy.calls
        finally:
            proxy.close()

    def test_a_plain_command_on_a_warm_cell(self):
        words = ("exec", "--cell", "warm", "--", "true")
        self.calls(*words)
        calls = self.calls(*words)
        self.assertGreater(calls, 1)  # the proxy sees them
        self.assertLessEqual(calls, CALLS)

    def test_with_a_policy_that_makes_its_directories(self):
        policy = self.world.make("w.yaml", "name: w\ninstructions: x\nsandbox:\n"
                                           "  paths: {notes: {root: ./notes, mode: rw}}\n")
        words = ("exec", "--cell", "made", "--policy", policy, "--", "true")
        self.calls(*words)
        self.assertLessEqual(self.calls(*words), CALLS)

    def test_a_question_is_one_call(self):
        policy = self.world.make("p.yaml", "policy_version: odyssey.policy/v1\nsandbox: {}\n")
        for words, code in ((("policy", "check", policy), 0), (("policy", "explain", policy), 0),
                            (("policy", "check", policy, "--path", "/etc/shadow"), 3),
                            (("policy", "explain"), 0), (("exec", "--explain", "--", "true"), 0)):
            self.assertEqual(self.calls(*words, code=code), 1, words)


if __name__ == "__main__":
    main()
