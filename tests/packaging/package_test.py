#!/usr/bin/env python3
"""What the Debian package is made of: files, manual pages, scripts, units, and what its control file says.

usage: package_test.py [ClassName]; ODYSSEY_BUILD is a build directory, ODYSSEY_BIN its programs, ODYSSEY_CMAKE cmake.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
DEBIAN = os.path.join(SOURCE, "packaging/debian")
BIN = os.environ["ODYSSEY_BIN"]
SYSTEMD = "/lib/systemd/system"
PACKAGES = ("odyssey", "odyssey-dev")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def lines_of(path):
    """Without comments."""
    return [line for line in (line.split("#")[0].strip() for line in read(path).splitlines()) if line]


def run(*words):
    """Exit status, and what was printed on both streams."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def version():
    return re.search(r"^project\(odyssey VERSION (\S+) ", read("CMakeLists.txt"), re.MULTILINE)[1]


class InstalledCase(unittest.TestCase):
    """self.root: what `cmake --install --prefix /usr` makes."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        done = subprocess.run([os.environ["ODYSSEY_CMAKE"], "--install", os.environ["ODYSSEY_BUILD"], "--prefix", "/usr"],
                              env={**os.environ, "DESTDIR": self.root}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def files(self, below=""):
        """Paths relative to self.root."""
        return sorted(os.path.relpath(os.path.join(directory, name), self.root)
                      for directory, _, names in os.walk(os.path.join(self.root, below)) for name in names)


class InstallTest(InstalledCase):

    def test_each_file_is_of_one_package(self):
        patterns = {package: [line.split()[0] for line in lines_of(f"packaging/debian/{package}.install")]
                    for package in PACKAGES}
        patterns["no package"] = lines_of("packaging/debian/not-installed")
        used, files = set(), self.files()
        for path in files:
            places = ["/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 2)]
            found = {(package, pattern) for package, these in patterns.items() for pattern in these for place in places
                     if fnmatch.fnmatchcase(place, pattern) and place.count("/") == pattern.count("/")}
            self.assertEqual(len(found), 1, f"{path}: {found}")
            used |= found
        self.assertEqual(used, {(package, pattern) for package, these in patterns.items() for pattern in these})

    def test_the_package_has_the_default_ceiling_and_settings(self):
        # debhelper makes each file below /etc a conffile.
        self.assertEqual(self.files("etc"), [f"etc/odyssey/{name}.yaml" for name in (
            "agentd", "egress", "http", "policy.d/00-default", "supervisor")])


class PageTest(InstalledCase):
    pages = {}  # (name, section): what a terminal shows

    def setUp(self):
        super().setUp()
        self.pages = {}
        for path in self.files("usr/share/man"):
            name, section = os.path.basename(path).rsplit(".", 1)
            self.assertEqual(path, f"usr/share/man/man{section}/{name}.{section}")
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-cbou", os.path.join(self.root, path)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.pages[name, section] = done.stdout

    def options_of_page(self, name):
        return set(re.findall(r"^ {7}(--[a-z-]+)", self.pages[name, "8"], re.MULTILINE))

    def test_each_command_and_each_daemon_has_a_page(self):
        for name in os.listdir(os.path.join(self.root, "usr/bin")):
            self.assertIn((name, "1"), self.pages)
        for unit in self.files("usr/lib/systemd"):
            if unit.endswith(".service"):
                text = read(f"systemd/{os.path.basename(unit)}")
                program, daemon = re.search(r"^ExecStart=\S+/(\S+) (\S+)$", text, re.MULTILINE).groups()
                self.assertIn((program, "8"), self.pages)
                self.assertIn((f"odyssey-{daemon}", "8"), self.pages)
                self.assertIn((f"odyssey-{daemon}.yaml", "5"), self.pages)

    def test_the_pages_of_daemons_have_their_options(self):
        for program, words in (("odyssey-agentd", ["--help"]), ("odyssey-supervisor", ["--help", "x"]),
                               ("odyssey-egress", []), ("odyssey-http", ["--help"])):
            listed = run(os.path.join(BIN, program), *words)[1].partition("allowed:")
            options = set(re.findall(r"--[a-z-]+", listed[2] or listed[0]))
            self.assertGreater(len(options), 5, program)
            self.assertEqual(self.options_of_page(program) | {"--help"}, options | {"--help"}, program)

    def test_each_file_that_programs_read_below_etc_has_a_page(self):
        read_there = set()
        for directory, _, names in os.walk(SOURCE):
            if os.path.relpath(directory, SOURCE).split("/")[0] not in ("agentd", "ctl", "http", "hub", "policy", "supervisor"):
                continue
            for name in names:
                if name.endswith((".cc", ".h")) and not name.endswith("_test.cc"):
                    read_there |= set(re.findall(r"/etc/odyssey/[\w.-]*\w", read(os.path.join(directory, name))))
        read_there |= set(re.findall(r"/etc/odyssey/[\w.-]*\w", read("systemd/odyssey-supervisor.service")))
        read_there.add("/etc/odyssey/inference.yaml")  # a name below --config
        self.assertGreaterEqual(len(read_there), 5)
        described = "".join(text for (_, section), text in self.pages.items() if section == "5")
        for path in read_there:
            self.assertIn(path, described)


class ControlTest(unittest.TestCase):

    def test_versions_agree(self):
        self.assertEqual(re.match(r"odyssey \((\S+)\)", read("packaging/debian/changelog"))[1], version())
        self.assertEqual(re.search(r'kVersion\[\] = "(.*)"', read("common/base/version.h"))[1], version())

    def test_the_package_is_built_with_what_a_checkout_is(self):
        control = read("packaging/debian/control")
        needed = set(re.findall(r"^ ([a-z0-9.+-]+)[ ,\n]", control.split("Build-Depends:")[1].split("Standards-")[0],
                                re.MULTILINE))
        sections = re.split(r"^# (?=Building|Checking|Running)", read("packaging/build-depends.txt"), flags=re.MULTILINE)
        names = {part.split()[0]: set(re.findall(r"^([a-z0-9.+-]+) +#", part, re.MULTILINE)) for part in sections[1:]}
        debhelper = {"debhelper-compat", "dh-sequence-installsysusers"}
        self.assertEqual(needed - debhelper - {"python3"}, names["Building"] - {"ccache"})
        self.assertIn("python3", names["Checking"])

    def test_the_package_needs_what_running_needs(self):
        control = read("packaging/debian/control")
        depends = set(re.findall(r"^ ([a-z0-9.+-]+)", control.split("\nDepends:")[1].split("Suggests:")[0], re.MULTILINE))
        running = read("packaging/build-depends.txt").split("# Running")[1]
        self.assertEqual(depends - {"systemd"}, set(re.findall(r"^([a-z0-9.+-]+) +#", running, re.MULTILINE)))


class ScriptTest(unittest.TestCase):

    def test_scripts_of_the_package_are_sound(self):
        names = [name for name in os.listdir(DEBIAN) if name.endswith(("preinst", "postinst", "prerm", "postrm"))]
        self.assertTrue(names)
        for name in names:
            path = os.path.join(DEBIAN, name)
            self.assertEqual(run("sh", "-n", path), (0, ""))
            self.assertEqual(run("shellcheck", "-s", "sh", path), (0, ""))
            self.assertIn("\nset -e\n", read(path))
            self.assertIn("\n#DEBHELPER#\n", read(path))


class UnitTest(InstalledCase):

    def test_units_have_no_mistakes(self):
        units = [os.path.basename(path) for path in self.files("usr/lib/systemd")]
        self.assertEqual(len(units), 7)
        # What every unit depends on.
        for name in os.listdir(SYSTEMD):
            if name.endswith((".target", ".slice")) or name == "modprobe@.service":
                shutil.copy(os.path.join(SYSTEMD, name), os.path.join(self.root, "usr/lib/systemd/system"))
        os.makedirs(os.path.join(self.root, "bin"))
        shutil.copy("/bin/sh", os.path.join(self.root, "bin/sh"))
        self.assertEqual(run("systemd-analyze", "--root=" + self.root, "--man=no", "verify", *units), (0, ""))

    def test_users_of_units_and_directories_are_made(self):
        made = {line.split()[1] for line in lines_of("systemd/odyssey.sysusers")}
        named = {line.split()[3] for line in lines_of("systemd/odyssey.tmpfiles")} - {"root"}
        for unit in self.files("usr/lib/systemd"):
            text = read("systemd/" + os.path.basename(unit))
            named |= set(re.findall(r"^User=(\S+)", text, re.MULTILINE))
        for file in self.files("etc/odyssey"):
            with open(os.path.join(self.root, file), encoding="utf-8") as opened:
                named |= set(re.findall(r"^#(?:client_users: \[|rpc_user: |allow_group: )([\w-]+)", opened.read(), re.MULTILINE))
        self.assertEqual(made, named)

    def test_agentd_gets_a_key_of_each_provider(self):
        providers = set(re.findall(r'{\.name = "([\w-]+)"', read("agentd/provider/provider_table.h")))
        providers -= {"script", "direct"}
        unit = read("systemd/odyssey-agentd.service")
        self.assertEqual(set(re.findall(r"^LoadCredential=model-key\.(\S+)$", unit, re.MULTILINE)), providers)

    def test_units_are_as_closed_as_they_were(self):
        # systemd/README.md has what is left out, and why.
        for daemon, most in (("agentd", 1.5), ("egress", 1.3), ("http", 0.4), ("supervisor", 8.3)):
            printed = run("systemd-analyze", "security", "--offline=true", "--no-pager",
                          os.path.join(SOURCE, f"systemd/odyssey-{daemon}.service"))[1]
            exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", printed)[1])
            self.assertLessEqual(exposure, most, daemon)


if __name__ == "__main__":
    unittest.main()
