"""A program on a terminal of tmux, whose screen is read as a person sees it."""

import os
import shutil
import subprocess
import tempfile

import host
from host import HANG_S

TMUX = shutil.which("tmux")
# What the program leaves stays on the screen: its exit code and the terminal's settings go to files, and the shell waits.
_WRAPPER = '"$@"; code=$?; stty -a >"$0/settings"; echo $code >"$0/code"; read line'


class Screen:
    """Runs argv in a tmux server of its own. `keys` are tmux's names of keys; `type` is text as it is."""

    def __init__(self, argv, *, rows=24, columns=80, env=None, cwd=None, term="tmux-256color"):
        self.directory = tempfile.mkdtemp(prefix="odyssey-tmux-")
        self._socket = self.directory + "/socket"
        config = self.directory + "/conf"
        with open(config, "w", encoding="ascii") as file:
            file.write(f"set -g default-terminal {term}\nset -g escape-time 0\n"
                       "set -g status off\nset -g set-titles on\nset -g set-clipboard on\n")
        variables = {**os.environ, "LANG": "C.UTF-8", **(env or {})}
        variables.pop("TMUX", None)
        subprocess.run([TMUX, "-S", self._socket, "-f", config, "-u", "new-session", "-d", "-x", str(columns), "-y",
                        str(rows), *[word for name, value in (env or {}).items() for word in ("-e", f"{name}={value}")],
                        "--", "sh", "-c", _WRAPPER, self.directory, *argv], check=True, env=variables, cwd=cwd)

    def tmux(self, *words):
        return subprocess.run([TMUX, "-S", self._socket, *words], check=True, capture_output=True, text=True).stdout

    @property
    def text(self):
        return self.tmux("capture-pane", "-p")

    @property
    def styled(self):
        return self.tmux("capture-pane", "-p", "-e")

    @property
    def pid(self):
        """The program's."""
        return host.descendants(int(self.pane("pane_pid")))[0]

    def pane(self, what):
        return self.tmux("display-message", "-p", f"#{{{what}}}").strip()

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def enter(self, line):
        self.type(line)
        self.until(line[-20:])
        self.keys("Enter")

    def paste(self, text):
        self.tmux("set-buffer", "--", text)
        self.tmux("paste-buffer", "-p")

    def until(self, *texts, seconds=HANG_S):
        """Waits until each of `texts` is on the screen."""
        host.eventually(lambda: all(text in self.text for text in texts), seconds,
                        lambda: f"{texts} on the screen:\n{self.text}")

    def until_not(self, text, seconds=HANG_S):
        host.eventually(lambda: text not in self.text, seconds, lambda: f"{text!r} still on the screen:\n{self.text}")

    def resize(self, rows, columns):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def ended(self, seconds=HANG_S):
        """Waits for the program's end; its exit code."""
        return int(host.eventually(lambda: self._left("code"), seconds, lambda: f"still runs:\n{self.text}"))

    @property
    def settings(self):
        """Of the terminal, as `stty -a` has them, after the program's end."""
        return self._left("settings")

    def _left(self, name):
        try:
            with open(f"{self.directory}/{name}", encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def close(self):
        subprocess.run([TMUX, "-S", self._socket, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)
