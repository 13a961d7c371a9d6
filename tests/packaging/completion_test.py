#!/usr/bin/env python3
"""The completion scripts of odyssey-ctl in their shells.

usage: completion_test.py [ClassName]; ODYSSEY_BIN is the directory of the programs.
"""

import os
import pty
import select
import shutil
import subprocess
import tempfile
import unittest

CTL = os.path.join(os.environ["ODYSSEY_BIN"], "odyssey-ctl")
HANG_S = 120
# What is typed, and words that completion then offers or makes of the last one.
TYPED = {
    "odyssey-ctl ": ["session", "exec", "policy"],
    "odyssey-ctl -o json ses": ["session"],
    "odyssey-ctl session ": ["create", "events"],
    "odyssey-ctl session create --": ["--max-tokens", "--agent"],
    "odyssey-ctl exec --network ": ["none", "public", "full"],
    "odyssey-ctl policy check a_po": ["a_policy.yaml"],
    "odyssey-ctl exec --workspace a_di": ["a_directory"],
    "odyssey-ctl exec --env AN_ENV": ["AN_ENVIRONMENT"],
    "odyssey-ctl exec -- read": ["readlink"],
    "odyssey-ctl session exec ses_1 -- read": ["readlink"],
}


class ShellCase(unittest.TestCase):
    shell = NotImplemented

    def setUp(self):
        self.assertTrue(shutil.which(self.shell), "packaging/build-depends.txt names it")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.script = self.path("script")
        with open(self.script, "w", encoding="utf-8") as file:
            subprocess.run([CTL, "completion", self.shell], stdout=file, check=True)
        with open(self.path("a_policy.yaml"), "w", encoding="utf-8"):
            pass
        os.mkdir(self.path("a_directory"))
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.directory, "TERM": "dumb", "LANG": "C.UTF-8",
                            "AN_ENVIRONMENT": "1"}

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_shell(self, *words):
        done = subprocess.run([self.shell, *words], cwd=self.directory, env=self.environment, capture_output=True,
                              text=True, timeout=HANG_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_offers(self, complete):
        for typed, words in TYPED.items():
            with self.subTest(typed):
                offered = complete(typed)
                for word in words:
                    self.assertIn(word, offered)


class BashTest(ShellCase):
    shell = "bash"

    def complete(self, typed):
        words = typed.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        return self.run_shell("-c", f". ./script; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
                                    "_odyssey_ctl; printf '%s\\n' \"${COMPREPLY[@]}\"")

    def test_offers_what_fits(self):
        self.assert_offers(self.complete)


class FishTest(ShellCase):
    shell = "fish"

    def test_offers_what_fits(self):
        self.assert_offers(lambda typed: self.run_shell("-c", f"source script; complete -C '{typed}'"))


# Runs on a terminal: zsh completes for its line editor alone. Each match is also written to a file, since a list is not
# drawn while more input waits; the tabulator key then ends the shell.
ZSH = r"""
autoload -Uz compinit && compinit -u -D && source ./script
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- $hits >>hits
  fi
  builtin compadd "$@"
}
complete-and-exit() { zle complete-word; print -r -- "$BUFFER" >>hits; exit }
zle -N complete-and-exit
bindkey '^I' complete-and-exit
"""


class ZshTest(ShellCase):
    shell = "zsh"

    def complete(self, typed):
        with open(self.path(".zshrc"), "w", encoding="utf-8") as file:
            file.write(ZSH)
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.execvpe("zsh", ["zsh", "--no-global-rcs", "-i"], self.environment)
        try:
            os.write(terminal, typed.encode() + b"\t")
            self.read_to_end(terminal)
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)
        with open(self.path("hits"), encoding="utf-8") as file:
            hits = file.read()
        os.unlink(self.path("hits"))
        return hits

    def read_to_end(self, terminal):
        seen = b""
        while select.select([terminal], [], [], HANG_S)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:  # the shell has ended
                return
        self.fail(f"no end: {seen!r}")

    def test_offers_what_fits(self):
        self.assert_offers(self.complete)


if __name__ == "__main__":
    unittest.main()
