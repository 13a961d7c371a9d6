#!/usr/bin/env python3
"""The store of bundles: from init to an archive and back, references, replacement, removal, bounds."""

import hashlib
import json
import os
import shutil
import stat
import struct
import subprocess

import bundles
import host
from world import World, WorldTest, main

MIB = 1024 * 1024


def entries(blob, magic):
    """The files of a layer or an archive."""
    assert blob.startswith(magic)
    at = len(magic) + 4
    found = {}
    for _ in range(struct.unpack_from("<I", blob, len(magic))[0]):
        size, = struct.unpack_from("<I", blob, at)
        path = blob[at + 4:at + 4 + size].decode()
        at += 4 + size
        length, = struct.unpack_from("<Q", blob, at)
        found[path] = blob[at + 8:at + 8 + length]
        at += 8 + length
    assert at == len(blob)
    return found


def encode(files, magic=b"ODYB1\n"):
    out = magic + struct.pack("<I", len(files))
    for path, content in files:
        out += struct.pack("<I", len(path)) + path.encode() + struct.pack("<Q", len(content)) + content
    return out


def digest(content):
    return hashlib.sha256(content).hexdigest()


def foreign_archive(files, manifest, namespace="team"):
    """An archive as a builder of the contract makes it: no modes, no manifest file in the layer."""
    layer = encode(sorted(files.items()), b"ODYLP1\n")
    config = json.dumps({"schema_version": 1, "id": manifest["id"], "version": manifest["version"],
                         "namespace": namespace, "readme": "# x\n", "bundle_manifest": manifest,
                         "agent_spec": {}}).encode()

    def descriptor(content, kind):
        return {"mediaType": kind, "digest": "sha256:" + digest(content), "size": len(content)}

    oci = json.dumps({"schemaVersion": 2,
                      "config": descriptor(config, "application/vnd.odyssey.bundle.config.v1+json"),
                      "layers": [descriptor(layer, "application/vnd.odyssey.bundle.layer.v1")]}).encode()
    index = json.dumps({"schemaVersion": 2, "manifests": [
        descriptor(oci, "application/vnd.oci.image.manifest.v1+json")]}).encode()
    parts = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}\n', "index.json": index}
    for blob in (layer, config, oci):
        parts["blobs/sha256/" + digest(blob)] = blob
    return encode(sorted(parts.items()))


class StoreTest(WorldTest):

    def ok(self, *words, **options):
        done = self.world.ctl(*words, **options)
        self.assertEqual(done.code, 0, done)
        return done.out

    def source(self, name, steps=None, **options):
        path = f"{self.world.directory}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        return bundles.write(path, steps or [bundles.say(name)], bundle_id=name, **options)

    def set_version(self, source, version):
        path = source + "/odyssey.bundle.json5"
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        manifest["version"] = version
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file)

    def trees(self):
        return os.listdir(f"{self.world.state}/agentd/bundles/trees")


class LifeOfABundleTest(StoreTest):

    def setUp(self):
        for each in self.world.json("bundle", "list").get("bundles", []):
            self.ok("bundle", "rm", each["digest"])

    def test_from_init_to_an_archive_and_back(self):
        source = self.world.directory + "/My Cool Bundle"
        self.assertIn("initialized my-cool-bundle", self.ok("bundle", "init", source))
        self.assertEqual(self.ok("bundle", "validate", source), "valid\n")
        os.makedirs(source + "/bin")
        with open(source + "/bin/run", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho ran\n")
        os.chmod(source + "/bin/run", 0o755)
        before = self.world.json("bundle", "inspect", source)
        words = self.ok("bundle", "build", source).split()
        self.assertEqual(words[:2], ["installed", "my-cool-bundle@0.1.0"])
        installed = words[3]
        self.assertTrue(os.access(installed + "/bin/run", os.X_OK))
        self.assertEqual(self.ok("bundle", "list"), f"local/my-cool-bundle@0.1.0 {installed}\n")
        shown = self.world.json("bundle", "inspect", "my-cool-bundle")
        self.assertEqual(shown["digest"], words[2])
        self.assertEqual(shown["agents"][0]["id"], "my-cool-bundle")
        self.assertEqual([file["path"] for file in shown["files"]],
                         ["README.md", "agent.yaml", "bin/run", "odyssey.bundle.json5"])
        self.assertEqual(before, {**{name: value for name, value in shown.items()
                                     if name not in ("shared", "owner_uid")}, "path": source})
        self.assertTrue(self.ok("bundle", "inspect", "my-cool-bundle").startswith("bundle metadata\n{"))

        out = self.world.make_directory("out")
        path = out + "/my-cool-bundle-0.1.0.odyssey"
        self.assertEqual(self.ok("bundle", "export", "my-cool-bundle", "--output", out), f"exported {path}\n")
        with open(path, "rb") as file:
            archive = entries(file.read(), b"ODYB1\n")
        index = json.loads(archive["index.json"])
        self.assertEqual(index["manifests"][0]["digest"], words[2])
        manifest = json.loads(archive["blobs/sha256/" + words[2].removeprefix("sha256:")])
        layer = archive["blobs/sha256/" + manifest["layers"][0]["digest"].removeprefix("sha256:")]
        self.assertEqual(list(entries(layer, b"ODYLP1\n")), ["README.md", "agent.yaml", "bin/run"])

        self.assertEqual(self.ok("bundle", "rm", "my-cool-bundle"), "removed local/my-cool-bundle@0.1.0\n")
        self.assertEqual(self.ok("bundle", "list"), "no bundles installed\n")
        self.assertFalse(os.path.exists(installed))
        self.assertEqual(self.ok("bundle", "import", path), "imported local/my-cool-bundle@0.1.0\n")
        self.assertEqual(self.world.json("bundle", "inspect", "my-cool-bundle")["digest"], words[2])
        self.assertEqual(stat.S_IMODE(os.stat(installed + "/bin/run").st_mode), 0o755)

    def test_build_into_a_directory_needs_no_daemon(self):
        out = self.world.make_directory("built")
        words = self.ok("bundle", "build", self.source("elsewhere"), "--output", out).split()
        self.assertEqual(words[:2], ["built", "elsewhere@0.1.0"])
        self.assertEqual(words[3], out + "/local/elsewhere/0.1.0")
        self.assertIn("index.json", os.listdir(words[3] + "/.odyssey"))
        self.assertIn("elsewhere", self.ok("run", words[3], "--prompt", "x"))
        self.assertEqual(self.world.json("bundle", "inspect", words[3])["digest"], words[2])
        path = self.world.directory + "/of-a-directory.odyssey"
        self.ok("bundle", "export", words[3], "--output", path)
        self.ok("bundle", "import", path, "--digest", words[2])

    def test_an_archive_of_another_builder(self):
        source = self.source("foreign", [bundles.bash("bin/run"), bundles.say("@@${r.stdout}@@")],
                             mode="read_only", programs=["bin/run"])
        files = {"bin/run": b"#!/bin/sh\necho ran\n"}
        for name in ("README.md", "agent.yaml", "scenario.yaml"):
            with open(f"{source}/{name}", "rb") as file:
                files[name] = file.read()
        os.makedirs(source + "/bin", exist_ok=True)
        with open(source + "/odyssey.bundle.json5", encoding="utf-8") as file:
            manifest = json.load(file)
        path = self.world.directory + "/foreign.odyssey"
        with open(path, "wb") as file:
            file.write(foreign_archive(files, manifest))
        self.assertEqual(self.ok("bundle", "import", path), "imported team/foreign@0.1.0\n")
        self.assertIn("@@ran", self.ok("run", "team/foreign", "--prompt", "x"))

    def test_the_form_with_several_agents(self):
        source = self.world.make_directory("several")
        agents = []
        for name in ("one", "two"):
            agents.append({"id": name, "spec": f"agents/{name}/agent.yaml", "default": name == "two"})
            self.world.make(f"several/agents/{name}/agent.yaml", json.dumps({
                "apiVersion": "odyssey.ai/v1", "kind": "Agent", "metadata": {"name": name},
                "spec": {"kind": "prompt", "prompt": "x",
                         "model": {"provider": "script", "name": f"{name}.yaml"}}}))
            self.world.make(f"several/{name}.yaml", json.dumps({"scenario": 1, "steps": [bundles.say("I am " + name)]}))
        self.world.make("several/README.md", "# several")
        self.world.make("several/odyssey.bundle.yaml", json.dumps({
            "apiVersion": "odyssey.ai/bundle.v1", "kind": "AgentBundle",
            "metadata": {"name": "several", "version": "1.0.0", "readme": "README.md"},
            "spec": {"agents": agents, "sandbox": {"mode": "read_only", "system_tools_mode": "standard"}}}))
        self.ok("bundle", "install", source)
        path = self.world.directory + "/several.odyssey"
        self.ok("bundle", "export", "several", "--output", path)
        self.ok("bundle", "rm", "several")
        self.ok("bundle", "import", path)
        shown = self.world.json("bundle", "inspect", "several")
        self.assertEqual([(each["id"], each["is_default"]) for each in shown["agents"]],
                         [("one", False), ("two", True)])
        self.assertEqual(shown["manifest"]["kind"], "AgentBundle")
        self.assertIn("I am two", self.ok("run", "several", "--prompt", "x"))
        session = self.ok("session", "create", "several", "--agent", "one").strip()
        self.assertIn("I am one", self.ok("run", "several", "--session", session, "--prompt", "x"))


class ReferenceTest(StoreTest):

    def test_a_name_is_its_latest_version(self):
        source = self.source("ver")
        for version in ("0.2.0", "0.10.0", "1.0.0-rc.1"):
            self.set_version(source, version)
            self.ok("bundle", "install", source)
        for reference, version in (("ver", "1.0.0-rc.1"), ("ver@latest", "1.0.0-rc.1"),
                                   ("local/ver:0.2.0", "0.2.0"), ("local/ver@0.10.0", "0.10.0")):
            session = self.ok("session", "create", reference).strip()
            self.assertEqual(self.world.json("session", "show", session)["bundle_ref"], f"local/ver@{version}")
        digest_of = self.world.json("bundle", "inspect", "ver@0.2.0")["digest"]
        self.assertIn("ver", self.ok("run", digest_of, "--prompt", "x"))
        for reference in ("nothing", "ver@9.9.9", "team/ver", "sha256:" + "0" * 64):
            self.assertEnded(self.world.ctl("run", reference, "--prompt", "x"), 1, f"bundle not found: {reference}")

    def test_a_path_that_is_there_wins(self):
        self.ok("bundle", "install", self.source("same"))
        self.source("same", [bundles.say("from the directory")])
        done = self.world.ctl("run", "same", "--prompt", "x", cwd=self.world.directory)
        self.assertIn("from the directory", done.out)

    def test_an_archive_has_to_be_imported(self):
        path = self.world.directory + "/some.odyssey"
        with open(path, "wb") as file:
            file.write(encode([]))
        for name in (path, "missing.odyssey"):
            self.assertEnded(self.world.ctl("run", name, "--prompt", "x"), 1,
                             "bundle archives must be imported before use")


class ReplaceTest(StoreTest):

    def test_a_session_keeps_what_it_pinned(self):
        source = self.source("pinned", [bundles.say("first")])
        self.ok("bundle", "install", source)
        session = self.ok("session", "create", "pinned").strip()
        self.source("pinned", [bundles.say("second")])
        self.assertEnded(self.world.ctl("bundle", "install", source), 1, "is installed with digest")
        self.ok("bundle", "install", source, "--force")
        run = ("run", "pinned", "--session", session, "--prompt", "x")
        self.assertIn("first", self.ok(*run))
        self.assertIn("second", self.ok("run", "pinned", "--prompt", "x"))
        self.ok("bundle", "rm", "pinned")
        for each in self.world.json("session", "list")["sessions"]:
            if each["id"] != session:
                self.ok("session", "rm", each["id"])
        self.assertEqual(len(self.trees()), 1)
        self.assertEqual(self.world.down().code, 0)
        self.world.up()
        self.assertIn("first", self.ok("run", source, "--session", session, "--prompt", "x"))
        self.ok("session", "rm", session)
        self.assertEqual(self.trees(), [])
        self.assertEqual(os.listdir(f"{self.world.state}/agentd/bundles/blobs/sha256"), [])


    def test_a_swap_that_fails_leaves_the_old_one(self):
        source = self.source("stuck", [bundles.say("old")])
        directory = os.path.dirname(self.ok("bundle", "install", source).split()[3])
        self.source("stuck", [bundles.say("new")])
        if subprocess.run(["chattr", "+i", directory], check=False).returncode != 0:
            self.skipTest("no immutable directories here")
        try:
            self.assertEnded(self.world.ctl("bundle", "install", source, "--force"), 1, "Operation not permitted")
        finally:
            subprocess.run(["chattr", "-i", directory], check=True)
        self.assertIn("old", self.ok("run", "stuck", "--prompt", "x"))
        self.assertEqual(os.listdir(f"{self.world.state}/agentd/bundles/imports"), [])
        self.ok("bundle", "rm", "stuck")
        for each in self.world.json("session", "list")["sessions"]:
            self.ok("session", "rm", each["id"])


class RefusalTest(StoreTest):

    def refused(self, archive, *words):
        path = self.world.directory + "/bad.odyssey"
        with open(path, "wb") as file:
            file.write(archive)
        self.assertEnded(self.world.ctl("bundle", "import", path), 1, *words)
        store = f"{self.world.state}/agentd/bundles"
        self.assertEqual(os.listdir(store + "/imports"), [])

    def test_archives_that_are_none(self):
        ok = ("oci-layout", b"{}")
        bad = b'{"manifests":[{"digest":"%s","size":1}]}'
        self.refused(encode([("../escape.txt", b"x")]), "bundle archive entry escapes destination: ../escape.txt")
        self.assertFalse(os.path.exists(f"{self.world.state}/agentd/bundles/imports/escape.txt"))
        self.refused(encode([ok, ("index.json", bad % b"md5:abc")]), "unsupported digest format md5:abc")
        self.refused(encode([ok, ("index.json", bad % b"sha256:../../../../../etc/passwd")]), "invalid digest")
        self.refused(encode([ok, ("index.json", b'{"manifests":[]}')]), "oci index does not contain a manifest")
        self.refused(encode([ok, ("blobs/sha256/" + "0" * 64, b"x")]), "blob bytes do not match digest")
        self.refused(encode([ok])[:-1], "bundle entry is truncated")
        self.refused(encode([ok]) + b"x", "bundle archive contains trailing data")
        self.refused(b"ODYLP1\n", "invalid bundle archive header")

    def test_a_layer_writes_nothing_outside(self):
        manifest = {"id": "evil", "version": "1.0.0"}
        for path, words in (("../escape.txt", "payload entry path escapes destination: ../escape.txt"),
                            ("/etc/odyssey-escape", "payload entry path must be relative"),
                            (".odyssey/index.json", "is reserved")):
            self.refused(foreign_archive({path: b"x"}, manifest), words)
        self.refused(foreign_archive({"a": b"x"}, manifest, "../x"),
                     "bundle namespace must not contain path separators or traversal segments")

    def test_links_are_not_packed(self):
        source = self.source("linked")
        os.symlink("/etc/hostname", source + "/leak")
        for words in (("bundle", "build", source), ("run", source, "--prompt", "x")):
            self.assertEnded(self.world.ctl(*words), 1, "leak is a symbolic link")

    def test_metadata_is_hidden_from_cells(self):
        self.ok("bundle", "install",
                self.source("hidden", [bundles.bash("ls -A"), bundles.say("@@${r.stdout}@@")], mode="read_only"))
        out = self.ok("run", "hidden", "--prompt", "x")
        self.assertIn("agent.yaml", out)
        self.assertNotIn(".odyssey", out)


    def test_the_store_is_shown_to_no_cell(self):
        installed = self.ok("bundle", "install", self.source("secret")).split()[3]
        store = f"{self.world.state}/agentd/bundles"
        for path in (installed, store, store + "/installs", store + "/trees", store + "/blobs"):
            self.assertEnded(self.world.ctl("exec", "--read", path, "--", "true"), 125, path, "may not be shown")


class ClosedHomeTest(StoreTest):

    def test_a_bundle_that_agentd_cannot_read(self):
        home = self.world.make_directory("home")
        source = bundles.write(home + "/closed", [bundles.say("from a closed home")], bundle_id="closed")
        os.chmod(home, 0o700)
        self.assertNotEqual(host.uid(self.world.agentd), 0)
        self.assertIn("from a closed home", self.ok("run", source, "--prompt", "x"))
        self.ok("bundle", "install", source)
        self.assertIn("from a closed home", self.ok("run", "closed", "--prompt", "x"))


class OwnersTest(StoreTest):
    ANN, BOB = (54301, 54302)

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.up("--allow-user", str(cls.ANN), "--allow-user", str(cls.BOB))
        os.chmod(cls.world.directory, 0o755)

    def as_user(self, uid, *words):
        return self.world.ctl(*words, user=uid, group=uid, extra_groups=[], cwd="/",
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})

    def test_a_users_bundle_is_its_own(self):
        source = self.source("own")
        done = self.as_user(self.ANN, "bundle", "install", source)
        self.assertEqual(done.code, 0, done)
        digest, path = done.out.split()[2:]
        self.assertIn(f"/users/{self.ANN}/", path)
        self.assertEqual(self.as_user(self.BOB, "bundle", "list").out, "no bundles installed\n")
        for reference in ("own", digest):
            for words in (("run", reference, "--prompt", "x"), ("bundle", "export", reference, "--output", "/tmp"),
                          ("bundle", "rm", reference), ("bundle", "inspect", reference)):
                self.assertEnded(self.as_user(self.BOB, *words), 1, "bundle not found")
        self.assertEnded(self.world.ctl("exec", "--read", path, "--", "true"), 125, "may not be shown")
        self.assertIn("local/own@0.1.0", self.ok("bundle", "list"))
        self.assertIn("own", self.as_user(self.ANN, "run", "own", "--prompt", "x").out)

    def test_what_root_installs_is_for_all(self):
        self.ok("bundle", "install", self.source("common"))
        for uid in (self.ANN, self.BOB):
            done = self.as_user(uid, "run", "common", "--prompt", "x")
            self.assertIn("common", done.out, done)
            self.assertEnded(self.as_user(uid, "bundle", "rm", "common"), 1, "installed for every user")
        self.source("common", [bundles.say("of Bob")])
        self.assertEqual(self.as_user(self.BOB, "bundle", "install", self.world.directory + "/common").code, 0)
        self.assertIn("of Bob", self.as_user(self.BOB, "run", "common", "--prompt", "x").out)
        self.assertNotIn("of Bob", self.as_user(self.ANN, "run", "common", "--prompt", "x").out)


class MemoryTest(StoreTest):
    """A file of almost 256 MiB goes in and out, and agentd does not grow by it."""

    def peak(self):
        return host.peak_bytes(self.world.agentd) // MIB

    def test_a_large_file(self):
        source = self.source("large", mode="read_only")
        size = 255 * MIB
        with open(source + "/data", "wb") as file:
            file.truncate(size)
        before = self.peak()
        self.ok("bundle", "install", source)
        path = self.world.directory + "/large.odyssey"
        self.ok("bundle", "export", "large", "--output", path)
        self.assertGreater(os.path.getsize(path), size)
        self.ok("bundle", "rm", "large")
        self.ok("bundle", "import", path)
        self.assertEqual(os.path.getsize(
            self.world.json("bundle", "inspect", "large")["path"] + "/data"), size)
        self.assertIn("large", self.ok("run", "large", "--prompt", "x"))
        self.assertLess(self.peak() - before, 96)


if __name__ == "__main__":
    main()
