"""`apt-get install` in a RUN: an image of this host's own apt and dpkg, a mirror of the test's, and an
egress policy that reaches the mirror alone.
"""

import hashlib
import os
import re
import stat
import subprocess
import sys

import world
from image_maker import Layer, Layout
from network import PUBLIC, Network, die_with_the_test

PROGRAMS = ("apt", "base-files", "base-passwd", "coreutils", "dash", "diffutils", "dpkg", "findutils", "grep", "gzip",
            "libc-bin", "mawk", "passwd", "sed", "tar")
PORT = 8000
SOURCE = f"deb [trusted=yes] http://registry.test:{PORT}/ stable main"
FLAT = f"deb [trusted=yes] http://registry.test:{PORT}/ ./"  # apt asks for paths with a dot segment


def closure(names):
    """The installed packages that these need, by dpkg's database."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n"],
                           capture_output=True, text=True, check=True).stdout
    needs, providers = {}, {}
    for line in shown.splitlines():
        package, provides, depends = line.split("\t")
        needs[package] = [[re.split(r"[ :(]", choice.strip())[0] for choice in need.split("|")]
                          for need in depends.split(",") if need.strip()]
        for name in [package, *(re.split(r"[ :(]", one.strip())[0] for one in provides.split(",") if one.strip())]:
            providers.setdefault(name, package)
    found, open_ones = set(), list(names)
    while open_ones:
        package = providers.get(open_ones.pop())
        if package is None or package in found:
            continue
        found.add(package)
        for choices in needs[package]:
            open_ones.extend(choice for choice in choices[:1])
    return sorted(found)


def status_of(packages):
    """Their part of dpkg's database."""
    with open("/var/lib/dpkg/status", encoding="utf-8") as file:
        parts = file.read().split("\n\n")
    wanted = [part for part in parts if part.startswith("Package: ") and part.split("\n")[0][9:] in packages]
    return "\n\n".join(wanted) + "\n"


def system_layer():
    packages = closure(PROGRAMS)
    files = subprocess.run(["dpkg-query", "-L", *packages], capture_output=True, text=True, check=True).stdout
    layer = Layer("none")
    seen = set()
    for link in ("bin", "sbin", "lib", "lib64"):
        layer.link(link, "usr/" + link)
    layer.directory("usr/lib64").link("usr/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    for path in sorted(files.split("\n")):
        real = re.sub(r"^/(bin|sbin|lib|lib64)(/|$)", r"/usr/\1\2", path)
        if not real.startswith("/") or real in seen or "/share/doc" in real or "/share/locale" in real or "/share/man" in real:
            continue
        if real in ("/", "/.", "/usr/lib64") or not os.path.lexists(real) or real.startswith("/dev"):
            continue
        seen.add(real)
        info = os.lstat(real)
        if stat.S_ISLNK(info.st_mode):
            layer.link(real[1:], os.readlink(real))
        elif stat.S_ISDIR(info.st_mode):
            layer.directory(real[1:], mode=stat.S_IMODE(info.st_mode) & 0o1777)
        elif stat.S_ISREG(info.st_mode):
            with open(real, "rb") as file:
                layer.add(real[1:], file.read(), mode=stat.S_IMODE(info.st_mode) & 0o777)
    for name in ("passwd", "group"):
        with open("/usr/share/base-passwd/" + name + ".master", encoding="utf-8") as file:
            own = "_apt:*:42:65534::/nonexistent:/usr/sbin/nologin\n" if name == "passwd" else ""
            layer.add("etc/" + name, file.read() + own)
    for name in ("tmp", "var/tmp"):
        layer.directory(name, mode=0o1777)
    for name in ("etc/apt", "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d", "var/lib/dpkg/info",
                 "var/lib/dpkg/updates", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt",
                 "etc/apt/sources.list.d"):
        layer.directory(name)
    layer.link("usr/bin/awk", "mawk").link("usr/bin/sh", "dash")
    layer.add("var/lib/dpkg/status", status_of(packages))
    return layer


def digest_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return hashlib.sha256(data).hexdigest(), len(data)


def make_mirror(directory):
    """Of one package, which has a set-uid program, a file of another user, and a script."""
    root = directory + "/package"
    os.makedirs(root + "/DEBIAN")
    os.makedirs(root + "/usr/bin")
    os.makedirs(root + "/var/lib/probe")
    with open(root + "/DEBIAN/control", "w", encoding="ascii") as file:
        file.write("Package: probe\nVersion: 1.0\nArchitecture: all\nMaintainer: test <test@registry.test>\n"
                   "Description: a package\n")
    with open(root + "/DEBIAN/postinst", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nset -e\nid -u > /var/lib/probe/configured\nchown daemon:daemon /var/lib/probe/configured\n")
    with open(root + "/usr/bin/probe", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho probed\n")
    with open(root + "/var/lib/probe/of-man", "w", encoding="ascii") as file:
        file.write("man's\n")
    os.chmod(root + "/DEBIAN/postinst", 0o755)
    os.chmod(root + "/usr/bin/probe", 0o4755)
    os.chown(root + "/var/lib/probe/of-man", 6, 12)
    served = directory + "/mirror"
    index = served + "/dists/stable/main/binary-amd64"
    os.makedirs(index)
    subprocess.run(["dpkg-deb", "-Zgzip", "--build", root, served + "/probe_1.0_all.deb"], check=True, capture_output=True)
    control = subprocess.run(["dpkg-deb", "-f", served + "/probe_1.0_all.deb"], check=True, capture_output=True,
                             text=True).stdout
    digest, size = digest_of(served + "/probe_1.0_all.deb")
    for path, prefix in ((index, ""), (served, "./")):
        with open(path + "/Packages", "w", encoding="ascii") as file:
            file.write(f"{control}Filename: {prefix}probe_1.0_all.deb\nSize: {size}\nSHA256: {digest}\n")
    digest, size = digest_of(index + "/Packages")
    with open(served + "/dists/stable/Release", "w", encoding="ascii") as file:
        file.write("Suite: stable\nComponents: main\nArchitectures: amd64\n"
                   f"SHA256:\n {digest} {size} main/binary-amd64/Packages\n")
    return served


class AptTest(world.WorldTest):
    @classmethod
    def setUpClass(cls):
        cls.network = Network()
        cls.addClassCleanup(cls.network.close)
        cls.world = world.World(cls.network.prefix)
        cls.addClassCleanup(cls.world.close)
        cls.world.up()
        mirror = make_mirror(cls.world.make_directory("deb"))
        prefix = cls.network.internet.prefix()
        server = subprocess.Popen([*prefix, sys.executable, "-m", "http.server", "--bind", PUBLIC, str(PORT)], cwd=mirror,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_the_test)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.kill)
        layout = Layout(cls.world.make_directory("layout"))
        layout.add("apt:1", [system_layer()], Env=["PATH=/usr/sbin:/usr/bin"])
        done = cls.world.ctl("image", "load", layout.directory)
        assert done.code == 0, done

    def build(self, name, *options, source=SOURCE):
        directory = self.world.make_directory(name)
        self.world.make(name + "/Dockerfile", f"""\
FROM apt:1
RUN echo '{source}' > /etc/apt/sources.list
RUN apt-get update
RUN apt-get install -y --no-install-recommends probe && rm -rf /var/lib/apt/lists/*
RUN touch /etc/shadow /etc/gshadow /etc/subuid /etc/subgid && useradd someone && id someone
""")
        return self.world.ctl("image", "build", "-t", name + ":1", *options, directory)

    def test_a_package_is_installed_from_the_mirror_that_the_policy_names(self):
        done = self.build("with", "--reach", f"registry.test:{PORT}")
        self.assertEqual(done.code, 0, done)
        out = self.world.ctl("exec", "--image", "with:1", "--", "sh", "-c",
                             "probe; dpkg -s probe | grep Status; stat -c '%a %u:%g' /usr/bin/probe /var/lib/probe/*; "
                             "cat /var/lib/probe/configured")
        self.assertEqual(out.code, 0, out)
        # The set-uid bit is not kept, and the owners are.
        self.assertEqual(out.out.splitlines(), ["probed", "Status: install ok installed", "755 0:0", "644 1:1", "644 6:12",
                                                "0"])

    def test_a_flat_mirror_does_too(self):
        done = self.build("flat", "--reach", f"registry.test:{PORT}", source=FLAT)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.world.ctl("exec", "--image", "flat:1", "--", "probe").out, "probed\n")

    def test_no_other_place_is_reached(self):
        done = self.build("without", "--no-cache", "--reach", "registry.test:9999")
        self.assertEqual(done.code, 1, done)
        self.assertIn("RUN apt-get", done.err)
        self.assertNotIn("without:1", self.world.ctl("image", "list").out)


if __name__ == "__main__":
    world.main()
