"""Cells whose root is a container image: what they see, who they are, and where their writes go."""

import json
import os

import bundles
import host
import world
from image_maker import Layer, Layout, busybox_layer

FIRST_ID = 0x70000000 + (1 << 24)  # of the ranges of ids, above the uids of cells
PROGRAMS = ("awk", "chmod", "cp", "cut", "env", "find", "grep", "head", "ln", "mkdir", "mv", "nc", "printf", "rm", "sed", "seq", "sleep",
            "sort", "tail", "test", "touch", "tr", "uniq", "wc", "xargs")


def test_layer():
    layer = busybox_layer()
    for program in PROGRAMS:
        layer.link("bin/" + program, "busybox")
    layer.directory("var/tmp", mode=0o1777)
    layer.add("etc/nsswitch.conf", "hosts: files dns\n")
    layer.directory("srv", uid=1000, gid=1000)
    layer.add("srv/of-app", "app's\n", mode=0o600, uid=1000, gid=1000)
    layer.add("etc/of-root", "root's\n", mode=0o600)
    return layer.add("etc/group", "root:x:0:\napp:x:1000:\nstaff:x:50:\n")


class ImageCellTest(world.WorldTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.layout = Layout(cls.world.make_directory("layout"))
        cls.layout.add("base:1", [test_layer()], Env=["PATH=/bin", "GREETING=hello"])
        cls.layout.add("user:1", [test_layer()], Env=["PATH=/bin"], User="app:staff")
        # Where a cell has mounts and files of its own this one has links, and files in place of directories.
        hostile = test_layer()
        hostile.link("workspace", "etc").link("cell", "etc").link(".odyssey", "etc").link(".proc", "etc")
        hostile.link("sys", "etc").add("dev", "no directory\n")
        hostile.link("etc/hosts", "of-root").link("etc/resolv.conf", "../etc/of-root")
        cls.layout.add("hostile:1", [hostile, Layer().whiteout("tmp").link("tmp", "etc")],
                       Env=["PATH=/bin"])
        done = cls.world.ctl("image", "load", cls.layout.directory)
        assert done.code == 0, done

    def run_in(self, *arguments, image="base:1", code=0, **options):
        done = self.world.ctl("exec", "--image", image, *arguments, **options)
        self.assertEqual(done.code, code, done)
        return done.out

    def shell(self, text, *options, **more):
        return self.run_in(*options, "--", "sh", "-c", text, **more)

    def test_the_root_is_the_image(self):
        out = self.shell("ls -A /; cat /etc/passwd; echo $GREETING; pwd; echo $HOME")
        names = out.split()
        for name in ("bin", "etc", "srv", "proc", "dev", "workspace", "cell", "hello", "/workspace",
                     "/cell/data/home"):
            self.assertIn(name, names)
        for name in ("usr", "lib", "opt", "run"):
            self.assertNotIn(name, names)
        self.assertIn("app:x:1000", out)
        self.assertIn("localhost", self.shell("cat /etc/hosts"))

    def test_files_have_their_owners_and_no_uid_of_the_host(self):
        out = self.shell("stat -c %u:%g /srv /srv/of-app /etc/of-root; cat /etc/of-root")
        self.assertEqual(out.split(), ["1000:1000", "1000:1000", "0:0", "root's"])
        layers = f"{self.world.state}/supervisor/cells/images"
        owners = set()
        for directory, _, files in os.walk(layers):
            for name in files:
                owners.add(os.lstat(os.path.join(directory, name)).st_uid)
        self.assertEqual(owners, {FIRST_ID, FIRST_ID + 1000})

    def test_root_of_the_cell_is_no_root_of_the_host(self):
        self.assertEqual(self.shell("id -u; grep Cap /proc/self/status; cat /proc/self/uid_map").split()[0], "0")
        status = self.shell("cat /proc/self/status")
        for line in status.splitlines():
            if line.startswith("Cap"):
                self.assertEqual(int(line.split()[1], 16), 0, line)
        running = self.world.start("exec", "--image", "base:1", "--", "sleep", "98765")
        self.addCleanup(running.kill)
        [pid] = host.eventually(
            lambda: [pid for pid in host.pids() if host.command_line(pid) == ["sleep", "98765"]],
            host.HANG_S, "sleep runs")
        self.assertGreaterEqual(host.uid(pid), FIRST_ID + 65536)
        # What it may not do to the image's other users' files it may not.
        self.assertIn("Permission denied", self.world.ctl(
            "exec", "--image", "base:1", "--", "cat", "/srv/of-app").err)

    def test_root_of_the_cell_writes_to_no_file_of_the_kernel(self):
        files = "/proc/self/uid_map /proc/self/oom_score_adj /proc/sys/fs/mqueue/msg_max /proc/sys/kernel/hostname"
        text = f"for file in {files}; do (: >$file) 2>/dev/null && echo $file; done; echo done"
        self.assertEqual(self.shell(text, "--tools", "all"), "done\n")

    def test_the_user_is_the_images_or_the_policys(self):
        self.assertEqual(self.shell("id -u; id -g", image="user:1").split(), ["1000", "50"])
        self.assertEqual(self.shell("cat /srv/of-app", "--image-user", "app").strip(), "app's")
        self.assertEqual(self.shell("id -u; id -g", "--image-user", "7:8").split(), ["7", "8"])
        self.assertEqual(self.shell("id -u", "--image-user", "root", image="user:1").strip(), "0")
        refused = self.world.ctl("exec", "--image", "base:1", "--image-user", "nosuch", "--", "id")
        self.assertEqual(refused.code, 125)
        self.assertIn("nosuch", refused.err)

    def test_links_of_an_image_lead_no_mount_away(self):
        out = self.shell(
            "cat /etc/of-root /etc/hosts /etc/resolv.conf; touch /workspace/x /tmp/y; ls /etc /workspace /tmp",
            image="hostile:1")
        self.assertIn("root's\n127.0.0.1 localhost", out)
        self.assertIn("nameserver", out)
        etc = out.split("/etc:")[1].split("/tmp:")[0].split()
        self.assertNotIn("x", etc)
        self.assertNotIn("y", etc)
        self.assertNotIn("cell-init", etc)

    def test_programs_are_the_images_and_cannot_be_written(self):
        text = "cp /bin/busybox /root/cat; /root/cat /dev/null; echo $?; touch /bin/x; echo $?"
        self.assertEqual(self.shell(text, "--tools", "standard").split(), ["126", "1"])
        self.assertEqual(self.shell(text, "--tools", "all").split(), ["0", "0"])

    def test_explicit_is_the_named_programs_of_the_image_alone(self):
        # A program apart from busybox, which is one file for all the others; and a script.
        layer = test_layer().directory("usr").directory("usr/bin")
        with open("/bin/busybox", "rb") as file:
            layer.add("usr/bin/busybox", file.read(), mode=0o755)
        layer.add("usr/bin/script", "#!/usr/bin/busybox sh\necho of the script\n", mode=0o755)
        layer.add("usr/bin/nothing", "#!/usr/bin/missing\n", mode=0o755)
        layer.directory("opt").directory("opt/image").add("opt/image/own", "#!/bin/sh\necho own\n", mode=0o755)
        self.layout.add("programs:1", [layer], Env=["PATH=/usr/bin:/bin"])
        self.assertEqual(self.world.ctl("image", "load", self.layout.directory, "--name", "programs:1").code, 0)

        def explicit(text, *tools, code=0):
            names = [word for tool in tools for word in ("--tool", tool)]
            done = self.world.ctl("exec", "--image", "programs:1", "--tools", "explicit", *names, "--", "sh", "-c", text)
            self.assertEqual(done.code, code, done)
            return done

        text = ("/usr/bin/busybox true; echo $?; cp /bin/busybox /root/mine; /root/mine true; echo $?; "
                "touch /bin/x 2>/dev/null; echo $?; mv /bin /gone 2>/dev/null; echo $?; "
                "/usr/bin/script; echo $?")
        self.assertEqual(explicit(text, "sh").out.split(), ["126", "126", "1", "1", "126"])
        self.assertEqual(explicit("/usr/bin/busybox true; echo $?; script", "sh", "script").out, "0\nof the script\n")
        self.assertEqual(explicit("/opt/image/own", "sh", "/opt/image/own").out, "own\n")
        for name, why in (("git", "--tool: executables: missing system tool: git"), ("nothing", "/usr/bin/missing is missing"),
                          ("/etc/passwd", "may be shown")):
            self.assertIn(why, explicit("true", "sh", name, code=125).err)

    def test_writes_stay_with_the_cell_and_the_image_is_as_it_was(self):
        self.shell("echo mine > /etc/motd; rm /etc/of-root; mkdir /new", "--cell", "kept")
        again = self.shell("cat /etc/motd; ls -d /new; ls /etc/of-root 2>/dev/null || true", "--cell", "kept")
        self.assertEqual(again.split(), ["mine", "/new"])
        self.assertEqual(self.world.ctl("cell", "rm", "kept").code, 0)
        self.assertEqual(self.shell("cat /etc/motd", "--cell", "kept"), "mine\n")
        self.assertEqual(self.shell("ls /etc/motd /new 2>/dev/null; cat /etc/of-root"), "root's\n")

    def test_changes_of_the_root_are_shown(self):
        # .bashrc would be marked on the host.
        self.shell("echo mine > /etc/group; rm /etc/of-root; mkdir /new; echo x > /new/x; chmod 600 /new/x;"
                   "mv /etc/nsswitch.conf /etc/moved; echo y > /root/.bashrc; rm -r /home; mkdir /home;"
                   "mkdir /tmp/t; touch /dev/shm/s", "--cell", "seen")
        done = self.world.ctl("changes", "seen", "--root")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(done.out.splitlines()[:-1], [
            "M  /etc/group", "R  /etc/nsswitch.conf → /etc/moved", "D  /etc/of-root", "A  /new/", "A  /new/x",
            "A  /root/.bashrc"])
        self.assertNotIn("marked", done.out)
        one = self.world.ctl("changes", "seen", "new", "/etc/group", "--root")
        self.assertEqual([line.split()[1] for line in one.out.splitlines()[:-1]], ["/etc/group", "/new/", "/new/x"])
        self.assertIn("-staff:x:50:\n+mine\n", self.world.ctl("diff", "seen", "--root", "/etc/group").out)
        # It has nothing that a commit could write to the host.
        self.assertEqual(self.world.json("changes", "seen")["root"]["counts"]["modified"], 1)
        for verb in ("commit", "discard", "undo"):
            self.assertNotEqual(self.world.ctl(verb, "seen", *(["--yes"] if verb == "discard" else [])).code, 0)
        self.assertNotEqual(self.world.ctl("changes", "nothing", "--root").code, 0)
        self.assertEqual(self.world.ctl("changes", "--root").code, 2)
        # A file that its mode closes to all but uid 1000 of the image.
        self.shell("echo z > /srv/of-app; chmod 700 /srv", "--cell", "apps", "--image-user", "1000")
        done = self.world.ctl("changes", "apps", "--root")
        self.assertEqual(done.out.splitlines()[:-1], ["m  /srv/ (0755 → 0700)", "M  /srv/of-app"])
        self.assertIn("-app's\n+z\n", self.world.ctl("diff", "apps", "--root").out)

    def test_changes_of_a_reviewed_workspace_and_of_the_root_are_apart(self):
        directory = self.world.make_directory("both")
        self.world.make("both/old", "old\n")
        self.shell("echo new > old; echo mine > /etc/group", "--review", "--workspace", directory, "--cell", "both")
        done = self.world.ctl("changes", "both")
        self.assertEqual([line for line in done.out.splitlines() if line[:1] in "AMD"], ["M  old", "M  /etc/group"])
        self.assertEqual(self.world.ctl("commit", "both").code, 0)
        with open(directory + "/old", encoding="ascii") as file:
            self.assertEqual(file.read(), "new\n")
        self.assertEqual(self.world.json("changes", "both")["root"]["counts"]["modified"], 1)
        self.assertEqual(self.world.ctl("commit", "both", "/etc/group").code, 1)
        self.assertEqual(self.world.ctl("image", "commit", "both", "both:1").code, 0)
        self.assertEqual(self.shell("cat /etc/group", image="both:1"), "mine\n")

    def test_a_session_of_an_image_has_no_copy(self):
        bundle = bundles.write(f"{self.world.directory}/forked", [bundles.say("done")], image="base:1")
        session = self.world.ctl("session", "create", bundle).out.strip()
        self.assertEqual(self.world.ctl("session", "exec", session, "--", "sh", "-c", "echo x > /etc/made || echo no").code, 0)
        self.assertIn("root is an image", self.world.ctl("session", "fork", session).err)
        shown = self.world.ctl("changes", session)
        self.assertEqual(shown.code, 0, shown)
        self.assertIn("of the image that is its root:\n", shown.out)  # no command commits a session's

    def test_a_cell_with_a_disk_shows_its_workspace_alone(self):
        directory = self.world.make_directory("disk")
        policy = self.world.make("disk.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  image: base:1\n"
                                 "  system_tools_mode: standard\n  resources: {disk_mb: 64}\n")
        done = self.world.ctl("exec", "--policy", policy, "--review", "--workspace", directory, "--cell", "disk", "--",
                              "sh", "-c", "echo 1 > new")
        self.assertEqual(done.code, 0, done)
        shown = self.world.ctl("changes", "disk")
        self.assertEqual((shown.code, shown.out.splitlines()[0]), (0, "A  new"), shown)
        self.assertNotIn("root", shown.out)
        self.assertIn("limits.disk_bytes", self.world.ctl("changes", "disk", "--root").err)

    def test_a_commit_is_one_layer_more(self):
        self.shell("echo mine > /etc/motd; rm /etc/of-root; rm -r /home; mkdir /home", "--cell", "made")
        done = self.world.ctl("image", "commit", "made", "made:1")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.shell("cat /etc/motd; ls -A /home /etc/of-root 2>/dev/null; stat -c %u /etc/motd",
                                    image="made:1").split(), ["mine", "/home:", "0"])
        info = self.world.json("image", "inspect", "made:1")
        layers = info["image"]["layers"] if "image" in info else info["layers"]
        self.assertEqual(len(layers), 2)

    def test_a_workspace_of_the_host_belongs_to_the_cells_user(self):
        directory = self.world.make_directory("project")
        os.chown(directory, 5000, 5000)
        out = self.shell("stat -c %u /workspace; echo x > made; stat -c %u made",
                         "--workspace", directory)
        self.assertEqual(out.split(), ["0", "0"])
        self.assertEqual(os.stat(directory + "/made").st_uid, 5000)

    def test_the_probes_find_what_they_find_elsewhere(self):
        done = self.world.ctl("-o", "json", "doctor", "--probe", "--image", "base:1", "-v")
        results = done.json()["results"]
        wrong = [one for one in results if one["verdict"] in ("escaped", "broken")]
        self.assertEqual((done.code, wrong), (0, []), done.err)
        contained = sum(one["verdict"] == "contained" for one in results)
        self.assertGreater(contained, 600)

    def test_denied_names_of_a_workspace_stay_closed(self):
        directory = self.world.make_directory("guarded")
        self.world.make("guarded/.env", "secret\n")
        self.world.make("guarded/open", "open\n")
        policy = self.world.make("guarded.yaml", "policy_version: odyssey.policy/v1\nsandbox:\n  image: base:1\n"
                                 "  system_tools_mode: standard\n  deny: ['**/.env']\n")
        for options in ((), ("--cell", "guarded")):
            done = self.world.ctl("exec", "--policy", policy, "--workspace", directory, *options, "--", "sh", "-c",
                                  "cat open; cat .env; true")
            self.assertEqual((done.code, done.out), (0, "open\n"), done)
            self.assertIn("Permission denied", done.err)

    def test_tools_of_an_agent_work_in_its_image(self):
        steps = [bundles.bash("cat /etc/passwd; id -u; echo said > said"),
                 bundles.call("Write", path="made.txt", content="one\n"),
                 bundles.call("Edit", path="made.txt", old_text="one", new_text="two"),
                 bundles.call("Read", path="made.txt"), bundles.call("LS", path=".")]
        bundle = bundles.write(f"{self.world.directory}/agent", [*steps, bundles.say("done")],
                               image={"name": "base:1", "user": "app"},
                               offered=("Bash", "Edit", "LS", "Read", "Write"))
        done = self.world.ctl("-o", "json", "run", bundle, "--prompt", "go", "--approve", "all")
        self.assertEqual(done.code, 0, done)
        results = [event["payload"]["payload"]["result"] for event in done.lines()
                   if event["payload"]["type"] == "tool_call_finished"]
        self.assertIn("app:x:1000", results[0]["stdout"], results)
        self.assertIn("\n1000\n", results[0]["stdout"])
        self.assertEqual(results[3]["content"], "two\n")
        self.assertLessEqual({"made.txt", "said"}, {entry["name"] for entry in results[4]["entries"]})

    def odek(self, config, files=()):
        directory = self.world.make_directory("odek")
        for name in files:
            os.makedirs(f"{directory}/{name}", exist_ok=True)
        path = self.world.make("odek/odek.json", json.dumps(config))
        return directory, path

    def in_project(self, config, text, *options, files=(), code=0):
        directory, path = self.odek(config, files)
        done = self.world.ctl("exec", "--policy", path, *options, "--", "sh", "-c", text, cwd=directory,
                              env=dict(os.environ, ODEK_APPROVE_PROJECT_SANDBOX="1", ODEK_TEST="from here"))
        self.assertEqual(done.code, code, done)
        return done

    def test_a_project_of_odek_with_an_image(self):
        done = self.in_project(
            {"sandbox": True, "sandbox_image": "base:1", "sandbox_env": {"A": "b", "C": "${ODEK_TEST}"},
             "sandbox_volumes": ["./data:/data", "./seen:/seen:ro"], "sandbox_memory": "256m"},
            "id -u; echo $A $C; pwd; touch /data/made odek-made; touch /seen/x 2>&1; "
            "cp /bin/busybox /tmp/x; /tmp/x true; echo $?", files=("data", "seen"))
        lines = done.out.splitlines()
        self.assertEqual(lines[:3], ["0", "b from here", "/workspace"])
        self.assertIn("Read-only file system", lines[3])
        self.assertEqual(lines[4], "126")
        self.assertTrue(os.path.exists(f"{self.world.directory}/odek/data/made"))
        self.assertTrue(os.path.exists(f"{self.world.directory}/odek/odek-made"))

    def test_flags_of_odek_are_over_its_files(self):
        config = {"sandbox_image": "nosuch:1", "sandbox_user": "app"}
        done = self.in_project(config, "id -u", "--sandbox-image", "base:1", "--sandbox-user", "0")
        self.assertEqual(done.out, "0\n")
        missing = self.in_project(config, "id -u", code=125)
        self.assertIn("sandbox_image", missing.err)
        self.assertIn("nosuch:1", missing.err)
        self.assertIn("image pull", missing.err)
        done = self.world.ctl("exec", "--sandbox-image", "base:1", "--", "true")
        self.assertEqual(done.code, 125 if done.code == 125 else 2, done)
        self.assertIn("--sandbox-image", done.err)

    def test_the_operators_default_is_of_odeks_policies_that_have_no_image(self):
        digest = self.world.json("image", "inspect", "base:1")["image"]["digest"]
        ceiling = self.world.make("state/policy.d/30.yaml",
                                  f"version: odyssey.ceiling/v1\nimages: {{odek_default: any@{digest}}}\n")
        self.addCleanup(os.remove, ceiling)
        text = "id -u; ls -d /etc/of-root"
        self.assertEqual(self.in_project({"sandbox": True}, text).out, "0\n/etc/of-root\n")
        self.assertEqual(self.in_project({"sandbox_user": "1000"}, "id -u").out, "1000\n")
        self.assertEqual(self.in_project({"sandbox_image": "user:1"}, "id -u").out, "1000\n")
        plan = self.in_project({"sandbox": True}, text, "--explain").out
        self.assertIn(f"image any@{digest}, {digest}", plan)
        policy = self.world.make("plain.yaml", "policy_version: odyssey.policy/v1\nsandbox: {}\n")
        done = self.world.ctl("exec", "--policy", policy, "--tools", "standard", "--", "ls", "/etc/of-root")
        self.assertEqual(done.code, 2, done)
        self.assertIn(f"images: odek default any@{digest}", self.world.ctl("policy", "explain").out)

    def test_of_two_images_the_projects_is_asked_about(self):
        directory, path = self.odek({"sandbox_image": "base:1"})
        done = self.world.ctl("exec", "--policy", path, "--", "true", cwd=directory)
        self.assertEqual(done.code, 125, done)
        self.assertIn("another image than your own", done.err)


if __name__ == "__main__":
    world.main()
