"""Programs as they are packaged, through egress: those that use the proxy, and one that knows none.

Each has a rule of its own; what another program asks for with the same rule is refused.
"""

import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile

import world
from egress_test import EgressWorld
from network import PUBLIC
from upstreams import start

GIT, NPM, PIP, REDIS = "api.example.com", "www.example.com", "a.b.example.com", "db.corp.example"


def make_git(directory):
    """A repository that is served as files."""
    work, bare = directory + "/work", directory + "/repo.git"
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    subprocess.run(["git", "init", "-q", work], check=True)
    with open(work + "/file", "w", encoding="ascii") as file:
        file.write("from git\n")
    subprocess.run(["git", "-C", work, "add", "file"], check=True)
    subprocess.run(["git", "-C", work, *identity, "commit", "-qm", "first"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)
    subprocess.run(["git", "-C", bare, "update-server-info"], check=True)


def make_npm(directory):
    files = {"package.json": json.dumps({"name": "tinynpm", "version": "1.0.0"}),
             "index.js": "module.exports = 'from npm'\n"}
    with tarfile.open(directory + "/tinynpm-1.0.0.tgz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    version = {"name": "tinynpm", "version": "1.0.0",
               "dist": {"tarball": f"https://{NPM}/tinynpm-1.0.0.tgz"}}
    with open(directory + "/tinynpm", "w", encoding="ascii") as file:
        json.dump({"name": "tinynpm", "dist-tags": {"latest": "1.0.0"},
                   "versions": {"1.0.0": version}}, file)


def make_pip(directory):
    name = "tinypip-1.0-py3-none-any.whl"
    files = {"tinypip.py": "text = 'from pip'\n",
             "tinypip-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tinypip\nVersion: 1.0\n",
             "tinypip-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
                                            "Root-Is-Purelib: true\nTag: py3-none-any\n",
             "tinypip-1.0.dist-info/RECORD": ""}
    with zipfile.ZipFile(f"{directory}/{name}", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    os.makedirs(directory + "/simple/tinypip")
    with open(directory + "/simple/tinypip/index.html", "w", encoding="ascii") as file:
        file.write(f'<!DOCTYPE html><html><body><a href="/{name}">{name}</a></body></html>\n')


class ClientsTest(EgressWorld):
    policy = f"""
version: 1
network_policies:
  curl:
    endpoints: [{{host: {GIT}, port: 443}}]
    binaries: [{{path: /usr/bin/curl}}]
  git:
    endpoints: [{{host: {GIT}, port: 8443, protocol: rest, access: read-only, enforcement: enforce}}]
    binaries: [{{path: /usr/bin/git}}]
  npm:
    endpoints: [{{host: {NPM}, port: 443, protocol: rest, access: read-only, enforcement: enforce}}]
    binaries: [{{path: /usr/bin/node}}]
  pip:
    endpoints: [{{host: {PIP}, port: 443, protocol: rest, access: read-only, enforcement: enforce}}]
    binaries: [{{path: "/usr/bin/python3*"}}]
  redis:
    endpoints: [{{host: {REDIS}, port: 6379, protocol: tcp}}]
    binaries: [{{path: /usr/bin/redis-cli}}]
"""

    @classmethod
    def serve(cls):
        content = cls.network.directory + "/content"
        os.mkdir(content)
        make_git(content)
        make_npm(content)
        make_pip(content)
        for port in (443, 8443):
            start(cls.network, "files", PUBLIC, port, content)
        cls.redis = start(cls.network, "redis", PUBLIC, 6379, {"key": "from redis"})

    def sh(self, script, *programs):
        for program in programs:
            if not shutil.which(program, path="/usr/bin"):
                self.assertNotEqual(os.environ.get("ODYSSEY_MUST_RUN"), "1", program)
                self.skipTest(f"{program} is not installed")
        # An operator's npmrc may name certificates that are not the cell's.
        return self.run_in_cell("sh", "-c", "export HOME=/tmp npm_config_globalconfig=/tmp/none; cd /tmp; "
                                + script)

    def test_curl(self):
        done = self.sh(f"curl -sS https://{GIT}/work/file", "curl")
        self.assertEqual((done.code, done.out), (0, "from git\n"), done)
        done = self.sh(f"curl -sS https://{NPM}/tinynpm", "curl")
        self.assertEqual(done.code, 56, done)  # CONNECT was refused
        self.assertRecord(host=NPM, program="/usr/bin/curl", verdict="denied", code="policy_denied")

    def test_git_clones(self):
        done = self.sh(f"git clone -q https://{GIT}:8443/repo.git r && cat r/file", "git")
        self.assertEqual((done.code, done.out), (0, "from git\n"), done)
        done = self.sh(f"cd $(mktemp -d) && git init -q && git push -q https://{GIT}:8443/repo.git HEAD",
                       "git")
        self.assertNotEqual(done.code, 0, done)

    def test_npm_installs(self):
        done = self.sh(f"npm install --registry https://{NPM}/ tinynpm"
                       " && node -p 'require(\"tinynpm\")'", "npm")
        self.assertEqual(done.code, 0, done)
        self.assertTrue(done.out.endswith("from npm\n"), done)
        done = self.sh(f"npm install --silent --fetch-retries 0 --registry https://{PIP}/ tinynpm", "npm")
        self.assertNotEqual(done.code, 0, done)
        self.assertTrue([record for record in self.records() if record["host"] == PIP and
                         (record["program"], record["code"]) == ("/usr/bin/node", "policy_denied")])

    def test_pip_installs(self):
        done = self.sh(f"python3 -m pip install -q --no-cache-dir --disable-pip-version-check -t lib"
                       f" --index-url https://{PIP}/simple tinypip"
                       " && PYTHONPATH=lib python3 -c 'import tinypip; print(tinypip.text)'", "pip3")
        self.assertEqual((done.code, done.out), (0, "from pip\n"), done)
        done = self.sh(f"python3 -m pip download -q --no-cache-dir --disable-pip-version-check --retries 0"
                       f" --index-url https://{NPM}/simple tinypip", "pip3")
        self.assertNotEqual(done.code, 0, done)

    def test_fetch_of_node(self):
        script = ("const get = async u => { try { const r = await fetch(u);"
                  " console.log(r.status, (await r.text()).slice(0, 5)) }"
                  " catch (e) { console.log('failed') } };"
                  f" (async () => {{ await get('https://{NPM}/work/file');"
                  f" await get('https://{PIP}/work/file') }})()")
        done = self.sh(f'node -e "{script}"', "node")
        self.assertEqual((done.code, done.out), (0, "200 from \nfailed\n"), done)

    def test_redis_cli_knows_no_proxy(self):
        done = self.sh(f"redis-cli -h {REDIS} get key", "redis-cli")
        self.assertEqual((done.code, done.out), (0, "from redis\n"), done)
        self.assertIn(b"get key", self.redis.all_received())
        done = self.sh(f"redis-cli -h {REDIS} -p 6380 get key; redis-cli -h {GIT} -p 6379 get key",
                       "redis-cli")
        self.assertEqual(done.out, "", done)


if __name__ == "__main__":
    world.main()
