#!/usr/bin/env python3
"""The whole of reviewed writes, on a real repository: a clone of this one, or of its files."""

import os
import shutil
import subprocess

import bundles
from world import WorldTest, main

SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLANTS = [".envrc", ".git/hooks/post-checkout", ".vscode/tasks.json"]
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*", "-c", "gc.auto=0"]

# What the agent does: an edit, a file of its own, a build, a test of what was built, and three plants.
EDIT = """set -e
cd /workspace/mount/write/current
cat >common/base/greeting.h <<'EOF'
#pragma once
inline int Greeting() { return 42; }
EOF
printf '\\nGreetings are in `common/base/greeting.h`.\\n' >>README.md
printf '#include "common/base/greeting.h"\\nint main() { return Greeting() == 42 ? 0 : 1; }\\n' >/tmp/test.cc
g++ -std=c++20 -I. -o /workspace/greeting-test /tmp/test.cc
/workspace/greeting-test
git status --short >/tmp/status
git gc -q
mkdir -p .vscode
echo evil >.envrc
echo '{}' >.vscode/tasks.json
printf '#!/bin/sh\\n' >.git/hooks/post-checkout
chmod +x .git/hooks/post-checkout
"""
OTHER_WAY = """set -e
cd /workspace/mount/write/current
sed -i s/42/43/ common/base/greeting.h
grep -q 43 common/base/greeting.h
"""


class StoryTest(WorldTest):

    def setUp(self):
        # A directory of this machine's own file system, as a person's project is.
        self.project = self.world.make_directory("story")
        os.rmdir(self.project)
        if os.path.exists(os.path.join(SOURCES, ".git")):
            subprocess.run([*GIT, "clone", "-q", "--no-hardlinks", SOURCES, self.project], check=True)
        else:
            shutil.copytree(SOURCES, self.project, ignore=shutil.ignore_patterns("build"), symlinks=True)
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
                subprocess.run([*GIT, "-C", self.project, *words], check=True)
        self.bundle = bundles.write(self.world.make_directory("story-bundle"), [bundles.bash("${prompt}")],
                                    write_=["."], tools_mode="all")  # it runs what it built

    def git(self, *words):
        done = subprocess.run([*GIT, "-C", self.project, *words], check=True, capture_output=True, text=True)
        return done.stdout

    def run_turn(self, session, script):
        done = self.world.ctl("run", self.bundle, "--session", session, "--prompt", script)
        self.assertEqual(done.code, 0, done)
        self.assertNotIn("✗", done.out)

    def ctl(self, *words):
        done = self.world.ctl(*words)
        self.assertEqual(done.code, 0, done)
        return done.out

    def changes(self, session):
        """Path in the project: the change."""
        top = "/workspace/mount/write/current/"
        return {change["path"].removeprefix(top): change for change in self.world.json("changes", session)["changes"]}

    def get(self, name):
        with open(os.path.join(self.project, name), encoding="utf-8") as file:
            return file.read()

    def test_an_agent_works_and_a_person_decides(self):
        readme = self.get("README.md")
        objects = self.git("count-objects", "-v")
        session = self.world.json("session", "create", self.bundle, "--review", "--cwd", self.project)["id"]
        self.run_turn(session, EDIT)
        self.assertEqual((self.git("status", "--short"), self.git("count-objects", "-v")), ("", objects),
                         "nothing has reached the directory")

        changes = self.changes(session)
        marked = {path for path, change in changes.items() if change.get("mark")}
        for plant in PLANTS:
            self.assertIn(plant, marked, changes)
        self.assertFalse({"README.md", "common/base/greeting.h"} & marked)
        self.assertIn("+Greetings are in", self.ctl("diff", session, "README.md"))

        # A fork tries another way, from the same state.
        fork = self.ctl("session", "fork", session).strip()
        self.run_turn(fork, OTHER_WAY)
        self.assertIn("return 42", self.ctl("diff", session, "common/base/greeting.h"))
        self.assertIn("return 43", self.ctl("diff", fork, "common/base/greeting.h"))

        # Two files are taken; what is left is committed without the plants, and these are refused.
        self.ctl("commit", session, "README.md", "common/base/greeting.h")
        self.assertEqual(self.git("status", "--short"), " M README.md\n?? common/base/greeting.h\n")
        self.world.ctl("commit", session)
        for plant in PLANTS:
            self.assertFalse(os.path.exists(os.path.join(self.project, plant)), plant)
        self.git("fsck", "--strict")

        self.ctl("undo", session, "--commits", str(len(self.world.json("commits", session)["commits"])))
        self.assertEqual((self.git("status", "--short"), self.get("README.md")), ("", readme))
        self.git("fsck", "--strict")

        self.ctl("commit", fork, "common/base/greeting.h")
        self.assertIn("return 43", self.get("common/base/greeting.h"))
        self.ctl("session", "rm", session, "--discard")
        self.ctl("session", "rm", fork, "--discard")


if __name__ == "__main__":
    main()
