"""Two network namespaces of a test's own, joined by a cable: a host with Odyssey, and what stands for
the Internet. Nothing of them reaches the machine's network.

The Internet has servers that keep every byte that they are sent.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

PUBLIC = "93.184.216.34"        # of every name of NAMES but those below
OTHER = "93.184.216.35"
PRIVATE = "10.9.9.9"
RESOLVER = "11.0.0.2"           # no name server, unless a test starts one there
NAMES = {
    "api.example.com": PUBLIC,
    "www.example.com": PUBLIC,
    "a.b.example.com": PUBLIC,
    "other.example.org": OTHER,
    "grpc.example.com": OTHER,
    "inside.example.com": PRIVATE,
    "db.corp.example": PUBLIC,
    "loop.example.com": "127.0.0.1",
    "graph.example.com": PUBLIC,
    "rpc.example.com": PUBLIC,
    "mcp.example.com": PUBLIC,
    "registry.test": PUBLIC,
    "blobs.registry.test": OTHER,
    "inside.registry.test": PRIVATE,
}

_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def die_with_the_test():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class _Namespaces:
    """A process that holds namespaces open."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(["unshare", *flags, "sh", "-c", "echo; exec sleep 100000"],
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        preexec_fn=die_with_the_test)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def prefix(self, mounts=False):
        return ["nsenter", "-t", str(self.pid), "-n", *(["-m"] if mounts else [])]

    def run(self, *command):
        subprocess.run([*self.prefix(True), *command], check=True, capture_output=True)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Network:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="odyssey-net-")
        self.host = _Namespaces("--net", "--mount")
        self.internet = _Namespaces("--net", "--mount")
        self._servers = []
        self._join()
        self._make_files()

    def _join(self):
        self.host.run("ip", "link", "add", "h0", "type", "veth", "peer", "name", "i0", "netns",
                      str(self.internet.pid))
        for side, name, address in ((self.host, "h0", "11.0.0.1/24"),
                                    (self.internet, "i0", "11.0.0.2/24")):
            side.run("ip", "address", "add", address, "dev", name)
            side.run("ip", "link", "set", name, "up")
            side.run("ip", "link", "set", "lo", "up")
        for address in (PUBLIC, OTHER, PRIVATE):
            self.internet.run("ip", "address", "add", address + "/32", "dev", "lo")
        self.host.run("ip", "route", "add", "default", "via", "11.0.0.2")

    def _make_files(self):
        """/etc/hosts, /etc/resolv.conf and the certificates that the host trusts."""
        hosts = self.directory + "/hosts"
        with open(hosts, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"{address} {name}\n" for name, address in NAMES.items())
        self.key, self.certificate = self.directory + "/key.pem", self.directory + "/cert.pem"
        names = ",".join("DNS:" + name for name in NAMES) + f",IP:{PUBLIC}"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=" + names,
             "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True)
        resolver = self.directory + "/resolv.conf"
        with open(resolver, "w", encoding="ascii") as file:
            file.write(f"nameserver {RESOLVER}\n")
        self.host.run("mount", "--bind", hosts, "/etc/hosts")
        self.host.run("mount", "--bind", resolver, "/etc/resolv.conf")
        self.host.run("mount", "--bind", self.certificate, "/etc/ssl/certs/ca-certificates.crt")

    @property
    def prefix(self):
        """Before a command that is to run on the host."""
        return self.host.prefix(True)

    def serve(self, address, port, kind="http", program=__file__):
        """A server of the Internet: "http", "https", "echo", "tls" (echo under TLS), "mirror" (https, which
        says each request back, and its Authorization in a field), "websocket" or "websocket-tls"; or
        another program's."""
        log = os.path.join(self.directory, f"log-{len(self._servers)}")
        process = subprocess.Popen(
            [*self.internet.prefix(), sys.executable, "-B", program, kind, address, str(port), log,
             self.certificate, self.key], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            preexec_fn=die_with_the_test)
        assert process.stdout.readline() == b"ready\n"
        server = Server(process, log)
        self.keep(server)
        return server

    def keep(self, server):
        """Closed with the network."""
        self._servers.append(server)

    def close(self):
        for server in self._servers:
            server.close()
        self.host.close()
        self.internet.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Server:
    def __init__(self, process, log):
        self.process, self.log = process, log

    def received(self):
        """What each connection sent so far, in their order."""
        with open(self.log, encoding="ascii") as file:
            lines = [json.loads(line) for line in file]
        connections = {}
        for line in lines:
            connections.setdefault(line["connection"], b"")
            connections[line["connection"]] += bytes.fromhex(line["bytes"])
        return list(connections.values())

    def all_received(self):
        return b"".join(self.received())

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


# ── The servers, as programs of their own ───────────────────────────────────────────────────────


def _main(kind, address, port, log_path, certificate, key):
    import recording_server  # pylint: disable=import-outside-toplevel
    import websocket  # pylint: disable=import-outside-toplevel

    def answer_http(stream, record):
        pending = b""
        while chunk := stream.recv(65536):
            record(chunk)
            pending += chunk
            while b"\r\n\r\n" in pending:
                head, rest = pending.split(b"\r\n\r\n", 1)
                fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
                fields = {name.lower(): value for name, value in fields.items()}
                size = int(fields.get(b"content-length", b"0"))
                if fields.get(b"transfer-encoding") == b"chunked":
                    if b"0\r\n\r\n" not in rest:
                        break
                    body, rest = rest.split(b"0\r\n\r\n", 1)
                    size = 0
                if len(rest) < size:
                    break
                before, pending = rest, rest[size:]
                text = b"hello " + head.split(b" ")[1] + b"\n"
                mirrored = b""
                if kind == "mirror":
                    mirrored = b"X-Mirror: %s\r\n" % fields.get(b"authorization", b"")
                    text = head + b"\r\n\r\n" + before[:size]
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nAlt-Svc: h3=\":443\"\r\n%s"
                               b"\r\n%s" % (len(text), mirrored, b"" if head[:4] == b"HEAD" else text))

    def echo(stream, record):
        while chunk := stream.recv(65536):
            record(chunk)
            stream.sendall(chunk)

    answer = echo
    if kind.startswith("websocket"):
        answer = websocket.answer
    elif kind in ("http", "https", "mirror"):
        answer = answer_http
    under_tls = kind in ("https", "tls", "mirror", "websocket-tls")
    recording_server.serve(address, port, log_path, answer,
                           recording_server.tls(certificate, key) if under_tls else None)


if __name__ == "__main__":
    _main(*sys.argv[1:])
