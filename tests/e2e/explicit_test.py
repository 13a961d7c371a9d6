#!/usr/bin/env python3
"""Explicit executables: what a manifest names, or a person, runs; nothing else does."""

import os

import bundles
from world import WorldTest, main


class ManifestTest(WorldTest):
    """A manifest that says nothing about its mode names every program its agent runs."""

    def bundle(self, steps, scripts=(), **options):
        path = f"{self.world.directory}/{self.id().rpartition('.')[2]}"
        for name in scripts:
            self.world.make(f"{path}/{name}", "#!/bin/sh\necho ran $0\n")
            os.chmod(f"{path}/{name}", 0o755)
        return bundles.write(path, steps, **options)

    def create(self, bundle):
        done = self.world.ctl("session", "create", bundle)
        self.assertEqual(done.code, 0, done)
        self.source = bundle
        return done.out.strip()

    def run_turn(self, session):
        self.world.ctl("run", self.source, "--session", session, "--prompt", "x")
        return self.world.json("session", "show", session)["turns"][-1]

    def said(self, steps, texts, **options):
        steps = [*steps, bundles.say("|".join(texts))]
        turn = self.run_turn(self.create(self.bundle(steps, **options)))
        self.assertEqual(turn["status"], "completed", turn)
        return turn["response"].split("|")

    def test_runs_what_it_names(self):
        out, code = self.said([bundles.bash("echo data >f; cat f; /bin/cat f"),
                               bundles.bash("ls", "other")],
                              ["${r.stdout}", "${other.status_code}"], tools=["sh", "cat"])
        self.assertEqual((out, code), ("data\ndata\n", "126"))

    def test_names_nothing_and_has_its_files(self):
        outcome, read = self.said([bundles.call("Write", path="f", content="data"),
                                   bundles.call("Read", "read", path="f"), bundles.bash("true")],
                                  ["${r.outcome}", "${read.content}"], tools=[])
        self.assertEqual((outcome, read), ("denied", "data"))

    def test_a_missing_tool_ends_the_turn_before_the_model_is_asked(self):
        session = self.create(self.bundle([bundles.say("The model spoke.")], tools=["no-such"]))
        turn = self.run_turn(session)
        self.assertEqual(turn["status"], "failed")
        self.assertRegex(turn["error"], r"^odyssey\.bundle\.json5:\d+: sandbox\.system_tools\[0\]: "
                                        r"missing system tool: no-such$")
        told = self.world.ctl("-o", "json", "session", "events", session)
        self.assertNotIn("The model spoke", told.out)

    def test_the_operator_has_the_systems_programs(self):
        session = self.create(self.bundle([bundles.bash("ls"), bundles.say("${r.status_code}")],
                                          tools=["sh"]))
        self.assertEqual(self.run_turn(session)["response"], "126")
        done = self.world.ctl("session", "exec", session, "--", "ls", "/usr/bin/id")
        self.assertEqual((done.code, done.out), (0, "/usr/bin/id\n"), done)
        self.assertEqual(self.run_turn(session)["response"], "126")

    def test_the_bundles_own_programs(self):
        steps = [bundles.bash("/bundle/bin/run"), bundles.bash("/workspace/bin/run", "in_place"),
                 bundles.bash("echo x >>/bundle/bin/run", "changed")]
        texts = ["${r.stdout}", "${in_place.status_code}", "${changed.status_code}",
                 "${in_place.stdout}"]
        for mode, in_place in (("workspace_write", ("126", "")),
                               ("read_only", ("0", "ran /workspace/bin/run\n"))):
            said = self.said(steps, texts, scripts=["bin/run"], programs=["bin/run"], mode=mode,
                             tools=["sh"])
            self.assertEqual(said[0], "ran /bundle/bin/run\n", mode)
            self.assertEqual((said[1], said[3]), in_place, mode)
            self.assertNotEqual(said[2], "0")

    def test_is_explained(self):
        bundle = self.bundle([], tools=["sh"])
        done = self.world.ctl("policy", "explain", bundle)
        self.assertEqual(done.code, 0, done)
        for words in ("executables explicit", "executable: named sh", "loadable: library of"):
            self.assertIn(words, done.out)
        done = self.world.ctl("policy", "explain", self.bundle([], tools=["no-such"]))
        self.assertEqual(done.code, 1, done)
        self.assertIn("missing system tool: no-such", done.err)


class CommandLineTest(WorldTest):

    def exec(self, *words):
        return self.world.ctl("exec", "--tools", "explicit", *words)

    def test_runs_what_is_named(self):
        done = self.exec("--tool", "sh", "--tool", "ls", "--", "sh", "-c", "ls /usr/bin/id")
        self.assertEqual((done.code, done.out), (0, "/usr/bin/id\n"), done)
        self.assertEqual(self.exec("--tool", "sh", "--", "ls").code, 126)
        self.assertEqual(self.exec("--tool", "sh", "--", "no-such").code, 127)
        self.assertEqual(self.exec("--", "true").code, 126)

    def test_a_program_of_ones_own(self):
        path = self.world.make("own/run", "#!/bin/sh\necho own\n")
        os.chmod(path, 0o755)
        done = self.exec("--tool", "sh", "--tool", path, "--", path)
        self.assertEqual((done.code, done.out), (0, "own\n"), done)
        directory = os.path.dirname(path)
        done = self.exec("--tool", "sh", "--tool", path, "--write", directory, "--", path)
        self.assertEqual(done.code, 125, done)
        self.assertIn("executables", done.err)

    def test_what_is_missing_is_said(self):
        done = self.exec("--tool", "no-such", "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn("missing system tool: no-such", done.err)
        done = self.world.ctl("exec", "--tool", "sh", "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn("--tool sh: allowed only with --tools explicit", done.err)

    def test_the_plan_is_the_cells(self):
        done = self.exec("--tool", "sh", "--explain")
        self.assertEqual(done.code, 0, done)
        self.assertIn("/usr: the host's, read-only, noexec", done.out)


if __name__ == "__main__":
    main()
