#!/usr/bin/env python3
"""Reviewed writes: a cell works on a copy, and a person commits what they like."""

import os
import subprocess

import bundles
from ceiling_test import write_ceiling
from world import WorldTest, main

PLANTS = [".git/hooks/post-checkout", ".envrc", ".vscode/tasks.json"]
WORK = """set -e
git config user.name >/dev/null || export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
echo 'int added;' >>main.c
echo 'int fresh;' >fresh.c
rm obsolete.c
mkdir -p .vscode
echo '{}' >.vscode/tasks.json
echo evil >.envrc
printf '#!/bin/sh\\n' >.git/hooks/post-checkout
chmod +x .git/hooks/post-checkout
make -s
git gc -q
"""


class ReviewedTest(WorldTest):
    """A repository of the host's for each test."""

    def setUp(self):
        self.name = self.id().rpartition(".")[2].replace("_", "-")
        self.project = self.world.make_directory(self.name)
        self.put("main.c", "int main(void) { return 0; }\n")
        self.put("obsolete.c", "int old;\n")
        self.put("Makefile", "all:\n\ttest -s main.c\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    def path(self, name):
        return os.path.join(self.project, name)

    def put(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def get(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def git(self, *words):
        environment = {**os.environ, "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null"}
        done = subprocess.run(["git", "-C", self.project, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                              check=True, env=environment, capture_output=True, text=True)
        return done.stdout

    def exec(self, script, *words):
        return self.world.ctl("exec", "--review", "--cell", self.name, "--workspace", self.project, *words,
                              "--", "sh", "-c", script)

    def ctl(self, verb, *words, code=0):
        done = self.world.ctl(verb, self.name, *words)
        self.assertEqual(done.code, code, done)
        return done

    def changed(self):
        done = self.world.ctl("-o", "json", "changes", self.name)
        self.assertEqual(done.code, 0, done)
        return {change["path"].removeprefix("/workspace/"): change for change in done.json()["changes"]}


class CommitTest(ReviewedTest):

    def test_nothing_reaches_the_directory_until_it_is_committed(self):
        before = self.git("status", "--short"), sorted(os.listdir(self.path(".git/hooks")))
        done = self.exec(WORK)
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"odyssey-ctl commit {self.name}", done.err)
        self.assertEqual((self.git("status", "--short"), sorted(os.listdir(self.path(".git/hooks")))), before)
        self.assertEqual(self.get("obsolete.c"), "int old;\n")

    def test_a_person_commits_two_files_refuses_the_plants_and_undoes(self):
        self.assertEqual(self.exec(WORK).code, 0)
        changed = self.changed()
        for plant in PLANTS:
            self.assertTrue(changed[plant]["mark"], plant)
        for name in ("main.c", "fresh.c", "obsolete.c"):
            self.assertEqual((changed[name]["mark"], changed[name]["conflict"]), ("", ""), name)
        diff = self.ctl("diff", "main.c").out
        self.assertIn("+int added;\n", diff)
        self.assertNotIn("fresh", diff)

        self.ctl("commit", "main.c", "fresh.c")
        self.assertEqual(self.git("status", "--short"), " M main.c\n?? fresh.c\n")
        self.assertEqual(self.get("fresh.c"), "int fresh;\n")
        # The rest, without the plants, and git's own data after its gc.
        self.ctl("commit")
        self.assertFalse(os.path.exists(self.path("obsolete.c")))
        for plant in PLANTS:
            self.assertFalse(os.path.exists(self.path(plant)), plant)
        self.git("fsck", "--strict")
        self.assertEqual(sorted(self.changed()), sorted([*PLANTS, ".vscode"]))

        self.ctl("undo", "--commits", "2")
        self.assertEqual(self.git("status", "--short"), "")
        self.assertEqual(self.get("obsolete.c"), "int old;\n")
        self.assertIn("main.c", self.changed())

        self.ctl("commit", "--marked", ".envrc")
        self.assertEqual(self.get(".envrc"), "evil\n")

    def test_the_cell_goes_on_from_what_it_changed(self):
        self.exec("echo one >a")
        self.assertEqual(self.exec("cat a; echo two >b").out, "one\n")
        self.ctl("commit", "a")
        self.assertEqual(self.exec("cat a b").out, "one\ntwo\n")
        # What the host makes of a committed file later is what the cell sees, once it was looked at.
        self.put("a", "the host's\n")
        self.changed()
        self.assertEqual(self.exec("cat a").out, "the host's\n")

    def test_what_the_host_changed_meanwhile_is_kept_on_both_sides(self):
        self.exec("echo the cell >main.c; echo the cell >other.c")
        self.put("main.c", "the host\n")
        done = self.ctl("commit", code=1)
        self.assertIn("main.c: the host changed it", done.err)
        self.assertEqual(self.get("main.c"), "the host\n")
        self.assertEqual(self.get("other.c"), "the cell\n")
        self.assertEqual(self.exec("cat main.c").out, "the cell\n")

    def test_a_hunk_of_a_file(self):
        lines = [f"line {number}\n" for number in range(40)]
        self.put("long.txt", "".join(lines))
        self.exec("sed -i 's/line 3$/LINE 3/; s/line 35$/LINE 35/' long.txt")
        self.ctl("commit", "long.txt", "--hunk", "2")
        self.assertIn("LINE 35\n", self.get("long.txt"))
        self.assertIn("line 3\n", self.get("long.txt"))
        self.ctl("commit", "long.txt")
        self.assertIn("LINE 3\n", self.get("long.txt"))

    def test_the_digest_is_of_what_was_looked_at(self):
        self.exec("echo one >a")
        digest = self.world.ctl("-o", "json", "changes", self.name).json()["digest"]
        self.exec("echo two >a")
        done = self.ctl("commit", "--digest", digest, code=1)
        self.assertIn("no longer those that were looked at", done.err)
        self.assertFalse(os.path.exists(self.path("a")))


class KeptTest(ReviewedTest):

    def test_changes_outlive_the_cell(self):
        self.exec("echo kept >a")
        cell = self.world.ctl("-o", "json", "cell", "list").json()["cells"]
        mine = [one["cell_id"] for one in cell if one["key"]["component"] == self.name]
        self.assertEqual(self.world.ctl("cell", "rm", mine[0]).code, 0)
        self.ctl("commit")
        self.assertEqual(self.get("a"), "kept\n")

    def test_discard_forgets_them(self):
        self.exec("echo x >a; rm main.c")
        done = self.ctl("discard", code=1)
        self.assertIn("--yes", done.err)
        self.ctl("discard", "--yes")
        self.assertEqual(self.changed(), {})
        self.assertEqual(self.exec("ls").out, "Makefile\nmain.c\nobsolete.c\n")

    def test_a_cell_without_a_name_gets_one(self):
        done = self.world.ctl("exec", "--review", "--workspace", self.project, "--", "sh", "-c", "echo x >a")
        self.assertEqual(done.code, 0, done)
        name = done.err.rpartition("odyssey-ctl commit ")[2].split()[0]
        self.assertTrue(name.startswith("review-"), done.err)
        self.assertEqual(self.world.ctl("commit", name).code, 0)
        self.assertEqual(self.get("a"), "x\n")

    def test_purging_the_cell_forgets_them(self):
        self.exec("echo x >a")
        cells = self.world.ctl("-o", "json", "cell", "list").json()["cells"]
        mine = [one["cell_id"] for one in cells if one["key"]["component"] == self.name]
        self.assertEqual(self.world.ctl("cell", "rm", "--purge", mine[0]).code, 0)
        self.ctl("changes", code=1)

    def test_review_of_nothing_is_refused(self):
        done = self.world.ctl("exec", "--review", "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn("--review: no directory of the host is written to", done.err)

    def test_a_cell_that_has_none_is_said_so(self):
        done = self.world.ctl("changes", "no-such-cell")
        self.assertEqual(done.code, 1)
        self.assertIn('"no-such-cell": no cell of this name has reviewed directories', done.err)

    def test_sockets_and_pipes_of_the_host_lead_nowhere(self):
        import socket
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("sock"))
            listener.listen()
            os.mkfifo(self.path("fifo"))
            done = self.exec("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"sock\")'"
                             " 2>&1 | tail -1; ls")
            self.assertIn("refused", done.out)
        self.assertIn("fifo", done.out)


class SessionTest(ReviewedTest):
    """The same for an agent: its turn is followed by changes of its session."""

    def bundle(self, script):
        return bundles.write(self.world.make_directory(f"{self.name}-bundle"),
                             [bundles.bash(f"cd /workspace/mount/write/current && {script}")], write_=["."])

    def test_an_agents_turn_waits_for_a_commit(self):
        bundle = self.bundle("echo 'int added;' >>main.c && echo evil >.envrc")
        done = self.world.ctl("run", bundle, "--prompt", "go", "--review", "--cwd", self.project)
        self.assertEqual(done.code, 0, done)
        self.assertIn("1 added, 1 modified (1 marked): not in the host's directory yet", done.out)
        self.assertEqual(self.git("status", "--short"), "")
        session = done.err.rpartition("odyssey-ctl commit ")[2].split()[0]
        self.assertTrue(session.startswith("ses_"), done.err)

        events = self.world.ctl("-o", "json", "session", "events", session).lines()
        told = [event["payload"] for event in events if event["payload"]["type"] == "workspace_changed"]
        self.assertEqual([one["payload"]["counts"]["marked"] for one in told], [1])
        self.assertIn("reviewed", self.world.ctl("session", "show", session).out)

        self.assertEqual(self.world.ctl("commit", session).code, 0)
        self.assertEqual(self.git("status", "--short"), " M main.c\n")
        self.assertEqual(self.world.ctl("undo", session).code, 0)
        self.assertEqual(self.git("status", "--short"), "")

    def test_a_bundle_that_writes_nowhere_has_nothing_to_review(self):
        bundle = bundles.write(self.world.make_directory(f"{self.name}-bundle"), [bundles.bash("true")])
        done = self.world.ctl("run", bundle, "--prompt", "go", "--review", "--cwd", self.project)
        self.assertEqual(done.code, 1, done)
        self.assertIn("review: bundle local/probe@0.1.0 writes to no directory of the host", done.err)


class CeilingTest(ReviewedTest):

    def test_an_operator_may_require_review(self):
        # The ceiling of this world is the built-in one until a file says otherwise.
        ceiling = write_ceiling(self.world, "grants:\n- users: [\"*\"]\n  review: [\"/\"]\n")
        try:
            direct = self.world.ctl("exec", "--workspace", self.project, "--", "true")
            self.assertEqual(direct.code, 125, direct)
            self.assertIn("`writes: review`", direct.err)
            self.assertEqual(self.exec("true").code, 0)
        finally:
            os.unlink(ceiling)


if __name__ == "__main__":
    main()
