#!/usr/bin/env python3
"""Reviewed writes: a cell works on a copy, and a person commits what they like."""

import os
import subprocess

import bundles
from ceiling_test import write_ceiling
from terminal import Terminal
from world import WorldTest, main

QUESTION = "commit these? c commit, h choose, v view the diff, k keep, d discard, ? help: "

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
        self.exec("echo x >a")
        done = self.world.ctl("diff", self.name, "--against", "no-such-cell")
        self.assertEqual(done.code, 1)
        self.assertIn('against: "no-such-cell": no cell of this name has reviewed directories', done.err)

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


class QuestionTest(ReviewedTest):
    """exec --review on a terminal."""

    def ask(self, script, *words):
        shown = Terminal(self.world.argv("exec", "--review", *(words or ("--cell", self.name)), "--workspace",
                                         self.project, "--", "sh", "-c", script), env={"NO_COLOR": "1"})
        shown.until(QUESTION)
        return shown

    def test_c_commits_and_asks_about_each_marked_change(self):
        shown = self.ask("echo 'int added;' >>main.c; echo evil >.envrc; mkdir .vscode; "
                         "echo '{}' >.vscode/tasks.json; exit 5")
        shown.type("c\n")
        shown.until("take this marked change? ")
        self.assertIn("    +evil", shown.text)
        self.assertEqual(self.git("status", "--short"), "")
        shown.type("n\n")
        shown.until("take this marked change? ", count=2)
        shown.type("y\n")
        self.assertEqual(shown.ended(), 5, "the exit code is the command's: " + shown.text)
        self.assertEqual(self.git("status", "--short"), " M main.c\n?? .vscode/\n")

    def test_the_end_of_input_and_an_interrupt_keep(self):
        for answer in ("k\n", "\x04", "\x03"):
            shown = self.ask("echo 'int added;' >>main.c")
            shown.type(answer)
            self.assertEqual(shown.ended(), 0, shown.text)
            self.assertIn(f"odyssey-ctl commit {self.name}", shown.text)
        self.assertEqual(self.git("status", "--short"), "")

    def test_an_interrupt_while_a_marked_change_is_asked_about_commits_nothing(self):
        shown = self.ask("echo 'int added;' >>main.c; echo evil >.envrc")
        shown.type("c\n")
        shown.until("take this marked change? ")
        shown.type("\x03")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertEqual(self.git("status", "--short"), "")

    def test_h_chooses_changes_and_hunks(self):
        self.put("long.txt", "".join(f"line {number}\n" for number in range(40)))
        shown = self.ask("sed -i 's/line 3$/LINE 3/; s/line 35$/LINE 35/' long.txt; echo 'int added;' >>main.c")
        shown.type("h\n")
        shown.until("(1/2) take this hunk? ")
        shown.type("n\n")
        shown.until("(2/2) take this hunk? ")
        shown.type("y\n")
        shown.until("take it? ")
        shown.type("n\n")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertIn("LINE 35\n", self.get("long.txt"))
        self.assertIn("line 3\n", self.get("long.txt"))
        self.assertNotIn("added", self.get("main.c"))

    def test_what_another_command_changes_meanwhile_is_shown_again(self):
        shown = self.ask("echo one >a")
        self.assertEqual(self.exec("echo two >a").code, 0)
        shown.type("c\n")
        shown.until(QUESTION, count=2)
        self.assertFalse(os.path.exists(self.path("a")))
        self.assertIn("not what was shown any more", shown.text)
        shown.type("c\n")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertEqual(self.get("a"), "two\n")

    def test_d_discards_after_a_second_yes(self):
        shown = self.ask("echo one >a")
        shown.type("d\n")
        shown.until("for good? y, n: ")
        shown.type("y\n")
        self.assertEqual(shown.ended(), 0, shown.text)
        self.assertEqual(self.changed(), {})

    def test_names_of_a_cell_do_not_act_on_the_terminal(self):
        shown = self.ask("printf '\\033[2Jx\\r\\n' >\"$(printf 'a\\033]0;x\\007')\"")
        shown.type("v\n")
        shown.until("+\\e[2Jx\\r")
        self.assertIn("a\\e]0;x\\x07", shown.text)
        self.assertNotIn("\x1b", shown.text)
        shown.type("k\n")
        self.assertEqual(shown.ended(), 0, shown.text)


class GeneratedNameTest(ReviewedTest):

    def exec_unnamed(self, script, *options):
        return self.world.ctl(*options, "exec", "--review", "--workspace", self.project, "--", "sh", "-c", script)

    def live(self):
        return [cell["key"]["component"] for cell in self.world.json("cell", "list")["cells"]]

    def test_the_cell_ends_and_its_changes_stay(self):
        done = self.exec_unnamed("echo x >a")
        name = done.err.rpartition("odyssey-ctl commit ")[2].split()[0]
        self.assertNotIn(name, self.live())
        self.assertEqual(self.world.ctl("commit", name).code, 0)
        self.assertEqual(self.world.ctl("undo", name).code, 0)
        self.assertFalse(os.path.exists(self.path("a")))

    def test_nothing_is_left_of_a_command_that_changed_nothing(self):
        done = self.exec_unnamed("cat main.c")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertFalse([name for name in self.live() if name.startswith("review-")])

    def test_json_ends_with_the_outcome_and_begins_with_the_name(self):
        done = self.exec_unnamed("echo x >a; exit 3", "-o", "json")
        self.assertEqual(done.code, 3, done)
        self.assertTrue(done.err.splitlines()[-1].startswith('{"outcome":'), done.err)
        name = done.err.partition("odyssey-ctl commit ")[2].split()[0]
        listed = {cell["name"]: cell["counts"]["added"] for cell in self.world.json("changes")["cells"]}
        self.assertEqual(listed[name], 1)


class KeptSessionTest(ReviewedTest):
    """Sessions with changes: removed, forked, asked about. Each prompt is a command."""

    def setUp(self):
        super().setUp()
        self.bundle = bundles.write(self.world.make_directory(f"{self.name}-bundle"),
                                    [bundles.bash("cd /workspace/mount/write/current && ${prompt}")], write_=["."])

    def session(self, script="echo x >a"):
        session = self.world.json("session", "create", self.bundle, "--review", "--cwd", self.project)["id"]
        self.turn(session, script)
        return session

    def turn(self, session, script):
        done = self.world.ctl("run", self.bundle, "--session", session, "--prompt", script)
        self.assertEqual(done.code, 0, done)

    def names(self, session):
        return sorted(os.path.basename(c["path"]) for c in self.world.json("changes", session)["changes"])

    def test_removing_it_needs_a_word(self):
        session = self.session()
        done = self.world.ctl("session", "rm", session)
        self.assertEqual(done.code, 1, done)
        self.assertIn("1 added, not in the host's directory yet", done.err)
        self.assertEqual(self.names(session), ["a"])
        self.assertEqual(self.world.ctl("session", "rm", session, "--discard").code, 0)
        self.assertEqual(self.world.ctl("changes", session).code, 1)
        self.assertFalse(os.path.exists(self.path("a")))

    def test_removing_it_asks_on_a_terminal(self):
        session = self.session()
        for answer, left in (("n\n", True), ("y\n", False)):
            shown = Terminal(self.world.argv("session", "rm", session), env={"NO_COLOR": "1"})
            shown.until("forget them with the session? y, n: ")
            shown.type(answer)
            self.assertEqual(shown.ended(), 0, shown.text)
            self.assertEqual(self.world.ctl("session", "show", session).code == 0, left)

    def test_without_changes_nothing_is_asked(self):
        session = self.session("true")
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)

    def test_a_fork_goes_on_by_itself(self):
        first = self.session()
        done = self.world.ctl("session", "fork", first)
        self.assertEqual(done.code, 0, done)
        second = done.out.strip()
        self.turn(second, "echo y >b; rm a")
        self.assertEqual((self.names(first), self.names(second)), (["a"], ["b"]))
        shown = self.world.json("session", "show", second)
        self.assertEqual((shown["forked_from"], len(shown["turns"])), (first, 2))
        events = self.world.ctl("-o", "json", "session", "events", second).lines()
        self.assertEqual(events[0]["payload"]["type"], "session_forked")
        self.assertEqual(self.world.ctl("session", "rm", first, "--discard").code, 0)
        self.assertEqual(self.world.ctl("commit", second).code, 0)
        self.assertEqual(self.get("b"), "y\n")

    def test_two_forks_are_compared(self):
        first = self.session("echo one >both; echo same >same; rm main.c")
        second = self.world.ctl("session", "fork", first).out.strip()
        self.turn(second, "echo two >both; echo y >d.txt")
        done = self.world.ctl("diff", second, "--against", first)
        self.assertEqual(done.code, 0, done)
        self.assertIn("-one\n+two\n", done.out)
        self.assertIn("+++ b/d.txt", done.out)
        self.assertNotIn("same", done.out)
        self.assertNotIn("main.c", done.out)
        self.assertNotIn("both", self.world.ctl("diff", second, "--against", first, "d.txt").out)
        for other, word in ((second, "itself"), ("ses_none", "ses_none"), ("demo", "a session is compared")):
            refused = self.world.ctl("diff", second, "--against", other)
            self.assertEqual(refused.code, 1, refused)
            self.assertIn(word, refused.err)

    def test_a_path_without_a_change_is_refused(self):
        session = self.session()
        for verb in (("commit",), ("discard", "--yes")):
            done = self.world.ctl(*verb[:1], session, "no/such", *verb[1:])
            self.assertEqual(done.code, 1, done)
            self.assertIn("no/such: the cell changed nothing there", done.err)
        for verb in ("changes", "diff", "commit"):
            done = self.world.ctl(verb, session, "../../etc/passwd")
            self.assertEqual(done.code, 1, done)
            self.assertIn("not in a reviewed directory", done.err)
            done = self.world.ctl(verb, session, "a" * 70000)
            self.assertEqual(done.code, 1, done)
            self.assertIn("70000; at most 65536 are allowed", done.err)
        self.assertEqual(self.world.ctl("commit", session, "./a").code, 0)
        self.assertEqual(self.get("a"), "x\n")

    def test_a_fork_has_what_was_deleted_and_what_was_kept_outside_of_the_project(self):
        first = self.session("rm main.c; mkdir d; echo z >d/z; chmod 700 d; echo n >/workspace/note; ln -s d l")
        done = self.world.ctl("session", "fork", first)
        self.assertEqual(done.code, 0, done)
        second = done.out.strip()
        self.assertEqual(self.names(first), self.names(second))
        self.turn(second, "test ! -e main.c && test $(stat -c %a d) = 700 && cat d/z l/z /workspace/note >all")
        self.assertEqual(self.world.ctl("commit", second).code, 0)
        self.assertEqual(self.get("all"), "z\nz\nn\n")
        self.assertFalse(os.path.exists(self.path("main.c")))
        self.assertEqual(self.names(first), [], "the host has now what it has")

    def test_a_direct_session_is_forked_with_its_workspace(self):
        first = self.world.json("session", "create", self.bundle, "--cwd", self.project)["id"]
        self.turn(first, "echo n >/workspace/note")
        done = self.world.ctl("session", "fork", first)
        self.assertEqual(done.code, 0, done)
        self.turn(done.out.strip(), "cp /workspace/note ./copied")
        self.assertEqual(self.get("copied"), "n\n")

    def test_a_write_that_is_asked_about_shows_its_difference(self):
        path = "/workspace/mount/write/current/main.c"
        bundle = bundles.write(self.world.make_directory(f"{self.name}-asks"),
                               [bundles.call("Write", path=path, content="int main(void) { return 1; }\n")],
                               write_=["."], rules={"ask": ["Write"]})
        done = self.world.ctl("run", bundle, "--review", "--approve", "all", "--prompt", "go", "--cwd", self.project)
        self.assertEqual(done.code, 0, done)
        self.assertIn("    -int main(void) { return 0; }\n    +int main(void) { return 1; }\n", done.out)
        self.assertIn("writes are reviewed", done.out)
        self.assertEqual(self.git("status", "--short"), "")


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
