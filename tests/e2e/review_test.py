#!/usr/bin/env python3
"""What a cell has made in directories of the host, and nothing prevented, is told."""

import os
import subprocess

import bundles
from world import WorldTest, main

REBASE = ("export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "
          "echo two >file; git commit -qam second; "
          "git -c sequence.editor=: rebase -q -i --exec false HEAD~1 2>/dev/null; test -d .git/rebase-merge")


class ReviewedTest(WorldTest):
    """A directory of the host's for each test."""

    def setUp(self):
        self.project = self.world.make_directory(self.id().rpartition(".")[2])

    def make(self, path):
        return self.world.make(os.path.join(self.project, path), "of the host\n")

    def git(self, *words):
        environment = {**os.environ, "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null"}
        subprocess.run(["git", "-C", self.project, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       check=True, env=environment, capture_output=True)

    def repository(self):
        self.git("init", "-q")
        self.make("file")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")

    def left(self, done):
        """The paths below the project that were told, in their order."""
        begin = f"odyssey-ctl: left: {self.project}/"
        lines = [line for line in done.err.splitlines() if line.startswith("odyssey-ctl: left: ")]
        self.assertTrue(all(line.startswith(begin) for line in lines), done.err)
        return [line[len(begin):].partition(": ")[0] for line in lines]


class ExecReviewTest(ReviewedTest):

    def exec(self, script, *words, where="--workspace"):
        return self.world.ctl("exec", "--denials", "always", where, self.project, *words, "--",
                              "sh", "-c", script)

    def test_names_that_were_made(self):
        done = self.exec("echo x >.envrc; mkdir -p a/b/.vscode; echo x >a/b/.vscode/tasks.json; exit 7")
        self.assertEqual(done.code, 7, done)
        self.assertEqual(self.left(done), [".envrc", "a/b/.vscode"])
        self.assertIn("/.envrc: made or changed: direnv runs it", done.err)

    def test_repositories_that_were_made(self):
        done = self.exec("git init -q . && git init -q a/b && git init -q --bare notes")
        self.assertEqual((done.code, self.left(done)), (0, [".git", "a/b/.git", "notes"]), done)

    def test_a_rebase_that_is_left_half_done(self):
        self.repository()
        done = self.exec(REBASE)
        self.assertEqual((done.code, self.left(done)), (0, [".git/rebase-merge"]), done)
        self.assertEqual(self.left(self.exec("true")), [], "for this cell it was there before")

    def test_what_stood_there_is_not_told(self):
        self.repository()
        for path in (".envrc", ".vscode/tasks.json", "sub/.envrc", "sub/.vscode/tasks.json"):
            self.make(path)
        done = self.exec("git init -q new && rm -rf new; echo x >plain; cat .envrc sub/.envrc >/dev/null")
        self.assertEqual((done.code, done.err), (0, ""), done)
        done = self.exec("echo x >>sub/.envrc")
        self.assertIn("Read-only", done.err)
        self.assertEqual(self.left(done), [])

    def test_nothing_of_a_read_only_tree_or_of_the_cells_own(self):
        self.make(".envrc")
        done = self.exec("git init -q x && echo x >.envrc && mkdir .vscode", where="--read")
        self.assertEqual((done.code, done.err), (0, ""), done)
        done = self.exec("cat .envrc", "--mode", "read_only")
        self.assertEqual((done.code, done.err), (0, ""), done)

    def test_a_link_is_told_and_not_followed(self):
        outside = self.world.make_directory("outside")
        self.world.make("outside/.envrc")
        done = self.exec(f"ln -s {outside} out; ln -s / root; ln -s {outside}/.envrc .envrc")
        self.assertEqual((done.code, self.left(done)), (0, [".envrc"]), done)

    def test_findings_are_bounded_and_it_is_said(self):
        done = self.exec("for i in $(seq 200); do mkdir $i; echo x >$i/.envrc; done")
        told = [line for line in done.err.splitlines() if ": left: " in line]
        self.assertEqual((done.code, len(told)), (0, 129), done)
        self.assertIn(f"left: {self.project}: not looked at as a whole", done.err)

    def test_names_of_a_cell_do_not_act_on_the_terminal(self):
        done = self.exec("d=$(printf 'a\\033]0;x\\007\\nb'); mkdir \"$d\"; echo x >\"$d/.envrc\"")
        self.assertEqual(done.code, 0, done)
        self.assertIn("a\\e]0;x\\x07\\nb/.envrc: made or changed", done.err)

    def test_only_where_denials_are_told(self):
        script = ["--", "sh", "-c", "d=$(mktemp -d ./XXXXXX) && echo x >$d/.envrc"]
        for words in ((), ("--denials", "never")):
            done = self.world.ctl("exec", *words, "--workspace", self.project, *script)
            self.assertEqual((done.code, done.err), (0, ""), done)

    def test_once_for_each_cell(self):
        words = ("--cell", "kept")
        self.assertEqual(self.left(self.exec("echo x >.envrc", *words)), [".envrc"])
        self.assertEqual(self.left(self.exec("mkdir d; echo x >d/.envrc", *words)), ["d/.envrc"])
        self.assertEqual(self.left(self.exec("true", *words)), [])

    def test_the_cell_of_one_command_is_gone_afterwards(self):
        self.exec("echo x >.envrc")
        components = [cell["key"]["component"] for cell in self.world.json("cell", "list")["cells"]]
        self.assertFalse([name for name in components if name.startswith("once-")], components)


class CellReviewTest(ReviewedTest):

    def test_tells_all_and_its_exit_code_says_so(self):
        done = self.world.ctl("exec", "--cell", "reviewed", "--workspace", self.project, "--", "true")
        self.assertEqual(done.code, 0, done)
        cell = next(c["cell_id"] for c in self.world.json("cell", "list")["cells"]
                    if c["key"]["component"] == "reviewed")
        done = self.world.ctl("cell", "review", cell)
        self.assertEqual((done.code, done.out), (0, "nothing that the host would run or obey\n"), done)
        self.world.ctl("exec", "--denials", "always", "--cell", "reviewed", "--workspace", self.project,
                       "--", "sh", "-c", "echo x >.envrc; git init -q --bare notes")
        done = self.world.ctl("cell", "review", cell)
        self.assertEqual(done.code, 3, done)
        self.assertRegex(done.out, f"^left: {self.project}/.envrc: .*\nleft: {self.project}/notes: .*\n$")
        done = self.world.ctl("-o", "json", "cell", "review", cell)
        self.assertEqual(done.code, 3, done)
        self.assertEqual([(f["kind"], f["path"], f["host_path"]) for f in done.json()["findings"]],
                         [("name", "/workspace/.envrc", f"{self.project}/.envrc"),
                          ("bare_repository", "/workspace/notes", f"{self.project}/notes")])
        records = self.world.ctl("-o", "json", "audit", "tail", "-n", "50").lines()
        reviews = [record for record in records if record["type"] == "review"]
        self.assertEqual(reviews[-1]["count"], 2)
        self.assertEqual(reviews[-1]["paths"], [f"{self.project}/.envrc", f"{self.project}/notes"])

    def test_no_such_cell(self):
        done = self.world.ctl("cell", "review", "cel_0")
        self.assertEqual(done.code, 1, done)
        self.assertIn("no such cell", done.err)


class SessionReviewTest(ReviewedTest):
    """Each prompt is a command."""

    def bundle(self, **mounts):
        return bundles.write(self.project + ".bundle", [bundles.bash("${prompt}"), bundles.say("done")],
                             **mounts)

    def events(self, session):
        lines = self.world.ctl("-o", "json", "session", "events", session).lines()
        return [event["payload"] for event in lines]

    def test_told_at_the_end_of_the_turn_and_once(self):
        target = f"/workspace/mount/write/abs{self.project}"
        bundle = self.bundle(write_=[self.project])
        session = self.world.json("session", "create", bundle)["id"]
        run = ["run", bundle, "--session", session, "--approve", "all", "--prompt"]
        done = self.world.ctl(*run, f"cd {target} && echo x >.envrc && git init -q new")
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"! left: {self.project}/.envrc: made or changed: direnv runs it", done.out)
        events = self.events(session)
        self.assertEqual([e["type"] for e in events][-2:], ["workspace_review", "turn_completed"])
        review = events[-2]["payload"]
        self.assertEqual([(f["kind"], f["path"], f["host_path"]) for f in review["findings"]],
                         [("name", f"{target}/.envrc", f"{self.project}/.envrc"),
                          ("repository", f"{target}/new/.git", f"{self.project}/new/.git")])
        self.assertEqual(review["turn_id"], events[-1]["payload"]["turn_id"])

        done = self.world.ctl(*run, f"cd {target} && mkdir d && echo x >d/.envrc; exit 3")
        self.assertEqual(done.code, 0, done)
        reviews = [e["payload"] for e in self.events(session) if e["type"] == "workspace_review"]
        self.assertEqual([f["host_path"] for f in reviews[-1]["findings"]], [f"{self.project}/d/.envrc"])
        self.assertEqual(self.world.ctl(*run, f"ls -a {target}").code, 0)
        self.assertEqual(len([e for e in self.events(session) if e["type"] == "workspace_review"]), 2)

    def test_nothing_without_a_writable_directory(self):
        bundle = self.bundle(read=[self.project])
        session = self.world.json("session", "create", bundle)["id"]
        done = self.world.ctl("run", bundle, "--session", session, "--approve", "all", "--prompt",
                              "echo x >.envrc && git init -q new")
        self.assertEqual(done.code, 0, done)
        self.assertNotIn("workspace_review", [e["type"] for e in self.events(session)])


if __name__ == "__main__":
    main()
