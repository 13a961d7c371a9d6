"""odyssey-ctl image: from a registry, from archives and layouts, in the store and out of it; through
the real daemons, skopeo and Debian's docker-registry.
"""

import base64
import gzip
import json
import os
import shutil
import signal
import subprocess

import bundles
import host
import image_maker
import registry_server
import terminal
import world
from host import HANG_S
from image_maker import Layer, Layout, busybox_layer
from network import OTHER, PRIVATE, PUBLIC, Network
from registry_server import PASSWORD, PLAIN_PORT, USER, Registry

PLAIN = f"registry.test:{PLAIN_PORT}"


class ImageTest(world.WorldTest):
    def image(self, *arguments, code=0, **options):
        done = self.world.ctl("image", *arguments, **options)
        self.assertEqual(done.code, code, done)
        return done

    def images(self):
        """Names → what the store says of the image."""
        images = self.world.json("image", "list")["images"]
        return {name: image for image in images for name in image["names"]}

    def assertNoCell(self):
        """What parsed the image has ended, and left no directory."""
        self.assertEqual(self.world.json("cell", "list")["cells"], [])

    def assertRefused(self, *arguments, words, **options):
        done = self.image(*arguments, code=1, **options)
        self.assertEqual(done.out, "")
        for word in words:
            self.assertIn(word, done.err)
        self.assertRegex(done.err, r"\Aodyssey-ctl: [^\n]*\n([^\n]*\n)?\Z")
        self.assertNoCell()
        return done


class RegistryTest(ImageTest):
    @classmethod
    def setUpClass(cls):
        cls.network = Network()
        cls.addClassCleanup(cls.network.close)
        cls.world = world.World(cls.network.prefix)
        cls.addClassCleanup(cls.world.close)
        cls.world.up()
        cls.registry = Registry(cls.network)
        cls.addClassCleanup(cls.registry.close)
        cls.layout = Layout(cls.world.make_directory("layout"))
        base = cls.layout.add("base", [busybox_layer(), Layer().add("greeting", "hello\n")],
                              Env=["PATH=/bin"], Cmd=["/bin/sh"])
        cls.digest = base
        cls.both = cls.layout.name(cls.layout.index(
            {"arm64": cls.layout.manifest([Layer().add("arch", "arm64\n")], architecture="arm64"),
             "amd64": cls.layout.manifest([Layer().add("arch", "amd64\n")])}), "both")
        cls.registry.push(cls.layout, "base", "base:1")
        cls.registry.push(cls.layout, "both", "both:1", "--all")


class PullTest(RegistryTest):
    def pull(self, *arguments, **options):
        return self.image("pull", *arguments, **options)

    def test_an_image_is_stored_and_named_with_its_digest(self):
        done = self.pull("--plain-http", f"{PLAIN}/base:1")
        self.assertEqual(done.out, f"{PLAIN}/base:1@{self.digest}\n")
        self.assertEqual(done.err, "")
        stored = self.images()[f"{PLAIN}/base:1"]
        self.assertEqual(stored["digest"], self.digest)
        self.assertEqual([layer["entries"] for layer in stored["layers"]], [16, 1])
        self.assertNoCell()
        again = self.world.json("image", "pull", "--plain-http", f"{PLAIN}/base:1", "--as", "again")
        self.assertEqual(again["sent_bytes"], 0)
        self.assertEqual(self.images()["again:latest"]["digest"], self.digest)

    def connections(self):
        records = self.world.ctl("-o", "json", "audit", "tail", "-n", "10000").lines()
        return [(record["host"], record["port"], record["verdict"]) for record in records
                if record["type"] == "egress"]

    def test_the_registry_alone_is_reached(self):
        before = len(self.connections())
        self.pull("--plain-http", "--registry", PLAIN, "base:1")
        self.assertIn("base:1", self.images())
        host.eventually(lambda: len(self.connections()) > before, HANG_S, self.connections)
        self.assertEqual(set(self.connections()[before:]), {("registry.test", PLAIN_PORT, "allowed")})

    def test_a_digest_is_asked_for_and_no_other_taken(self):
        done = self.pull("--plain-http", f"{PLAIN}/base@{self.digest}")
        self.assertEqual(done.out, self.digest + "\n")
        other = "sha256:" + "0" * 64
        self.assertRefused("pull", "--plain-http", f"{PLAIN}/base@{other}",
                           words=["manifest unknown", "There is no such tag or digest"])

    def test_of_an_index_the_platforms_image(self):
        self.assertRefused("pull", "--plain-http", f"{PLAIN}/both:1", "--platform", "linux/arm64",
                           words=["config.architecture: arm64", "amd64"])
        two = self.world.json("image", "pull", "--plain-http", f"{PLAIN}/both:1")["image"]
        self.assertEqual(two["architecture"], "amd64")
        pinned = self.world.json("image", "pull", "--plain-http", f"{PLAIN}/both@{self.both}")
        self.assertEqual(pinned["image"]["digest"], two["digest"])
        self.assertRefused("pull", "--plain-http", f"{PLAIN}/both:1", "--platform", "linux/mips",
                           words=["none is of linux/mips", "linux/arm64"])

    def test_over_tls_under_the_hosts_certificates(self):
        self.registry.serve(PUBLIC, 443, tls=True)
        self.assertEqual(self.pull("registry.test/base:1", "--as", "tls").out,
                         f"tls@{self.digest}\n")

    def test_credentials_come_from_a_file(self):
        self.registry.serve(PUBLIC, 5443, tls=True, password=True)
        self.assertRefused("pull", "registry.test:5443/base:1",
                           words=["--authfile FILE gives credentials"])
        auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        file = self.world.make("auth.json", json.dumps(
            {"auths": {"registry.test:5443": {"auth": auth}, "other.test": {"auth": "eA=="}}}))
        done = self.pull("registry.test:5443/base:1", "--authfile", file, "--as", "mine")
        self.assertEqual(done.out, f"mine@{self.digest}\n")
        self.assertRefused("pull", "--plain-http", f"{PLAIN}/base:1", "--authfile", file,
                           words=[f"has no credentials for {PLAIN}"])

    def test_where_the_registry_leads_to_is_named(self):
        self.registry.serve(PUBLIC, 5444, tls=True, redirect="https://blobs.registry.test/")
        self.network.serve(OTHER, 443, "files", program=registry_server.__file__)
        reference = "registry.test:5444/both:1"
        self.assertRefused("pull", reference, "--as", "led",
                           words=["--reach blobs.registry.test:443"])
        self.pull(reference, "--as", "led", "--reach", "blobs.registry.test:443")
        self.assertIn("led:latest", self.images())

    def test_a_registry_in_a_private_network(self):
        self.registry.serve(PRIVATE, PLAIN_PORT)
        self.pull("--plain-http", f"inside.registry.test:{PLAIN_PORT}/base:1", "--as", "inside")

    def test_a_signature_that_the_operator_wants_is_fetched(self):
        key, public = self.world.directory + "/key.pem", self.world.directory + "/public.pem"
        subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key],
                       check=True, capture_output=True)
        subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", public], check=True,
                       capture_output=True)
        os.chmod(public, 0o644)
        ceiling = self.world.make("state/policy.d/30.yaml", f"""version: odyssey.ceiling/v1
images:
  require:
    - {{name: "{PLAIN}/signed*", key: {public}}}
""")
        self.addCleanup(os.remove, ceiling)
        image = self.layout.manifest([Layer().add("signed", "by a person\n")])
        self.registry.put(self.layout, image, "signed", "1")
        reference = f"{PLAIN}/signed:1"
        self.assertRefused("pull", "--plain-http", reference, words=["signature"])
        signature = self.layout.signature(image["digest"], key, self.world.directory)
        self.registry.put(self.layout, signature, "signed",
                          image["digest"].replace(":", "-") + ".sig")
        done = self.pull("--plain-http", reference)
        self.assertEqual(done.out, f"{reference}@{image['digest']}\n")
        self.assertIn("signed by", self.image("inspect", reference).out)
        # The rule holds for the name that is given with the digest of another image.
        self.image("load", self.layout.directory, "--name", "base", "--as", "unsigned:1")
        given = f"{PLAIN}/signed@{self.digest}"
        done = self.world.ctl("exec", "--image", given, "--", "true")
        self.assertEqual(done.code, 125, done)
        self.assertIn("wants a signature", done.err)
        self.assertEqual(self.world.ctl("exec", "--image", "unsigned@" + self.digest, "--", "true").code, 0)
        # Pulled by its digest alone, an image has its signatures too.
        self.image("rm", reference)
        pinned = f"{PLAIN}/signed@{image['digest']}"
        self.pull("--plain-http", pinned)
        done = self.world.ctl("exec", "--image", pinned, "--", "/signed")
        self.assertEqual(done.code, 126, done)  # a cell is made; the file of the image is no program

    def test_what_is_no_registry(self):
        self.network.serve(PUBLIC, 7000, "http")
        self.assertRefused("pull", "--plain-http", "registry.test:7000/base:1", words=["manifest: is no JSON"])
        self.network.serve(PUBLIC, 7001, "silent", program=registry_server.__file__)
        self.assertRefused("pull", "--plain-http", "--timeout", "1s", "registry.test:7001/base:1",
                           words=["the registry sent nothing for", "--timeout"])
        self.assertRefused("pull", f"{PLAIN}/base:1", words=["--plain-http"])
        for gone in ("registry.test:7099", "nowhere.test"):
            done = self.assertRefused("pull", "--plain-http", f"{gone}/base:1", words=[gone])
            self.assertNotIn("--reach", done.err)

    def test_references_are_refused_in_the_words_of_who_typed_them(self):
        for reference, words in (("base:1", ["names no registry", "--registry HOST[:PORT]"]),
                                 ("registry.test/a\nb", [r'REF "registry.test/a\nb"']),
                                 ("127.0.0.1:5000/a", ["127.0.0.1"])):
            self.assertRefused("pull", reference, words=words)
        self.assertRefused("pull", "registry.test/a", "--platform", "x", words=["--platform \"x\""])
        self.assertRefused("pull", "registry.test/a", "--reach", "x", words=["--reach x"])

    def test_an_interrupted_pull_leaves_no_cell(self):
        self.network.serve(PUBLIC, 7002, "silent", program=registry_server.__file__)
        client = self.world.start("image", "pull", "--plain-http", "registry.test:7002/base:1")
        host.eventually(lambda: self.world.cell_commands("skopeo"), HANG_S, lambda: client.err)
        client.process.send_signal(signal.SIGINT)
        done = client.ended()
        self.assertEqual((done.code, done.out, done.err), (130, "", ""))
        self.assertNoCell()


class MissingTest(RegistryTest):
    """What is not in the store is pulled when a command needs it, under the certificates that the host trusts."""

    HOST = "registry.test:5445"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.registry.serve(PUBLIC, 5445, tls=True)
        for name in ("run", "kept", "agent", "from", "copied", "project", "session", "named", "owned", "other",
                     "pinned"):
            cls.registry.push(cls.layout, "base", name + ":1")

    def argv_in(self, directory, *arguments, approve=False):
        """As world.argv, in a directory: nsenter goes to / with the mounts."""
        approval = "1" if approve else "0"
        return [shutil.which("nsenter"), *self.world.prefix[1:], "env", "-C", directory, f"HOME={self.world.directory}",
                f"ODEK_APPROVE_PROJECT_SANDBOX={approval}", world.CTL, "--state", self.world.state, *arguments]

    def exec(self, *arguments, code=0, cwd="/", approve=False):
        done = subprocess.run(self.argv_in(cwd, "exec", *arguments, approve=approve), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=HANG_S, check=False)
        done = world.Ended(done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.code, code, done)
        return done

    def assertNoCell(self):
        """But those of sessions."""
        cells = self.world.json("cell", "list")["cells"]
        self.assertEqual([cell for cell in cells if not cell["key"]["session_id"].startswith("ses_")], [])

    def requests(self):
        """How often the registry was connected to."""
        records = self.world.ctl("-o", "json", "audit", "tail", "-n", "10000").lines()
        return sum(record["type"] == "egress" for record in records)

    def test_exec_pulls_what_the_store_has_not_and_only_once(self):
        name = self.HOST + "/run:1"
        done = self.exec("--image", name, "--", "cat", "/greeting")
        self.assertEqual((done.out, done.err), ("hello\n", ""))
        self.assertEqual(self.images()[name]["digest"], self.digest)
        self.assertNoCell()
        host.eventually(lambda: self.requests() > 0, HANG_S, "the pull is in the audit log")
        before = self.requests()
        self.assertEqual(self.exec("--image", name, "--", "cat", "/greeting").out, "hello\n")
        self.assertEqual(self.requests(), before)

    def test_of_a_name_with_a_digest_the_digest_counts(self):
        name = f"{self.HOST}/pinned@{self.digest}"
        self.assertEqual(self.exec("--image", name, "--", "cat", "/greeting").out, "hello\n")
        self.assertNotIn(self.HOST + "/pinned:latest", self.images(), "a digest moves no tag")
        self.assertEqual(self.exec("--image", "any:1@" + self.digest, "--", "cat", "/greeting").out, "hello\n")
        other = "sha256:" + "0" * 64
        done = self.exec("--image", f"{self.HOST}/pinned@{other}", "--", "true", code=125)
        self.assertIn(f"exec --image {self.HOST}/pinned@{other}: pull: ", done.err)
        done = self.exec("--image", "base@sha256:12", "--", "true", code=125)
        self.assertIn("after @ give sha256: and 64 lower-case hex digits", done.err)

    def test_a_name_that_the_store_has_is_never_refreshed(self):
        name = self.HOST + "/kept:1"
        old = self.layout.add("old", [busybox_layer(), Layer().add("greeting", "old\n")],
                              Env=["PATH=/bin"])
        self.image("load", self.layout.directory, "--name", "old", "--as", name)
        self.assertEqual(self.exec("--image", name, "--", "cat", "/greeting").out, "old\n")
        self.assertEqual(self.images()[name]["digest"], old)

    def test_never_pulls_nothing(self):
        for arguments in (("--image", self.HOST + "/other:1", "--pull", "never"),
                          ("--image", self.HOST + "/other:1", "--explain"),
                          ("--image", "other:1"), ("--image", "team/other:1")):
            done = self.exec(*arguments, "--", "true", code=125)
            self.assertIn("has no such image", done.err)
            self.assertIn("odyssey-ctl image pull", done.err)
        self.assertNotIn(self.HOST + "/other:1", self.images())

    def test_a_failure_is_that_of_image_pull(self):
        for name, *words in ((self.HOST + "/run:none", "manifest unknown", "no such tag or digest"),
                             (PLAIN + "/run:1", "--plain-http", f"odyssey-ctl image pull {PLAIN}/run:1"),
                             ("nowhere.test/run", "nowhere.test")):
            done = self.exec("--image", name, "--", "true", code=125)
            self.assertTrue(done.err.startswith(f"odyssey-ctl: exec --image {name}: pull: "), done)
            for word in words:
                self.assertIn(word, done.err)
            self.assertNoCell()

    def test_an_interrupt_ends_the_pull(self):
        self.network.serve(PUBLIC, 7003, "silent", program=registry_server.__file__)
        bundle = bundles.write(f"{self.world.directory}/interrupted", [bundles.say("done")],
                               image="registry.test:7003/a:1")
        context = self.world.make_directory("interrupted-build")
        self.world.make("interrupted-build/Dockerfile", "FROM registry.test:7003/a:1\n")
        for command in (("exec", "--image", "registry.test:7003/a:1", "--", "true"),
                        ("image", "build", context), ("run", bundle, "--prompt", "go"),
                        ("session", "create", bundle)):
            client = self.world.start(*command)
            host.eventually(lambda: self.world.cell_commands("skopeo"), HANG_S, lambda: client.err)  # pylint: disable=cell-var-from-loop
            client.process.send_signal(signal.SIGINT)
            done = client.ended()
            self.assertEqual((done.code, done.out, done.err), (130, "", ""), command)
            self.assertNoCell()

    def test_a_policy_names_it(self):
        name = self.HOST + "/named:1"
        policy = self.world.make("named.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n"
                                 f"  image: {name}\n  system_tools_mode: standard\n")
        done = self.exec("--policy", policy, "--pull", "never", "--", "true", code=125)
        self.assertIn("has no such image", done.err)
        self.assertEqual(self.exec("--policy", policy, "--", "cat", "/greeting").out, "hello\n")
        wrong = self.world.make("wrong.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n"
                                f"  image: {self.HOST}/named:none\n  system_tools_mode: standard\n")
        done = self.exec("--policy", wrong, "--", "true", code=125)
        self.assertIn(f"wrong.yaml:3: sandbox.image: {self.HOST}/named:none: pull: ", done.err)

    def test_a_project_is_approved_before_anything_is_pulled(self):
        name = self.HOST + "/project:1"
        project = self.world.make_directory("project")
        self.world.make("project/odek.json", json.dumps({"sandbox_image": name}))
        done = self.exec("--policy", "odek.json", "--", "true", code=125, cwd=project)
        self.assertIn("another image than your own", done.err)
        self.assertNotIn(name, self.images())
        done = self.exec("--policy", "odek.json", "--", "cat", "/greeting", cwd=project, approve=True)
        self.assertEqual(done.out, "hello\n")

    def test_a_dockerfile_of_a_project_is_approved_before_its_images_are_pulled(self):
        name = self.HOST + "/owned:1"
        project = self.world.make_directory("built-project")
        self.world.make("built-project/odek.json", "{}")
        self.world.make("built-project/Dockerfile.odek", f"FROM {name}\nRUN echo more >/more\n")
        arguments = ("exec", "--policy", "odek.json", "--", "cat", "/more")
        done = self.exec(*arguments[1:], code=125, cwd=project)
        self.assertIn(f"of {name} (pulled first)", done.err)
        self.assertNotIn(name, self.images())
        done = self.exec("--pull", "never", *arguments[1:], code=125, cwd=project)
        self.assertIn("no such image in the store", done.err)
        # Approved for good, it is not asked about again: its digest is what was pulled.
        asking = terminal.Terminal(self.argv_in(project, *arguments))
        asking.until("Allow it?")
        self.assertNotIn(name, self.images())
        asking.type("t\n")
        self.assertEqual(asking.ended(), 0, asking.text)
        self.assertIn("more", asking.text)
        self.assertIn(name, self.images())
        self.assertEqual(self.exec(*arguments[1:], cwd=project).out, "more\n")
        # What is pulled another time is another question.
        self.image("rm", name)
        self.exec(*arguments[1:], code=125, cwd=project)

    def test_a_build_pulls_what_it_begins_with_and_copies_from(self):
        context = self.world.make_directory("build")
        first, second = self.HOST + "/from:1", self.HOST + "/copied:1"
        self.world.make("build/Dockerfile", f"FROM {first}\nCOPY --from={second} /greeting /copied\n")
        done = self.image("build", "--pull", "never", context, code=1)
        self.assertIn("no such image in the store", done.err)
        self.image("build", "-t", "built:1", context)
        self.assertEqual(self.exec("--image", "built:1", "--", "cat", "/copied").out, "hello\n")
        self.assertLessEqual({first, second}, set(self.images()))
        self.world.make("build/Dockerfile", f"FROM {first}\nCOPY --from={self.HOST}/copied:none /a /\n")
        done = self.image("build", context, code=1)
        self.assertIn(f"image build: {context}/Dockerfile:2: COPY --from={self.HOST}/copied:none /a /: pull: ",
                      done.err)
        self.assertIn("There is no such tag or digest.", done.err)

    def test_a_session_pulls_the_image_of_its_bundle(self):
        name = self.HOST + "/agent:1"
        bundle = bundles.write(f"{self.world.directory}/agent",
                               [bundles.bash("cat /greeting"), bundles.say("done")], image=name)
        created = self.world.ctl("session", "create", "--pull", "never", bundle)
        self.assertEqual(created.code, 0, created)
        self.assertNotIn(name, self.images())
        done = self.world.ctl("run", bundle, "--prompt", "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertIn("hello", done.out)
        self.assertEqual(self.images()[name]["digest"], self.digest)
        # Of an installed bundle agentd has the manifest.
        self.image("rm", name)
        installed = self.world.ctl("bundle", "install", bundle)
        self.assertEqual(installed.code, 0, installed)
        done = self.world.ctl("run", "probe", "--prompt", "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        self.assertIn(name, self.images())
        self.image("rm", name)
        wrong = bundles.write(f"{self.world.directory}/wrong", [bundles.say("done")],
                              image=self.HOST + "/agent:none")
        done = self.world.ctl("run", wrong, "--prompt", "go")
        self.assertEnded(done, 1, f"image {self.HOST}/agent:none: pull: ", "no such tag or digest")

    def test_a_command_in_a_session_has_the_image_of_its_policy(self):
        name = self.HOST + "/session:1"
        # The directories of a session are of one image.
        self.image("load", self.layout.directory, "--name", "base", "--as", "own:1")
        bundle = bundles.write(f"{self.world.directory}/operated", [bundles.say("done")], image="own:1",
                               bundle_id="operated")
        session = self.world.ctl("session", "create", bundle).out.strip()
        policy = self.world.make("session.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  mode: workspace_write\n"
                                 f"  image: {name}\n  system_tools_mode: standard\n")
        command = ("session", "exec", "--policy", policy, session, "--", "cat", "/greeting")
        done = self.world.ctl(*command[:2], "--pull", "never", *command[2:])
        self.assertEnded(done, 125, "has no such image")
        done = self.world.ctl(*command)
        self.assertEqual((done.code, done.out), (0, "hello\n"), done)
        self.assertIn(name, self.images())
        self.assertEqual(self.world.ctl("session", "rm", session).code, 0)


class LoadTest(ImageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.layout = Layout(cls.world.make_directory("layout"))
        cls.one = cls.layout.add("one:1", [busybox_layer()], Cmd=["/bin/sh"])
        cls.two = cls.layout.add("two:1", [Layer().add("two", "2\n")])

    def tearDown(self):
        self.assertNoCell()

    def load(self, *arguments, **options):
        return self.image("load", *arguments, **options).out.splitlines()

    def test_each_image_of_a_layout(self):
        self.assertEqual(self.load(self.layout.directory),
                         [f"one:1@{self.one}", f"two:1@{self.two}"])
        self.assertEqual(self.load(self.layout.directory, "--name", "two:1", "--as", "mine"),
                         [f"mine@{self.two}"])
        self.assertRefused("load", self.layout.directory, "--as", "mine",
                           words=["there are 2 images", "one:1, two:1"])
        self.assertRefused("load", self.layout.directory, "--name", "three",
                           words=['--name "three"', "one:1, two:1"])

    def test_archives_of_both_kinds(self):
        docker = image_maker.archive("docker-archive", self.layout, {"one:1": "docker/one:1"},
                                     self.world.directory + "/docker.tar")
        self.assertRegex(self.load(docker)[0], r"^docker\.io/docker/one:1@sha256:[0-9a-f]{64}$")
        oci = self.world.directory + "/with:colon.tar"  # which skopeo takes for the end of the path
        os.rename(image_maker.archive("oci-archive", self.layout, {"one:1": "archived:1"},
                                      self.world.directory + "/oci.tar"), oci)
        self.assertEqual(self.load(oci), [f"archived:1@{self.one}"])
        with open(docker, "rb") as file:
            packed = self.world.make("docker.tar.gz", gzip.compress(file.read()))
        self.assertRegex(self.load(packed, "--as", "packed")[0], "^packed@sha256:")

    def test_several_images_in_one_archive(self):
        path = self.world.directory + "/several.tar"
        image_maker.skopeo("copy", "--insecure-policy", "--additional-tag", "docker.io/b/other:1",
                           f"oci:{self.layout.directory}:one:1", f"docker-archive:{path}:a/first:1")
        names = [line.split("@")[0] for line in self.load(path)]
        self.assertEqual(sorted(names), ["docker.io/a/first:1", "docker.io/b/other:1"])
        self.assertRegex(self.load(path, "--name", "docker.io/b/other:1", "--as", "chosen")[0],
                         "^chosen@")

    def test_stdin(self):
        path = image_maker.archive("oci-archive", self.layout, {"two:1": "piped:1"},
                                   self.world.directory + "/piped.tar")
        with open(path, "rb") as file:
            self.assertEqual(self.load("-", input=file), [f"piped:1@{self.two}"])
        self.assertRefused("load", "-", words=["stdin: it is empty"])

    def test_what_is_no_image(self):
        for name, content, words in (("empty", b"", "it is empty"),
                                     ("text", b"hello\n", "it is no tar"),
                                     ("zeros", b"\0" * 10240, "neither index.json nor")):
            self.assertRefused("load", self.world.make(name, content), words=[words])
        self.assertRefused("load", self.world.make_directory("bare"),
                           words=["index.json: No such file"])
        self.assertRefused("load", "/nowhere/x.tar", words=["/nowhere"])
        os.mkfifo(self.world.directory + "/fifo")
        self.assertRefused("load", self.world.directory + "/fifo", words=["fifo"])

    def test_no_link_of_a_layout_is_followed(self):
        secret = self.world.make("secret", "content of another\n")
        layout = Layout(self.world.make_directory("linked"))
        with open(secret, "rb") as file:
            stolen = layout.put(file.read(), image_maker.TAR)
        os.remove(layout.path(stolen["digest"]))
        os.symlink(secret, layout.path(stolen["digest"]))
        config = layout.put(json.dumps(
            {"os": "linux", "architecture": "amd64",
             "rootfs": {"diff_ids": [stolen["digest"]]}}).encode(), image_maker.CONFIG)
        manifest = layout.put(json.dumps({"schemaVersion": 2, "config": config,
                                          "layers": [stolen]}).encode(), image_maker.MANIFEST)
        layout.name(manifest, "linked:1")
        self.assertRefused("load", layout.directory, words=["is a link"])

    def test_a_layout_that_lies(self):
        layout = Layout(self.world.make_directory("lying"))
        layout.add("lying:1", [Layer("none").add("x", "content\n")])
        with open(layout.directory + "/index.json", encoding="utf-8") as file:
            digest = json.load(file)["manifests"][0]["digest"]
        with open(layout.path(digest), "rb") as file:
            manifest = json.load(file)
        layer = layout.path(manifest["layers"][0]["digest"])
        size = os.path.getsize(layer)
        with open(layer, "r+b") as file:
            file.write(b"X")
        self.assertRefused("load", layout.directory, words=[manifest["layers"][0]["digest"]])
        with open(layer, "r+b") as file:
            file.truncate(5 << 30)  # without a byte on the disk
        self.assertRefused("load", layout.directory, words=[f"its manifest says {size}"])
        with open(layout.path(digest), "ab") as file:
            file.write(b" ")
        self.assertRefused("load", layout.directory, words=[digest])
        self.assertNotIn("lying:1", self.images())

    def test_an_index_in_itself(self):
        layout = Layout(self.world.make_directory("cycle"))
        inner = layout.index({})
        for _ in range(6):
            inner = layout.put(json.dumps({"schemaVersion": 2, "manifests": [inner]}).encode(),
                               image_maker.INDEX)
        layout.name(inner, "cycle:1")
        self.assertRefused("load", layout.directory, words=["more than 4 deep"])

    def test_an_entry_that_leads_out_is_refused_by_its_name(self):
        layout = Layout(self.world.make_directory("leading"))
        layout.add("leading:1", [Layer().add("../../../etc/evil", "x")])
        self.assertRefused("load", layout.directory, words=["../../../etc/evil"])

    def test_a_name_with_a_line_feed(self):
        layout = Layout(self.world.make_directory("named"))
        layout.add("a\nb", [Layer("none").add("x", "content\n")])
        done = self.assertRefused("load", layout.directory, words=["a\\nb"])
        self.assertNotIn("a\nb", done.err)


class StoreTest(ImageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.layout = Layout(cls.world.make_directory("layout"))
        cls.digest = cls.layout.add("base:1", [busybox_layer()], Env=["PATH=/bin", "A=\x1b[31mred"],
                                    User="app", WorkingDir="/home/app", Cmd=["/bin/sh", "-c", "id"],
                                    Labels={"a": "b"})

    def setUp(self):
        self.image("load", self.layout.directory)

    def test_inspect(self):
        text = self.image("inspect", "base:1").out
        for line in ("name         base:1", f"digest       {self.digest}",
                     "platform     linux/amd64", "user         app", "directory    /home/app",
                     'command      ["/bin/sh","-c","id"]', "             A=\\e[31mred"):
            self.assertIn(line + "\n", text)
        json_of = self.world.json("image", "inspect", self.digest)
        self.assertEqual(json_of["image"]["names"], ["base:1"])
        self.assertEqual(json_of["config"]["config"]["Labels"], {"a": "b"})
        self.assertEqual(len(json_of["manifest"]["layers"]), 1)

    def test_list(self):
        out = self.image("list").out
        self.assertIn("base:1", out)
        self.assertIn(self.digest[:19], out)
        self.assertIn("used ", out)

    def test_what_is_not_there(self):
        for verb in ("inspect", "rm"):
            done = self.image(verb, "nothing", code=1)
            self.assertIn("nothing", done.err)
            self.assertIn("image list lists the images", done.err)

    def test_a_name_that_is_too_long_is_shown_in_part(self):
        name = "a" * 100000
        for command in (("image", "inspect", name), ("image", "rm", name), ("exec", "--image", name, "--", "true"),
                        ("image", "build", "-t", name, self.layout.directory, "-f", "/dev/stdin")):
            done = self.world.ctl(*command, input="FROM none\n")
            self.assertIn("100000 bytes; at most 456 are allowed", done.err)
            self.assertLess(len(done.err), 300)

    def test_an_image_is_refused_by_its_option(self):
        for arguments, words in ((("--image", "nothing:1"), "--image: nothing:1: "),
                                 (("--image", "base:1", "--image-user", "none"), "--image-user: none: "),
                                 (("--image-user", "5"), "exec: --image-user: only with --image\n")):
            done = self.world.ctl("exec", *arguments, "--", "true")
            self.assertEnded(done, 125, words)
            self.assertNotIn("image.", done.err)

    def test_rm_and_gc(self):
        self.image("load", self.layout.directory, "--as", "other")
        done = self.image("rm", "base:1", "nothing", "other", code=1)
        self.assertEqual(done.out, f"removed base:1\nremoved other:latest\nremoved {self.digest}\n")
        self.assertIn("nothing", done.err)
        self.assertEqual(self.images(), {})
        self.assertRegex(self.image("gc").out, r"^removed 1 layer, freed [\d.]+ [KM]iB\n$")
        self.assertEqual(self.image("gc").out, "removed 0 layers, freed 0 B\n")

    def test_a_session_is_no_cell(self):
        done = self.image("commit", "ses_0123456789abcdef", "x", code=1)
        self.assertIn("expected a cell", done.err)


if __name__ == "__main__":
    world.main()
