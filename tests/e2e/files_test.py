#!/usr/bin/env python3
"""Files into a cell and out of it: cell put, cell get, exec --inject and --collect."""

import os

from world import WorldTest, main


class FilesTest(WorldTest):

    def setUp(self):
        self.base = self.world.make_directory(self.id().rpartition(".")[2])
        self.world.make(f"{self.base}/data.txt", "from here\n")
        os.symlink("data.txt", f"{self.base}/link")
        os.mkdir(f"{self.base}/sub")

    def ctl(self, *words):
        return self.world.ctl(*words, cwd=self.base)

    def read(self, name):
        with open(f"{self.base}/{name}", encoding="utf-8") as file:
            return file.read()

    def test_exec_injects_and_collects(self):
        done = self.ctl("exec", "--inject", "data.txt", "--collect", "out", "--", "sh", "-c",
                        "cd $ODYSSEY_RUN && mkdir outbox/d && cp inbox/data.txt outbox/d/copy && "
                        "ln -s /etc/passwd outbox/link")
        self.assertEqual((done.code, done.out), (0, ""), done)
        self.assertEqual(self.read("out/d/copy"), "from here\n")
        self.assertFalse(os.path.lexists(f"{self.base}/out/link"))
        self.assertIn('"link" is skipped: symbolic link', done.err)

    def test_collect_keeps_the_commands_exit_code(self):
        done = self.ctl("exec", "--collect", "out", "--", "sh", "-c",
                        "echo x >$ODYSSEY_RUN/outbox/f; exit 7")
        self.assertEqual(done.code, 7, done)
        self.assertEqual(self.read("out/f"), "x\n")

    def test_collect_overwrites_nothing(self):
        self.world.make(f"{self.base}/out/f", "mine\n")
        done = self.ctl("exec", "--collect", "out", "--", "sh", "-c",
                        "echo x >$ODYSSEY_RUN/outbox/f; echo y >$ODYSSEY_RUN/outbox/g")
        self.assertEqual(done.code, 125, done)
        self.assertIn("left as it is", done.err)
        self.assertEqual((self.read("out/f"), self.read("out/g")), ("mine\n", "y\n"))

    def test_what_is_no_file_is_skipped_with_a_warning(self):
        done = self.ctl("exec", "--inject", "none", "--inject", "link", "--inject", "sub",
                        "--inject", "data.txt", "--", "sh", "-c", "ls $ODYSSEY_RUN/inbox")
        self.assertEqual((done.code, done.out), (0, "data.txt\n"), done)
        for text in ('"none" not found', '"link" is a symlink', '"sub" is a directory'):
            self.assertIn(f"warning: file {text}, skipping it", done.err)

    def test_a_relative_path_is_kept_in_the_inbox(self):
        self.world.make(f"{self.base}/sub/dir/f", "f\n")
        other = self.world.make(f"{self.base}/sub/other", "other\n")
        done = self.ctl("exec", "--inject", "sub/dir/f", "--inject", "./data.txt", "--inject", other, "--",
                        "sh", "-c", "cd $ODYSSEY_RUN/inbox && find . -type f | sort && cat sub/dir/f other")
        self.assertEqual((done.code, done.out), (0, "./data.txt\n./other\n./sub/dir/f\nf\nother\n"), done)

    def test_two_files_of_one_name_are_an_error(self):
        other = self.world.make(f"{self.base}/sub/data.txt", "other\n")
        done = self.ctl("exec", "--inject", "data.txt", "--inject", other, "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn("would both be data.txt", done.err)

    def test_put_and_get_by_cell_and_run(self):
        self.assertEqual(self.ctl("exec", "--cell", "kept", "--", "true").code, 0)
        cells = self.ctl("-o", "json", "cell", "list").json()["cells"]
        cell = next(c["cell_id"] for c in cells if c["key"]["component"] == "kept")
        try:
            put = self.ctl("cell", "put", cell, "data.txt", "link")
            self.assertEqual(put.code, 0, put)
            run = put.out.strip()
            self.assertRegex(run, "^run_[0-9a-f]{16}$")
            again = self.ctl("cell", "put", cell, "--run", run, "data.txt")
            self.assertEqual(again.code, 1, again)
            self.assertIn("is there already", again.err)
            copied = self.ctl("exec", "--cell", "kept", "--", "sh", "-c",
                              f"cp /cell/runs/{run}/inbox/data.txt /cell/runs/{run}/outbox/back")
            self.assertEqual(copied.code, 0, copied)
            got = self.ctl("-o", "json", "cell", "get", cell, run, "out")
            self.assertEqual(got.code, 0, got)
            self.assertEqual(got.json()["files"][0]["path"], "back")
            self.assertEqual(self.read("out/back"), "from here\n")
            self.assertEqual(self.ctl("cell", "get", cell, run, "out").code, 1)
            self.assertEqual(self.ctl("cell", "get", cell, "run_1", "out").code, 1)
            self.assertEqual(self.read("out/back"), "from here\n")
            self.assertEqual(self.ctl("cell", "get", cell, "run_1", "nothing").code, 1)
            self.assertFalse(os.path.exists(f"{self.base}/nothing"))
        finally:
            self.ctl("cell", "rm", cell, "--purge")


if __name__ == "__main__":
    main()
