#!/usr/bin/env python3
"""A backup of daemons that work, put back on another state: history, events, and the next turn; and what is refused."""

import hashlib
import io
import json
import os
import subprocess
import tarfile

import bundles
from world import CTL, World, WorldTest, main


class BackupTest(WorldTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bundle = bundles.write(f"{cls.world.directory}/b.bundle", [
            bundles.bash("seq 20"), bundles.say("Said.")])
        cls.session = cls.world.ctl("session", "create", cls.bundle).out.strip()
        for prompt in ("first", "second"):
            done = cls.world.ctl("run", cls.bundle, "--session", cls.session, "--prompt", prompt)
            assert done.code == 0, done
        provider = f"{cls.world.state}/egress/providers/secret"
        with open(provider, "w", encoding="ascii") as file:
            file.write("hunter2")
        owner = os.stat(f"{cls.world.state}/egress").st_uid
        os.chown(provider, owner, owner)
        cls.world.make("state/prices.yaml", "models: {openai/b: {input: 1, output: 1}}\n")
        cls.archive = f"{cls.world.directory}/whole.tar"
        done = cls.world.ctl("backup", cls.archive)
        assert done.code == 0, done

    def other(self):
        world = World()
        self.addCleanup(world.close)
        return world

    def events(self, world):
        return world.ctl("-o", "json", "session", "events", self.session).lines()

    def assertServes(self, world):
        """It came up with the turns; the next one works."""
        world.up()
        found = world.json("session", "show", self.session)["turns"]
        self.assertEqual([turn["status"] for turn in found], ["completed"] * 2, found)
        done = world.ctl("run", self.bundle, "--session", self.session, "--prompt", "next")
        self.assertEqual(done.code, 0, done)
        self.assertIn("Said.", done.out)

    def test_a_restored_state_goes_on(self):
        before = self.events(self.world)
        world = self.other()
        done = world.ctl("-o", "json", "restore", self.archive)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(done.json()["sessions"], 1)
        self.assertFalse(done.json()["secrets"])
        self.assertFalse(os.path.exists(f"{world.state}/restore.new"))
        with open(f"{world.state}/prices.yaml", encoding="ascii") as file:
            self.assertEqual(file.read(), "models: {openai/b: {input: 1, output: 1}}\n")
        self.assertServes(world)
        self.assertEqual(self.events(world)[:len(before)], before)
        self.assertFalse([c for c in world.ctl("-o", "json", "doctor").json()["checks"]
                          if c["name"] in ("session file", "bundle")])

    def test_while_turns_run(self):
        bundle = bundles.write(f"{self.world.directory}/long.bundle", [
            bundles.bash("for i in $(seq 6000); do echo line-$i; sleep 0.05; done")])
        session = self.world.ctl("session", "create", bundle).out.strip()
        turn = self.world.start("run", bundle, "--session", session, "--prompt", "while")
        turn.until("line-7")
        archives = [f"{self.world.directory}/while{number}.tar" for number in range(3)]
        for archive in archives:
            self.assertEqual(self.world.ctl("backup", archive).code, 0)
        self.assertEqual(self.world.ctl("turn", "cancel", session).code, 0)
        turn.ended()
        for archive in archives:
            world = self.other()
            self.assertEqual(world.ctl("restore", archive).code, 0)
            self.assertServes(world)
            found = world.json("session", "show", session)["turns"]
            self.assertEqual([each["status"] for each in found], ["interrupted"])
            world.close()

    def test_secrets_only_when_asked_for(self):
        with tarfile.open(self.archive) as tar:
            self.assertFalse([name for name in tar.getnames() if name.startswith("egress")])
        with open(self.archive, "rb") as file:
            self.assertNotIn(b"hunter2", file.read())
        archive = f"{self.world.directory}/secrets.tar"
        done = self.world.ctl("-o", "json", "backup", archive, "--with-secrets")
        self.assertTrue(done.json()["secrets"], done)
        self.assertEqual(os.stat(archive).st_mode & 0o777, 0o600)
        world = self.other()
        self.assertEqual(world.ctl("restore", archive).code, 0)
        with open(f"{world.state}/egress/providers/secret", encoding="ascii") as file:
            self.assertEqual(file.read(), "hunter2")
        self.assertEqual(os.stat(f"{world.state}/egress/providers/secret").st_uid,
                         os.stat(f"{self.world.state}/egress").st_uid)
        self.assertServes(world)

    def test_through_a_pipe(self):
        world = self.other()
        with subprocess.Popen(self.world.argv("backup", "-"), stdout=subprocess.PIPE) as writer:
            done = subprocess.run([CTL, "--state", world.state, "restore", "-"], stdin=writer.stdout, check=False)
        self.assertEqual((writer.returncode, done.returncode), (0, 0))
        self.assertServes(world)

    def test_no_file_is_replaced(self):
        there = self.world.make("there.tar", "mine")
        self.assertEnded(self.world.ctl("backup", there), 1, "File exists")
        with open(there, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")
        self.assertFalse(os.path.exists(there + ".partial"))

    def test_a_link_of_agentds_user_leads_nowhere(self):
        link = f"{self.world.state}/agentd/journals/link.jsonl"
        for make in (lambda: os.symlink("/etc/shadow", link), lambda: os.link(f"{self.world.state}/prices.yaml", link)):
            make()
            try:
                done = self.world.ctl("backup", f"{self.world.directory}/link.tar")
                self.assertEnded(done, 1, "link.jsonl")
                self.assertFalse(os.path.exists(f"{self.world.directory}/link.tar"))
            finally:
                os.unlink(link)

    # What restore refuses.

    def assertRefused(self, archive, *words, world=None):
        world = world or self.other()
        self.assertEnded(world.ctl("restore", archive), 1, "Nothing was restored", *words)
        self.assertFalse(os.path.exists(f"{world.state}/restore.new"))
        left = [os.path.join(where, name) for where, _, names in os.walk(f"{world.state}/agentd") for name in names
                if name != "lock"]
        self.assertFalse(left)

    def test_a_state_that_is_used(self):
        self.assertEnded(self.world.ctl("restore", self.archive), 1, "already runs on this state")
        world = self.other()
        self.assertEqual(world.ctl("restore", self.archive).code, 0)
        self.assertEnded(world.ctl("restore", self.archive), 1, " exists: restore into an empty --state")

    def test_a_state_of_agentd_alone(self):
        world = self.other()
        os.makedirs(f"{world.state}/agentd")
        with open(f"{world.state}/agentd/lock", "w", encoding="ascii") as file:
            subprocess.run(["flock", "--nonblock", str(file.fileno())], pass_fds=[file.fileno()], check=True)
            self.assertRefused(self.archive, "odyssey-agentd runs on", world=world)

    def test_damage(self):
        with open(self.archive, "rb") as file:
            whole = file.read()
        at = whole.index(b'"first"')
        changed = self.world.make("changed.tar", whole[:at] + b'"tsrif"' + whole[at + 7:])
        self.assertRefused(changed, "it is not what was backed up")
        self.assertRefused(self.world.make("cut.tar", whole[:len(whole) // 2]), "cut off")
        self.assertRefused(self.world.make("header.tar", b"x" + whole[1:]), "a header is wrong")
        self.assertRefused(self.world.make("none.tar", b"no tar"), "cut off")

    def packed(self, name, *members, manifest=True):
        """An archive of these members with a manifest that agrees."""
        path = f"{self.world.directory}/{name}.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            files = []
            for info, content in members:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
                if info.isreg():
                    files.append({"name": info.name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
            if manifest:
                text = json.dumps({"format": "odyssey.backup/v1", "files": files}).encode()
                info = tarfile.TarInfo("manifest.json")
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text))
        return path

    @staticmethod
    def member(name, kind=tarfile.REGTYPE, link=""):
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        return info

    def test_members_that_lead_elsewhere(self):
        cases = {
            "traversal": ("agentd/../../evil", tarfile.REGTYPE, "a path with . or .. in it"),
            "absolute": ("/etc/evil", tarfile.REGTYPE, "an absolute path"),
            "symbolic": ("agentd/link", tarfile.SYMTYPE, "a symbolic link"),
            "hard": ("agentd/link", tarfile.LNKTYPE, "a hard link"),
            "fifo": ("agentd/fifo", tarfile.FIFOTYPE, "a FIFO"),
            "device": ("agentd/null", tarfile.CHRTYPE, "a device"),
            "elsewhere": ("supervisor/cells/evil", tarfile.REGTYPE, "no part of a backup"),
            "beside": ("agentd2/evil", tarfile.REGTYPE, "no part of a backup"),
        }
        for name, (path, kind, word) in cases.items():
            with self.subTest(name):
                archive = self.packed(name, (self.member(path, kind, "/etc"), b""))
                self.assertRefused(archive, path, word)
        good = self.packed("good", (self.member("agentd/sessions/x.txt"), b"x"))
        self.assertEqual(self.other().ctl("restore", good).code, 0)

    def test_a_manifest_must_agree(self):
        x = (self.member("agentd/sessions/x.txt"), b"x")
        self.assertRefused(self.packed("nomanifest", x, manifest=False), "no manifest")
        self.assertRefused(self.packed("twice", x, x), "File exists")

    def test_modes_and_owners(self):
        info = self.member("agentd/sessions/x.txt")
        info.mode, info.uid = 0o6777, 0
        world = self.other()
        self.assertEqual(world.ctl("restore", self.packed("modes", (info, b"x"))).code, 0)
        found = os.stat(f"{world.state}/agentd/sessions/x.txt")
        self.assertEqual(found.st_mode & 0o7777, 0o755)
        self.assertEqual(found.st_uid, os.stat(f"{self.world.state}/agentd").st_uid)


if __name__ == "__main__":
    main()
