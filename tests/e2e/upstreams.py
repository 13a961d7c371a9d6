"""Servers of the Internet of network.py that do what a test says: answers in given bytes, files,
names. Each keeps what it was sent.
"""

import json
import os
import re
import subprocess
import sys

import network
import recording_server

TORN = "/torn"


def start(net, kind, address, port, content, certificate=None):
    """A server, with the certificate and key of the network unless it has its own (a pair of paths).
    `content` depends on its kind:

    "answers", "tls-answers": {path: hex of all that is answered}; the connection is closed then,
        but for TORN with the end that TLS has
    "files": a directory, over HTTPS
    "names": {name: [[address, …] for the first query, [address, …] for the next, …]}
    "redis": {key: value}
    """
    log = os.path.join(net.directory, f"{kind}-{address}-{port}")
    process = subprocess.Popen(
        [*net.internet.prefix(), sys.executable, "-B", __file__, kind, address, str(port), log,
         *(certificate or (net.certificate, net.key)), json.dumps(content)],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=network.die_with_the_test)
    assert process.stdout.readline() == b"ready\n"
    server = network.Server(process, log)
    net.keep(server)
    return server


# ── The servers, as programs of their own ───────────────────────────────────────────────────────


def _read_head(stream, record):
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = stream.recv(65536)
        if not chunk:
            return None
        record(chunk)
        data += chunk
    return data


def _answers(stream, record, content):
    data = _read_head(stream, record)
    if data:
        head, body = data.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)content-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += stream.recv(65536) or b"\0" * int(length[1])
        record(body)
        path = head.split(b" ")[1].decode()
        stream.sendall(bytes.fromhex(content.get(path, "")))
        if hasattr(stream, "unwrap") and path != TORN:
            stream.unwrap()


def _files(stream, record, content):
    """One request after the other."""
    while head := _read_head(stream, record):
        path = os.path.join(content, head.split(b" ")[1].decode().split("?")[0].lstrip("/"))
        if os.path.isdir(path):
            path = os.path.join(path, "index.html")
        body = None
        if os.path.isfile(path):
            with open(path, "rb") as file:
                body = file.read()
        kind = "text/html" if path.endswith(".html") else "application/octet-stream"
        status = "404 Not Found" if body is None else "200 OK"
        body = body or b""
        stream.sendall(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)


def _redis(stream, record, content):
    """Commands as arrays of RESP; GET, and errors for the rest."""
    file = stream.makefile("rb")
    while line := file.readline():
        words = []
        for _ in range(int(line[1:])):
            size = int(file.readline()[1:])
            words.append(file.read(size + 2)[:-2].decode())
        record(" ".join(words).encode() + b"\n")
        value = content.get(words[-1]) if words[0].upper() == "GET" else None
        stream.sendall(b"-ERR\r\n" if value is None else
                       f"${len(value)}\r\n{value}\r\n".encode())


def _names(address, port, record, content):
    """A name server: the n-th query for a name has its n-th answer, and the last from then on."""
    import socket  # pylint: disable=import-outside-toplevel
    import struct  # pylint: disable=import-outside-toplevel
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, port))
    print("ready", flush=True)
    asked = {}
    while True:
        query, client = server.recvfrom(1500)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        name, kind = ".".join(labels), struct.unpack(">H", query[at + 1:at + 3])[0]
        record(name.encode() + b"\n")
        answers = content.get(name, [[]])
        addresses = []
        if kind == 1:
            addresses = answers[min(asked.get(name, 0), len(answers) - 1)]
            asked[name] = asked.get(name, 0) + 1
        records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(a) for a in addresses)
        server.sendto(query[:2] + b"\x81\x80\0\1" + struct.pack(">H", len(addresses)) + b"\0\0\0\0" +
                      query[12:at + 5] + records, client)


def _main(kind, address, port, log_path, certificate, key, content):
    content = json.loads(content)
    if kind == "names":
        record = recording_server.recorder(log_path)
        _names(address, int(port), lambda data: record(1, data), content)
    answer = {"files": _files, "redis": _redis}.get(kind, _answers)
    recording_server.serve(address, port, log_path,
                           lambda stream, record: answer(stream, record, content),
                           recording_server.tls(certificate, key)
                           if kind in ("files", "tls-answers") else None)


if __name__ == "__main__":
    _main(*sys.argv[1:])
