#!/usr/bin/env python3
"""Each diagnosis of odyssey-ctl doctor, in a namespace where it is so; and its command mends it where it can there."""

import json
import os
import signal
import subprocess
import sys
import unittest

from world import CTL, HANG_S, World, main

# A seccomp filter in this process and what it executes: landlock_create_ruleset fails with this errno.
SECCOMP = """
import ctypes, os, struct, sys
error, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
def op(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
code = op(0x20, 0, 0, 0) + op(0x15, 0, 1, 444) + op(0x06, 0, 0, 0x00050000 | error) + op(0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code, len(code))
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(code) // 8, ctypes.addressof(buffer))), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


class HostTest(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def run_in(self, script, *, namespaces=("--mount",), state=None, then=None):
        """doctor's checks by name, after `script` in namespaces of its own; with `then`, those after that too."""
        doctor = f'"{CTL}" -o json --state {state or self.world.state} doctor; '
        script = f"set -e; {script}\nset +e; {doctor}"
        if then:
            script += f"\n{then}\n{doctor}"
        done = subprocess.run(["unshare", *namespaces, "sh", "-c", script], capture_output=True, text=True,
                              timeout=HANG_S, check=False, cwd="/")
        decoder, text, found = json.JSONDecoder(), done.stdout.strip(), []
        while text:
            value, end = decoder.raw_decode(text)
            found.append({check["name"]: check for check in value["checks"]})
            text = text[end:].strip()
        self.assertEqual(len(found), 2 if then else 1, done)
        return found if then else found[0]

    def assertFound(self, check, detail, mend, verdict="missing"):
        self.assertEqual(check["verdict"], verdict, check)
        self.assertIn(detail, check["detail"])
        self.assertEqual(check["mend"], mend)
        self.assertTrue(check["advice"])

    def test_this_host_has_none_of_it(self):
        checks = self.run_in("true")
        for name in ("kernel", "landlock", "cgroups", "proc", "bwrap", "rg", "user namespaces", "apparmor", "fuse",
                     "loop", "users", "idmap", "state"):
            self.assertEqual((checks[name]["verdict"], checks[name]["mend"], checks[name]["advice"]),
                             ("good", "", ""), checks[name])

    def test_text_has_the_command(self):
        self.world.prefix = ["unshare", "--mount", "sh", "-c",
                             "mount --bind /dev/null /proc/kallsyms && exec \"$@\"", "sh"]
        done = self.world.ctl("doctor")
        self.assertIn("\n    $ umount /proc/kallsyms\n", done.out)
        self.assertEqual(done.code, 1)

    # User namespaces, AppArmor.

    def test_no_user_namespaces(self):
        before, after = self.run_in("echo 0 >/proc/sys/user/max_user_namespaces",
                                    namespaces=("--user", "--map-root-user", "--mount"),
                                    then="sysctl -q -w user.max_user_namespaces=65536")
        self.assertFound(before["user namespaces"], "user.max_user_namespaces is 0",
                         "sysctl -w user.max_user_namespaces=65536")
        self.assertEqual(after["user namespaces"]["verdict"], "good")

    def test_unprivileged_user_namespaces_do_not_matter(self):
        for name, value in (("unprivileged_userns_clone", 0), ("apparmor_restrict_unprivileged_userns", 1)):
            checks = self.run_in(f"mount -t tmpfs none /proc/sys/kernel; echo {value} >/proc/sys/kernel/{name}")
            self.assertEqual(checks["user namespaces"]["verdict"], "good")
            self.assertIn(f"restricted to root, which makes those of cells: kernel.{name}={value}",
                          checks["user namespaces"]["detail"])

    def test_apparmor(self):
        make = ("mount -t tmpfs none /sys/kernel; mkdir -p /sys/kernel/security/apparmor; "
                "echo '{}' >/sys/kernel/security/apparmor/profiles")
        for name in ("bwrap", "/usr/bin/bwrap", "bwrap-userns-restrict"):
            self.assertFound(self.run_in(make.format(f"{name} (enforce)"))["apparmor"],
                             f"the profile {name} confines /usr/bin/bwrap", "aa-disable /usr/bin/bwrap")
        for line in ("bwrap (complain)", "/usr/bin/man (enforce)", "unpriv_bwrap (enforce)"):
            self.assertEqual(self.run_in(make.format(line))["apparmor"]["verdict"], "good", line)

    # Landlock.

    def test_no_landlock(self):
        for error, detail, mend in ((38, "not in this kernel", "apt-get install linux-image-amd64"),
                                    (95, "not among the security modules", None)):
            done = subprocess.run([sys.executable, "-c", SECCOMP, str(error), CTL, "-o", "json", "--state",
                                   self.world.state, "doctor"], capture_output=True, text=True, check=False)
            check, = (each for each in json.loads(done.stdout)["checks"] if each["name"] == "landlock")
            self.assertFound(check, detail, mend or check["mend"])
            self.assertTrue(mend or "lsm=landlock," in check["mend"], check)

    # Control groups.

    def test_no_cgroups(self):
        checks = self.run_in("for at in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts | sort -r); do umount $at; done")
        self.assertFound(checks["cgroups"], "no cgroup file system is mounted",
                         "mount -t cgroup2 none /sys/fs/cgroup")

    @unittest.skipUnless(os.path.exists("/sys/fs/cgroup/pids"), "control groups v1 only")
    def test_a_controller_is_missing(self):
        before, after = self.run_in("umount /sys/fs/cgroup/pids",
                                    then="mkdir -p /sys/fs/cgroup/pids && mount -t cgroup -o pids none /sys/fs/cgroup/pids")
        self.assertFound(before["cgroups"], "controllers are missing: pids",
                         "mkdir -p /sys/fs/cgroup/pids && mount -t cgroup -o pids none /sys/fs/cgroup/pids")
        self.assertEqual(after["cgroups"]["verdict"], "good")

    def test_cgroups_are_read_only(self):
        at = "/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"
        checks = self.run_in(f"mount -o remount,bind,ro {at}")
        self.assertFound(checks["cgroups"], f"at {at} is read-only", f"mount -o remount,rw {at}")

    # Programs.

    def fake(self, path, text):
        program = self.world.make("fake", f"#!/bin/sh\n{text}\n")
        os.chmod(program, 0o755)
        return self.run_in(f"mount --bind {program} {path}")

    def test_an_old_bubblewrap(self):
        for version in ("0.3.1", "0.3"):
            self.assertFound(self.fake("/usr/bin/bwrap", f"echo bubblewrap {version}")["bwrap"], "is too old",
                             "apt-get install bubblewrap")
        for version in ("0.4.0", "0.11.0", "1.0.0"):
            self.assertEqual(self.fake("/usr/bin/bwrap", f"echo bubblewrap {version}")["bwrap"]["verdict"], "good")
        self.assertFound(self.fake("/usr/bin/bwrap", "echo hello")["bwrap"], "does not tell its version",
                         "apt-get install --reinstall bubblewrap")

    def without(self, name):
        hide = self.world.make("unusable", "")
        return self.run_in("".join(f"[ ! -e {at}/{name} ] || mount --bind {hide} {at}/{name}\n"
                                   for at in ("/usr/bin", "/usr/local/bin")))

    def test_programs_are_missing(self):
        self.assertFound(self.without("bwrap")["bwrap"], "not found", "apt-get install bubblewrap")
        self.assertFound(self.without("rg")["rg"], "not found", "apt-get install ripgrep")

    # /proc, devices, users, the state directory.

    def test_proc_is_mounted_over(self):
        before, after = self.run_in("mount --bind /dev/null /proc/kallsyms; mount -t tmpfs none /proc/acpi || "
                                    "mount -t tmpfs none /proc/tty", then="umount $(awk '$2 ~ \"^/proc/\" {print $2}' "
                                                                          "/proc/mounts)")
        self.assertEqual(before["proc"]["verdict"], "missing")
        self.assertRegex(before["proc"]["mend"], "^umount /proc/kallsyms /proc/(acpi|tty)$")
        self.assertEqual(after["proc"]["verdict"], "good")

    def test_devices_are_missing(self):
        for name, path in (("fuse", "/dev/fuse"), ("loop", "/dev/loop-control")):
            check = self.run_in(f"mount --bind /dev/null {path}")[name]
            self.assertEqual(check["verdict"], "warning")
            self.assertIn(f"{path} is not there", check["detail"])
            self.assertRegex(check["mend"], f"^modprobe {name} && .* mknod -m 600 {path} c 10 2(29|37);")

    def test_users_of_the_services_are_missing(self):
        passwd = self.world.make("passwd", "root:x:0:0::/root:/bin/sh\n")
        hide = f"mount --bind {passwd} /etc/passwd; "
        self.assertEqual(self.run_in(hide)["users"]["verdict"], "good")
        units = "mount -t tmpfs none /usr/lib/systemd; mkdir /usr/lib/systemd/system; " \
                "touch /usr/lib/systemd/system/odyssey-supervisor.service"
        self.assertFound(self.run_in(hide + units)["users"], "missing: odyssey-rpc odyssey-agentd odyssey-egress",
                         "systemd-sysusers && systemd-tmpfiles --create")

    def test_a_state_that_cannot_be_idmapped(self):
        at = self.world.make_directory("mnt")
        overlay = (f"mount -t tmpfs none {at}; mkdir {at}/lower {at}/upper {at}/work {at}/merged; "
                   f"mount -t overlay none -o lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work {at}/merged")
        checks = self.run_in(overlay, state=f"{at}/merged/state")
        self.assertFound(checks["idmap"], "its file system cannot be idmapped",
                         "odyssey-ctl --state /var/lib/odyssey up")
        self.assertEqual(self.run_in(f"mount -t tmpfs none {at}", state=f"{at}/state")["idmap"]["verdict"], "good")

    def test_a_state_that_cannot_be_written(self):
        at = self.world.make_directory("mnt")
        checks = self.run_in(f"mount -t tmpfs -o ro none {at}", state=f"{at}/state")
        self.assertEqual(checks["state"]["verdict"], "missing")
        self.assertIn(f"{at}/state", checks["state"]["mend"])

    # The daemons.

    def test_daemons_do_not_run(self):
        checks = self.run_in("true")
        for name in ("supervisor", "agentd"):
            self.assertEqual(checks[name]["mend"], f"odyssey-ctl --state {self.world.state} up --detach")
        self.assertNotIn("egress", checks)

    def test_sockets_that_a_user_cannot_use(self):
        self.world.up()
        run = f"{self.world.state}/run"
        nobody = World.__new__(World)
        nobody.prefix, nobody.state = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], self.world.state

        def agentd():
            return next(each for each in nobody.ctl("-o", "json", "doctor").json()["checks"] if each["name"] == "agentd")
        self.assertFound(agentd(), "the peer has uid 65534", f"odyssey-ctl --state {self.world.state} down; "
                         f"odyssey-ctl --state {self.world.state} up --detach --allow-user 65534")
        os.chmod(f"{run}/agentd.sock", 0o600)
        self.assertFound(agentd(), "Permission denied", f"chmod 666 {run}/agentd.sock")
        os.chmod(run, 0o1770)
        self.assertFound(agentd(), "Permission denied", f"chmod o+x {run}")

    def test_egress_does_not_serve(self):
        self.world.up()
        self.assertEqual(self.run_in("true")["egress"]["verdict"], "good")
        broker = self.world.daemon("odyssey-egress")
        os.kill(broker, signal.SIGSTOP)
        self.addCleanup(os.kill, broker, signal.SIGCONT)
        checks = self.run_in("true")
        self.assertFound(checks["egress"], "did not answer in a second", checks["egress"]["mend"], verdict="warning")
        self.assertIn(f"--state {self.world.state} up", checks["egress"]["mend"])


if __name__ == "__main__":
    main()
