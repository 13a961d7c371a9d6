"""A command on a pseudo-terminal, as a person has it in front of them."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

import host
from host import HANG_S


class Terminal:
    """Runs argv with a terminal of its own as its controlling one."""

    def __init__(self, argv, rows=24, columns=80, env=None, cwd=None):
        self.shown = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                if cwd:
                    os.chdir(cwd)
                os.execve(argv[0], argv, {**os.environ, **(env or {})})
            finally:
                os._exit(127)

    @property
    def text(self):
        return self.shown.decode("utf-8", "replace")

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_cooked(self):
        """Whether the terminal echoes and edits lines, as before a program made it raw."""
        flags = termios.tcgetattr(self.fd)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """Reads once; False at the end of the output."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:  # EIO: the last one who had it open is gone
            return False
        self.shown += chunk
        return bool(chunk)

    def until(self, text, count=1, seconds=HANG_S):
        """Reads until `text` was shown `count` times."""
        deadline = time.monotonic() + seconds
        while self.text.count(text) < count:
            more = self.read(host.POLL_S)
            if self.text.count(text) >= count:
                return
            assert more, f"ended without {text!r}: {self.text!r}"
            assert time.monotonic() < deadline, f"{text!r} not within {seconds} s: {self.text!r}"

    def ended(self, seconds=HANG_S):
        """Reads to the end; the exit code, 128+N for a signal."""
        deadline = time.monotonic() + seconds
        while self.read(host.POLL_S):
            assert time.monotonic() < deadline, f"still runs after {seconds} s: {self.text!r}"
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code
