"""Debian's docker-registry on addresses of a test's Internet (network.py), and servers that are no
registry: one that says nothing, one that serves what a registry keeps.
"""

import json
import os
import subprocess
import sys
import urllib.request

import host
import image_maker
from network import PUBLIC, die_with_the_test

PLAIN_PORT = 5000
USER, PASSWORD = "me", "a secret of mine"


class Registry:
    """All that a test starts of it share one store of images."""

    def __init__(self, network):
        self.network = network
        self.directory = network.directory + "/registry"
        os.makedirs(self.directory)
        self._processes = []
        self.serve(PUBLIC, PLAIN_PORT)

    def serve(self, address, port, tls=False, password=False, redirect=""):
        """`redirect`: the URL below which it says that layers are."""
        config = {"version": "0.1", "log": {"level": "error"},
                  "storage": {"filesystem": {"rootdirectory": self.directory + "/store"}},
                  "http": {"addr": f"{address}:{port}", "secret": "of no use"}}
        if tls:
            config["http"]["tls"] = {"certificate": self.network.certificate,
                                     "key": self.network.key}
        if password:
            import crypt  # pylint: disable=import-outside-toplevel
            users = self.directory + "/htpasswd"
            with open(users, "w", encoding="ascii") as file:
                salt = crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)
                file.write(f"{USER}:{crypt.crypt(PASSWORD, salt)}\n")
            config["auth"] = {"htpasswd": {"realm": "test", "path": users}}
        if redirect:
            config["middleware"] = {"storage": [{"name": "redirect",
                                                 "options": {"baseurl": redirect}}]}
        path = f"{self.directory}/config-{address}-{port}.yml"
        with open(path, "w", encoding="ascii") as file:
            json.dump(config, file)  # YAML too
        with open(path + ".log", "wb") as log:
            process = subprocess.Popen(
                [*self.network.internet.prefix(), "docker-registry", "serve", path],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=die_with_the_test)
        self._processes.append(process)
        self._wait_for(address, port, path + ".log")

    def _wait_for(self, address, port, log):
        def answers():
            return subprocess.run(
                [*self.network.internet.prefix(), sys.executable, "-c",
                 f"import socket; socket.create_connection(('{address}', {port}))"],
                capture_output=True, check=False).returncode == 0

        def why():
            with open(log, encoding="utf-8", errors="replace") as file:
                return file.read()
        host.eventually(answers, host.HANG_S, why)

    def push(self, layout, there, name, *options):
        """An image of a layout, or with --all an index."""
        image_maker.skopeo("copy", "--insecure-policy", "--dest-tls-verify=false", *options,
                           f"oci:{layout.directory}:{there}",
                           f"docker://{PUBLIC}:{PLAIN_PORT}/{name}",
                           prefix=self.network.internet.prefix())

    def put(self, layout, manifest, name, tag):
        """A manifest of a layout by its descriptor, and its blobs, as they are: skopeo would change them."""
        subprocess.run([*self.network.internet.prefix(), sys.executable, "-B", __file__, "put",
                        f"http://{PUBLIC}:{PLAIN_PORT}/v2/{name}", tag,
                        layout.path(manifest["digest"])], check=True, capture_output=True)

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()


def _put(repository, tag, manifest_path):
    def request(method, url, data=b"", **fields):
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        return urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method))

    with open(manifest_path, "rb") as file:
        text = file.read()
    manifest = json.loads(text)
    for blob in [manifest["config"], *manifest["layers"]]:
        path = os.path.join(os.path.dirname(manifest_path), blob["digest"].split(":")[1])
        with open(path, "rb") as file:
            data = file.read()
        location = request("POST", repository + "/blobs/uploads/").headers["Location"]
        request("PUT", f"{location}&digest={blob['digest']}", data,
                Content_Type="application/octet-stream")
    request("PUT", f"{repository}/manifests/{tag}", text, Content_Type=manifest["mediaType"])


# ── Programs of network.serve ───────────────────────────────────────────────────────────────────


def _main(kind, address, port, log_path, certificate, key):
    import recording_server  # pylint: disable=import-outside-toplevel

    def say_nothing(stream, record):
        while chunk := stream.recv(65536):
            record(chunk)

    def serve_files(stream, record):
        """What the registry keeps, below the directory of its store."""
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = stream.recv(65536)
            if not chunk:
                return
            head += chunk
        record(head)
        path = head.split(b" ")[1].decode("ascii").split("?")[0]
        store = os.path.join(os.path.dirname(log_path), "registry", "store")
        with open(store + os.path.normpath(path), "rb") as file:
            body = file.read()
        stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                       % len(body) + body)

    answer, context = {"silent": (say_nothing, None),
                       "files": (serve_files, recording_server.tls(certificate, key))}[kind]
    recording_server.serve(address, port, log_path, answer, context)


if __name__ == "__main__":
    (_put if sys.argv[1] == "put" else _main)(*sys.argv[2 if sys.argv[1] == "put" else 1:])
