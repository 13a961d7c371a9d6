#!/usr/bin/env python3
"""odyssey-ctl policy export: what it writes is run, or read by who wrote the format, where that can be done here."""

import json
import os
import shutil
import subprocess
import tempfile
import tomllib
import unittest

from world import CTL, HANG_S, main

POLICY = """\
policy_version: odyssey.policy/v1
sandbox:
  mode: workspace_write
  system_tools_mode: standard
  env: {HERE: PROBE_WORD, KEY: PROBE_API_KEY}
  permissions:
    filesystem: {mounts: {read: [%(data)s], write: [.]}}
    network_policies:
      api:
        endpoints: [{host: api.example.com, port: 443, protocol: rest, access: read-only}]
        binaries: [{path: /usr/bin/curl}]
  resources: {open_files: 99, wall_clock_s: 60, file_mb: 1}
  protect: [Makefile]
  deny: ["**/.env"]
"""
SECRET = "sk-0123456789abcdef0123456789abcdef"


class ExportTest(unittest.TestCase):

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="odyssey-e2e-")
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)
        self.project = self.make("project/readme", "mine\n")
        self.data = self.make("data/given", "given\n")
        for name in ("Makefile", ".envrc", ".git/hooks/pre-commit"):
            self.make(f"project/{name}", "as it was\n")
        self.policy = f"{self.directory}/policy.yaml"
        with open(self.policy, "w", encoding="utf-8") as file:
            file.write(POLICY % {"data": self.data})

    def make(self, path, text):
        full = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return os.path.dirname(full)

    def export(self, system, *more, code=0):
        done = subprocess.run([CTL, *more, "policy", "export", self.policy, "--to", system], capture_output=True, text=True,
                              cwd=self.project, timeout=HANG_S, check=False,
                              env={**os.environ, "PROBE_WORD": "it's $HOME", "PROBE_API_KEY": SECRET})
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    def run_in_bwrap(self, command):
        script = f"{self.directory}/cell.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.export("bwrap"))
        done = subprocess.run(["sh", script, "sh", "-c", command], capture_output=True, text=True, timeout=HANG_S,
                              check=False, env={"PATH": os.environ["PATH"], "PROBE_API_KEY": "the caller's", "OTHER": "x"})
        return done.stdout + done.stderr

    def test_bwrap_runs_as_it_says(self):
        place = "mount/write/current"
        self.assertEqual(self.run_in_bwrap("id -u; pwd; ulimit -n; echo $HERE; echo $KEY; echo $OTHER."),
                         "1000\n/workspace\n99\nit's $HOME\nthe caller's\n.\n")
        self.assertEqual(self.run_in_bwrap(f"cat {place}/readme mount/read/abs{self.data}/given"), "mine\ngiven\n")
        self.run_in_bwrap(f"echo new >{place}/new; echo x >mount/read/abs{self.data}/given")
        for name in ("Makefile", ".envrc", ".git/hooks/pre-commit"):
            self.assertIn("Read-only file system", self.run_in_bwrap(f"echo x >{place}/{name}"))
        with open(f"{self.project}/new", encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")
        for path, text in (("data/given", "given\n"), ("project/Makefile", "as it was\n")):
            with open(f"{self.directory}/{path}", encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        self.assertIn("No such file", self.run_in_bwrap("cat /etc/shadow /root/.bashrc"))
        self.assertEqual(self.run_in_bwrap("ls /sys/class/net 2>&1 | wc -l; cat /proc/net/dev | grep -c :").split()[-1], "1")

    def test_openshell_is_read_back(self):
        with open(f"{self.directory}/openshell.yaml", "w", encoding="utf-8") as file:
            file.write(self.export("openshell"))
        for host, code in (("api.example.com:443", 0), ("evil.example.com:443", 3)):
            done = subprocess.run([CTL, "policy", "check", f"{self.directory}/openshell.yaml", "--host", host],
                                  capture_output=True, text=True, timeout=HANG_S, check=False)
            self.assertEqual(done.returncode, code, done)
        self.assertIn("enforcement: enforce\n", self.export("openshell"))

    def test_codex_is_toml(self):
        config = tomllib.loads(self.export("codex"))
        self.assertEqual(config["sandbox_workspace_write"]["writable_roots"], [self.project])
        self.assertEqual(config["shell_environment_policy"]["set"], {"HERE": "it's $HOME"})

    def test_docker_run_is_a_command_of_docker(self):
        """As its script calls it; there is no daemon."""
        script, tools = f"{self.directory}/run.sh", self.make("tools/docker", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
        os.chmod(f"{tools}/docker", 0o755)
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.export("docker-run"))
        environment = {"PATH": f"{tools}:{os.environ['PATH']}", "IMAGE": "debian:12", "PROBE_API_KEY": SECRET}
        words = subprocess.run(["sh", script], capture_output=True, text=True, check=True, env=environment).stdout.splitlines()
        self.assertEqual(words[:11], ["run", "--rm", "--detach", "--name", "odyssey-cell", "--cap-drop", "ALL", "--security-opt",
                                      "no-new-privileges", "--network", "none"])
        self.assertEqual(words[-3:], ["debian:12", "sleep", "infinity"])
        self.assertIn("HERE=it's $HOME", words)
        self.assertIn(f"KEY={SECRET}", words)
        del environment["IMAGE"]
        done = subprocess.run(["sh", script], capture_output=True, text=True, check=False, env=environment)
        self.assertIn("the image to run", done.stderr)

    def test_what_cannot_be_said_is(self):
        for system in ("bwrap", "seatbelt", "docker-run", "codex"):
            text = self.export(system)
            self.assertRegex(text, r"(?m)^[#;] stricter: .*api\.example\.com:443")
            self.assertNotIn(SECRET, text)
        self.assertRegex(self.export("bwrap"), r"(?m)^# weaker: deny \*\*/\.env: ")

    def test_json(self):
        answer = json.loads(self.export("codex", "-o", "json"))
        self.assertEqual(answer["system"], "codex")
        self.assertIn({"effect": "weaker", "item": "deny **/.env", "why": "it hides no names"}, answer["gaps"])
        self.assertIn('sandbox_mode = "workspace-write"', answer["text"])

    def test_bad_calls(self):
        self.assertIn("--to", self.export("xen", code=2))
        with open(self.policy, "a", encoding="utf-8") as file:
            file.write("  colour: red\n")
        self.assertIn("colour", self.export("bwrap", code=1))


if __name__ == "__main__":
    main()
