"""The client's end of JSON-RPC with a command of odyssey-ctl, one message a line on stdin and stdout."""

import json
import subprocess
import threading

from world import HANG_S


class RpcPeer:
    """Starts the server. A subclass has `on_call(method, params)`: the result that answers a request of the server's, or
    None for no answer; of a notification it is dropped."""

    def __init__(self, argv, **options):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        **options)
        self.methods = {}  # of our requests, by id
        self._ids, self._answers, self._failure = iter(range(1, 1000)), {}, None
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def check(self, frame):
        """Whether a frame of the server is one; fails if not."""

    def on_call(self, method, params):
        raise NotImplementedError

    def _read(self):
        try:
            for line in self.process.stdout:
                self._take(json.loads(line))
        except Exception as failure:  # pylint: disable=broad-except
            with self._arrived:
                self._failure = failure
                self._arrived.notify_all()

    def _take(self, frame):
        assert frame["jsonrpc"] == "2.0", frame
        self.check(frame)
        with self._arrived:
            if "method" in frame:
                result = self.on_call(frame["method"], frame["params"])
                if "id" in frame and result is not None:
                    self.write({"jsonrpc": "2.0", "id": frame["id"], "result": result})
            else:
                self._answers[frame["id"]] = frame
            self._arrived.notify_all()

    def write(self, frame):
        self.raw(json.dumps(frame) + "\n")

    def raw(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def send(self, method, **params):
        number = next(self._ids)
        self.methods[number] = method
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def wait(self, condition):
        with self._arrived:
            arrived = self._arrived.wait_for(lambda: self._failure or condition(), HANG_S)
            assert self._failure is None, self._failure
            assert arrived, (self.__dict__, self._answers)

    def has_answer(self, number):
        return number in self._answers

    def answered(self, number):
        self.wait(lambda: number in self._answers)
        return self._answers.pop(number)

    def call(self, method, **params):
        """The result; an error is a failure of the test."""
        answer = self.answered(self.send(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, method, **params):
        return self.answered(self.send(method, **params))["error"]

    def close(self):
        """The exit code, and what it has written to stderr."""
        self.process.stdin.close()
        code = self.process.wait(HANG_S)
        self._reader.join()
        error = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        assert self._failure is None, self._failure
        return code, error
