"""A program in a cell that connects as it is told, by each way out, and reports what came of it.

It runs as one command for many connections. Between two of them a test may have it ask for a name
that does not exist: the record of that cuts the audit log into the parts of each connection.
"""

import dataclasses
import json
import subprocess

# Ways out, each with the port and whether it is under TLS.
ABSOLUTE, CONNECT, SOCKS, TCP = "absolute", "connect", "socks", "tcp"
HTTP_WAYS = ((ABSOLUTE, 80, False), (CONNECT, 80, False), (CONNECT, 443, True),
             (SOCKS, 80, False), (SOCKS, 443, True), (TCP, 80, False), (TCP, 443, True))

PROGRAM = r'''
import json, os, socket, ssl, struct, sys
PROXY, TIME = ("127.0.0.1", 3128), 30

def take(stream, size):
    data = b""
    while len(data) < size:
        chunk = stream.recv(size - len(data))
        if not chunk: raise EOFError
        data += chunk
    return data

def connect(host, port, early):
    s = socket.create_connection(PROXY, TIME)
    name = f"{host}:{port}".encode()
    s.sendall(b"CONNECT " + name + b" HTTP/1.1\r\nHost: " + name + b"\r\n\r\n" + early)
    head = b""
    while b"\r\n\r\n" not in head: head += take(s, 1)
    if b" 200 " in head: return s, b""
    while chunk := s.recv(65536): head += chunk
    return None, head

def socks(host, port, early):
    s = socket.create_connection(PROXY, TIME)
    name = host.encode("latin-1")
    s.sendall(b"\5\1\0\5\1\0\3" + bytes([len(name)]) + name + struct.pack(">H", port) + early)
    assert take(s, 2) == b"\5\0"
    reply = take(s, 10)
    return (s, b"") if reply[1] == 0 else (None, b"socks %d" % reply[1])

def tcp(host, port, early):
    s = socket.create_connection((host, port), TIME)
    s.sendall(early)
    return s, b""

def raw(host, port, early):
    s = socket.create_connection(PROXY, TIME)
    s.sendall(early)
    return s, b""

WAYS = {"connect": connect, "socks": socks, "tcp": tcp, "absolute": raw, "raw": raw}

class Hello:
    """TLS over a socket whose ClientHello was sent with what opened the connection."""
    def __init__(self, name, host):
        self.context = ssl.create_default_context()
        if name != host:
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = self.context.wrap_bio(self.into, self.out, server_hostname=name or None)
        try: self.tls.do_handshake()
        except ssl.SSLWantReadError: pass
        self.first = self.out.read()
    def attach(self, s):
        self.s = s
        while True:
            try:
                self.tls.do_handshake()
                return self.s.sendall(self.out.read())
            except ssl.SSLWantReadError: self.more()
    def more(self):
        self.s.sendall(self.out.read())
        chunk = self.s.recv(65536)
        if not chunk: raise EOFError
        self.into.write(chunk)
    def sendall(self, data):
        self.tls.write(data)
        self.s.sendall(self.out.read())
    def recv(self, size):
        while True:
            try: return self.tls.read(size)
            except ssl.SSLWantReadError: self.more()
            except ssl.SSLZeroReturnError: return b""

def exchange(a):
    send = [bytes.fromhex(part) for part in a["send"]]
    hello = None
    if a["tls"]:
        hello = Hello(a["name"], a["host"])
        early = hello.first
    elif a["way"] in ("absolute", "raw") or a["early"]:
        early = send.pop(0)
    else: early = b""
    stream, answer = WAYS[a["way"]](a["host"], a["port"], early)
    if stream is None: return answer, "refused"
    if hello:
        hello.attach(stream)
        stream = hello
    until, got = bytes.fromhex(a["until"]), b""
    try:
        for part in send: stream.sendall(part)
        while not (until and got.endswith(until)):
            chunk = stream.recv(65536)
            if not chunk: return got, "ended"
            got += chunk
    except socket.timeout: return got, "silent"
    except (EOFError, OSError) as e: return got, "reset"
    return got, "open"

def resolve(a):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(TIME)
    s.connect(("127.0.0.1", 53))
    name = b"".join(bytes([len(label)]) + label for label in a["name"].encode("latin-1").split(b"."))
    s.send(b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\0" + struct.pack(">HH", a["type"], 1))
    return s.recv(1000), "answered"

def datagram(a):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(TIME)
    s.connect((a["host"], a["port"]))
    s.send(b"x")
    return s.recv(1000), "answered"

def borrow(a):
    """Another program's connection: the socket of `program`, passed over a Unix socket."""
    import array, subprocess
    ours, theirs = socket.socketpair()
    subprocess.run([*a["program"], str(theirs.fileno())], pass_fds=[theirs.fileno()], check=True)
    _, control, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    s = socket.socket(fileno=array.array("i", control[0][2])[0])
    s.settimeout(TIME)
    s.sendall(bytes.fromhex(a["send"][0]))
    got = b""
    try:
        while chunk := s.recv(65536): got += chunk
    except OSError: return got, "reset"
    return got, "ended"

DO = {"exchange": exchange, "resolve": resolve, "borrow": borrow, "datagram": datagram}
for line in sys.stdin:
    a = json.loads(line)
    try: got, end = DO[a["do"]](a)
    except socket.gaierror: got, end = b"", "no name"
    except ConnectionRefusedError: got, end = b"", "refused"
    except (EOFError, OSError, ValueError) as e: got, end = repr(e).encode(), "reset"
    print(json.dumps({"got": got.hex(), "end": end}), flush=True)
'''


@dataclasses.dataclass
class Answer:
    """`end`: ended, reset, refused, silent (nothing came in 30 s), open, no name, answered."""
    got: bytes
    end: str

    @property
    def status(self):
        """Of the first response of HTTP."""
        words = self.got.split(b" ", 2)
        return int(words[1]) if self.got.startswith(b"HTTP/") else None

    def json(self):
        return json.loads(self.got.split(b"\r\n\r\n", 1)[1])


class CellClient:
    """`options`: of `exec`. `python`: the program, as the cell calls it."""

    def __init__(self, world, policy, python="python3", options=()):
        self._process = subprocess.Popen(
            world.argv("exec", *options, "--policy", policy, "--", python, "-c", PROGRAM),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _do(self, **action):
        self._process.stdin.write(json.dumps(action).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Answer(bytes.fromhex(answer["got"]), answer["end"])

    def exchange(self, way, host, port, *send, tls=False, name=None, early=False, until=b""):
        """Connects, sends each part, and reads to the end, or to `until`.

        `name`: in the ClientHello; the host unless it is given. `early`: the first part is sent in
        one write with what opens the connection; a ClientHello always is.
        """
        return self._do(do="exchange", way=way, host=host, port=port, tls=tls,
                        name=host if name is None else name, early=early, until=until.hex(),
                        send=[part.hex() for part in send])

    def resolve(self, name, kind=1):
        """The reply of the cell's resolver. `kind`: of the question."""
        return self._do(do="resolve", name=name, type=kind).got

    def datagram(self, host, port):
        return self._do(do="datagram", host=host, port=port)

    def borrow(self, program, send):
        """What comes to the socket that `program` connected, and passed on."""
        return self._do(do="borrow", program=program, send=[send.hex()]).got

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
