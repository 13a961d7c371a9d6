"""`image build`: Dockerfiles, built by the real daemons. The images have nothing but a static busybox."""

import glob
import json
import os
import shutil
import signal
import tarfile
import tempfile
import unittest

import bundles
import host
import world

BUSYBOX = shutil.which("busybox") or "/bin/busybox"
BASE = """\
FROM scratch
COPY busybox /bin/busybox
COPY <<passwd <<group /etc/
root:x:0:0:root:/:/bin/sh
me:x:1000:1000::/home:/bin/sh
passwd
root:x:0:
us:x:1000:
group
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN mkdir -p /tmp /home && chown me:us /home
"""


@unittest.skipUnless(os.path.exists(BUSYBOX), "no busybox-static")
class BuildTest(world.WorldTest):
    number = 0  # of the test, for a context of its own

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        base = cls.world.make_directory("base")
        shutil.copy(BUSYBOX, base + "/busybox")
        cls.world.make("base/Dockerfile", BASE)
        done = cls.world.ctl("image", "build", "-t", "base:1", base)
        assert done.code == 0, done

    def setUp(self):
        BuildTest.number += 1
        self.place = f"context-{self.number}"
        self.directory = self.world.make_directory(self.place)

    def write(self, name, content):
        return self.world.make(f"{self.place}/{name}", content)

    def start(self, text, *arguments):
        self.write("Dockerfile", text)
        return self.world.start("image", "build", *arguments, self.directory)

    def build(self, text, *arguments):
        self.write("Dockerfile", text)
        return self.world.ctl("image", "build", *arguments, self.directory, cwd="/")

    def built(self, text, *arguments):
        done = self.build(text, *arguments)
        self.assertEqual(done.code, 0, done)
        return done.out.strip()

    def run_in(self, image, *command):
        done = self.world.ctl("exec", "--image", image, "--", *command)
        self.assertEqual(done.code, 0, done)
        return done.out

    def images(self):
        listed = self.world.json("image", "list")
        listed = listed["images"] if isinstance(listed, dict) else listed
        return sorted(image["digest"] for image in listed)

    def trees(self):
        """Directories of the cells of builds, on disk."""
        return glob.glob(self.world.state + "/**/*image-build-*", recursive=True)

    def test_commands_change_the_image_as_the_user_says(self):
        image = self.built("FROM base:1\n"
                           "RUN id -u >/one && chown 7:8 /one && chmod 4755 /one\n"
                           "USER me\nWORKDIR /home\n"
                           "RUN id -un >two && ! touch /three\n")
        out = self.run_in(image, "/bin/sh", "-c", "cat /one /home/two; stat -c %u:%g:%a /one; "
                                                  "test -e /three || echo none; pwd; id -u")
        self.assertEqual(out.split(), ["0", "me", "7:8:755", "none", "/workspace", "1000"])
        self.assertEqual(self.trees(), [])

    def test_files_of_the_context_without_what_is_ignored(self):
        self.write("a", "A")
        self.write("sub/b", "B")
        self.write("sub/secret", "no")
        self.write(".dockerignore", "**/secret\nDockerfile\n.dockerignore\n")
        image = self.built("FROM base:1\nCOPY --chown=me:us --chmod=755 . /app/\n")
        out = self.run_in(image, "/bin/sh", "-c", "cd /app && find . | sort && stat -c %U:%G:%a sub/b")
        self.assertEqual(out.split(), [".", "./a", "./sub", "./sub/b", "me:us:755"])

    def test_stages_and_archives(self):
        self.write("in/x", "X")
        with tarfile.open(self.directory + "/a.tar.xz", "w:xz") as archive:
            archive.add(self.directory + "/in", "in")
        image = self.built("FROM base:1 AS make\nADD a.tar.xz /out/\nRUN cat /out/in/x >/out/y\n"
                           "FROM base:1\nCOPY --from=make /out /out\nENTRYPOINT [\"/bin/cat\"]\n")
        self.assertEqual(self.run_in(image, "cat", "/out/in/x", "/out/y"), "XX")
        shown = self.world.json("image", "inspect", image)
        self.assertIn("/bin/cat", json.dumps(shown))

    def test_here_documents_and_arguments(self):
        image = self.built("ARG FROM=none\nFROM $FROM\nARG WHAT=no\nENV GREET=hello-$WHAT\n"
                           "RUN <<EOF\nset -e\necho $GREET >/a\necho $WHAT >>/a\nEOF\n"
                           "RUN cat <<'EOF' >/b\n$WHAT\nEOF\n",
                           "--build-arg", "FROM=base:1", "--build-arg", "WHAT=you")
        self.assertEqual(self.run_in(image, "cat", "/a", "/b"), "hello-you\nyou\n$WHAT\n")
        self.assertEqual(self.run_in(image, "/bin/sh", "-c", "echo $GREET.$WHAT"), "hello-you.\n")

    def test_a_failure_names_the_line_and_leaves_nothing(self):
        before = self.images()
        done = self.build("FROM base:1\nRUN echo said; touch /x\n\nRUN exit \\\n 3\n")
        self.assertEnded(done, 1, "Dockerfile:4: RUN exit  3: exit code 3", "said", "[2/3] RUN echo")
        self.assertEqual(done.out, "")
        self.assertEqual(self.images(), before)
        self.assertEqual(self.trees(), [])
        done = self.build("FROM base:1\nRUN --mount=type=cache x\nFOO\n")
        self.assertEnded(done, 1, "Dockerfile:2: RUN: --mount", "Dockerfile:3: FOO", "2 problems")

    def test_what_is_named_is_judged_before_images_are_looked_up(self):
        text = "FROM none:1\n"
        for arguments, words in ((("-t", "Bad Name"), "image build: --tag Bad Name: give NAME or NAME:TAG"),
                                 (("-t", "sha256:" + "a" * 64), "a digest is no name"),
                                 (("-f", "/dev/null"), "/dev/null: it is a character device")):
            done = self.build(text, *arguments)
            self.assertEnded(done, 1, words)
            self.assertNotIn("none:1", done.err)

    def test_nothing_changed_nothing_is_built(self):
        self.write("a", "1")
        text = "FROM base:1\nCOPY a /a\nRUN echo once\n"
        first = self.build(text, "-t", "cached")
        self.assertIn("once", first.err)
        second = self.build(text, "-t", "cached", "-t", "again:2")
        self.assertEqual(second.out, first.out)
        self.assertNotIn("RUN", second.err)
        self.assertEqual(self.run_in("again:2", "cat", "/a"), "1")
        self.write("a", "2")
        third = self.build(text, "-t", "cached")
        self.assertIn("once", third.err)
        self.assertEqual(self.run_in("cached", "cat", "/a"), "2")

    def test_an_interrupt_leaves_nothing(self):
        before = self.images()
        building = self.start("FROM base:1\nRUN touch /x\nRUN echo here; sleep 1000\n")
        host.eventually(lambda: "here\n" in building.err, host.HANG_S, lambda: building.err)
        building.process.send_signal(signal.SIGINT)
        self.assertEqual(building.ended().code, 130)
        host.eventually(lambda: not self.world.cell_commands("sleep"), host.HANG_S, self.world.cells)
        self.assertEqual(self.images(), before)
        self.assertEqual(self.trees(), [])

    def test_links_lead_nowhere_outside(self):
        """Of the context to the host, and of the image to the host."""
        os.symlink("/etc/passwd", self.directory + "/link")
        self.write("a", "A")
        done = self.build("FROM base:1\nCOPY link /x\n")
        self.assertEnded(done, 1, "leads out of the context")
        target = tempfile.mkdtemp(prefix="odyssey-e2e-", dir="/var/tmp")  # no part of a cell of an image
        self.addCleanup(shutil.rmtree, target)
        image = self.built(f"FROM base:1\nRUN mkdir -p {target} && ln -s {target} /l\nCOPY a /l/a\n")
        self.assertEqual(self.run_in(image, "/bin/sh", "-c", f"cat {target}/a"), "A")
        self.assertEqual(os.listdir(target), [])

    def test_the_network_is_none(self):
        image = self.built("FROM base:1\nRUN cat /proc/net/dev >/n && ! wget -T 5 -O /w http://192.0.2.1/\n")
        devices = [line.split(":")[0].strip() for line in self.run_in(image, "cat", "/n").splitlines()
                   if ":" in line]
        self.assertEqual(devices, ["lo"])
        done = self.build("FROM base:1\nRUN wget -O /w http://files.test/\n")
        self.assertEnded(done, 1, "resolve files.test", "--network public")

    def test_without_the_cache_it_is_built_again(self):
        self.write("a", "A")
        first = self.build("FROM base:1\nCOPY a /a\nRUN echo again\n", "-t", "twice")
        second = self.build("FROM base:1\nCOPY a /a\nRUN echo again\n", "-t", "twice", "--no-cache")
        self.assertIn("again", second.err)
        self.assertEqual(self.run_in("twice", "cat", "/a"), "A")
        self.assertEqual(first.code, 0)


class OdekTest(world.WorldTest):
    """Dockerfile.odek: approved, then built."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        base = cls.world.make_directory("base")
        shutil.copy(BUSYBOX, base + "/busybox")
        cls.world.make("base/Dockerfile", BASE)
        assert cls.world.ctl("image", "build", "-t", "base:1", base).code == 0
        cls.project = cls.world.make_directory("project")
        cls.world.make("project/odek.json", "{}")
        cls.world.make("project/Dockerfile.odek", "FROM base:1\nCOPY a /a\nRUN echo built\n")
        cls.world.make("project/a", "1")

    def exec(self, approve, *options):
        env = {**os.environ, "HOME": self.world.directory}
        env.pop("ODEK_APPROVE_PROJECT_SANDBOX", None)
        if approve:
            env["ODEK_APPROVE_PROJECT_SANDBOX"] = "1"
        return self.world.ctl("exec", "--policy", "odek.json", *options, "--", "cat", "/a", cwd=self.project,
                              env=env)

    def session_exec(self, image, policy, approve=True):
        """In a new session: the directories of one are of one image."""
        bundle = bundles.write(f"{self.world.directory}/bundle", [bundles.say("done")], image=image)
        session = self.world.ctl("session", "create", bundle).out.strip()
        env = {**os.environ, "HOME": self.world.directory, "ODEK_APPROVE_PROJECT_SANDBOX": "1" if approve else "0"}
        return self.world.ctl("session", "exec", "--policy", policy, session, "--", "cat", "/a", cwd=self.project,
                              env=env)

    def test_a_command_in_a_session_runs_in_it(self):
        self.world.make("project/a", "3")
        before = set(self.names())
        done = self.session_exec("base:1", "odek.json", approve=False)
        self.assertEnded(done, 125, "session exec --policy odek.json: ",
                         "Dockerfile.odek: build an image and run in it; of base:1")
        self.assertEqual(set(self.names()), before)
        self.assertIn("RUN echo built", self.session_exec("base:1", "odek.json").err)
        [name] = set(self.names()) - before
        done = self.session_exec(name, "odek.json")
        self.assertEqual((done.code, done.out), (0, "3"), done)
        self.assertNotIn("built", done.err)
        # An image that is named comes before it.
        self.world.make("project/named.json", '{"sandbox_image": "base:1"}')
        self.assertIn("No such file", self.session_exec("base:1", "named.json").err)

    def test_a_broken_one_starts_nothing(self):
        whole = "FROM base:1\nCOPY a /a\nRUN echo built\n"
        for text, why in (("FROM base:1\nRUN exit 7\n", "exit code 7"), ("FORM base:1\n", "Dockerfile.odek:1: "),
                          ("FROM base:1\nCOPY missing /\n", "missing")):
            self.world.make("project/Dockerfile.odek", text)
            done = self.exec(approve=True)
            self.world.make("project/Dockerfile.odek", whole)
            self.assertEnded(done, 125, "exec --policy odek.json: image build failed: ", why)
            self.assertEqual(done.out, "")

    def names(self):
        listed = self.world.json("image", "list")
        listed = listed["images"] if isinstance(listed, dict) else listed
        return [name for image in listed for name in image.get("names", [])
                if name.startswith("odek-sandbox:")]

    def test_it_is_built_when_it_is_approved(self):
        self.world.make("project/a", "1")
        before = self.names()
        done = self.exec(approve=False)
        self.assertEnded(done, 125, "Dockerfile.odek: build an image and run in it; of base:1")
        self.assertEqual(self.names(), before)
        self.assertIn("is not built yet", self.exec(False, "--explain").err)
        done = self.exec(approve=True)
        self.assertEqual((done.code, done.out), (0, "1"), done)
        self.assertIn("built", done.err)
        self.assertRegex(self.names()[0], r"^odek-sandbox:[0-9a-f]{24}$")
        again = self.exec(approve=True)
        self.assertEqual((again.code, again.out), (0, "1"), again)
        self.assertNotIn("built", again.err)
        explained = self.exec(False, "--explain")
        self.assertIn("image sha256:", explained.out, explained)
        built = len(self.names())
        # A file of the context is part of what is approved, and of the name.
        self.world.make("project/a", "2")
        self.assertEnded(self.exec(approve=False), 125)
        self.assertEqual(self.exec(approve=True).out, "2")
        self.assertEqual(len(self.names()), built + 1)


if __name__ == "__main__":
    world.main()
