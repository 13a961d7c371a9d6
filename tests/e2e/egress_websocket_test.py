"""WebSockets through odyssey-egress: by every way in, each text decided, and the server gets no byte of
what was refused; through the real processes, with servers that keep each byte they are sent.
"""

import world
from egress_test import EgressWorld
from network import PUBLIC
from websocket import frames_of

POLICY = """
version: 1
network_policies:
  messages:
    endpoints:
      - host: api.example.com
        ports: [80, 443]
        protocol: websocket
        rules:
          - allow: {method: GET, path: "/**"}
          - allow: {method: WEBSOCKET_TEXT, path: "/talk/**"}
      - {host: api.example.com, port: 8080, protocol: websocket, access: read-only, enforcement: audit}
    binaries: [{path: "/usr/bin/python3*"}]
  requests:
    endpoints:
      - {host: www.example.com, ports: [80, 443], protocol: rest, rules: [{allow: {method: GET, path: "/talk/*"}}]}
      - {host: a.b.example.com, ports: [80, 443], protocol: json-rpc, rules: [{allow: {method: "*"}}]}
    binaries: [{path: "/usr/bin/python3*"}]
  queries:
    endpoints:
      - host: db.corp.example
        ports: [80, 443]
        protocol: websocket
        rules:
          - allow: {method: GET, path: "/talk/**"}
          - allow: {operation_type: query, fields: [viewer]}
    binaries: [{path: "/usr/bin/python3*"}]
"""

# Of a client in the cell: connect(way, host) and upgrade(path) open one, send() and receive() are for
# frames, and `ended` is what receive() gives at the end.
CLIENT = """
import base64, hashlib, os, socket, ssl, sys

def connect(way, host, port=None):
    global sock, target, name
    name, target = host, ''
    if way == 'transparent':
        sock = socket.create_connection((host, port or 80), 20)
    elif way == 'absolute':
        sock = socket.create_connection(('127.0.0.1', 3128), 20)
        target = f'http://{host}:{port or 80}'
        name = f'{host}:{port or 80}'
    else:
        port = port or (443 if way == 'tls' else 80)
        sock = socket.create_connection(('127.0.0.1', 3128), 20)
        name = f'{host}:{port}'
        sock.sendall(f'CONNECT {name} HTTP/1.1\\r\\nHost: {name}\\r\\n\\r\\n'.encode())
        assert b' 200 ' in read_head()
        if way == 'tls':
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)

def read_head():
    data = b''
    while b'\\r\\n\\r\\n' not in data:
        more = sock.recv(1)
        if not more: break
        data += more
    return data

key = base64.b64encode(os.urandom(16)).decode()

def ask(path, fields='', first=b'', **changed):
    have = {'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Key': key,
            'Sec-WebSocket-Version': '13', **{n.replace('_', '-'): v for n, v in changed.items()}}
    head = ''.join(f'{n}: {v}\\r\\n' for n, v in have.items() if v)
    sock.sendall(f'GET {target}{path} HTTP/1.1\\r\\nHost: {name}\\r\\n{head}{fields}\\r\\n'.encode() + first)
    return read_head()

def upgrade(path, **options):
    head = ask(path, **options)
    if b' 101 ' not in head.split(b'\\r\\n')[0]:
        print(head.split()[1].decode()); sys.exit()
    accept = hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()
    assert base64.b64encode(accept) in head, head
    return head

def frame(opcode, payload=b'', last=True, mask=b'abcd'):
    size, first = len(payload), bytes([opcode | (0x80 if last else 0)])
    bit = 0x80 if mask else 0
    if size < 126: first += bytes([bit | size])
    elif size < 65536: first += bytes([bit | 126]) + size.to_bytes(2, 'big')
    else: first += bytes([bit | 127]) + size.to_bytes(8, 'big')
    if mask: payload = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
    return first + (mask or b'') + payload

def send(*arguments, **options): sock.sendall(frame(*arguments, **options))

def exactly(size):
    data = b''
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more: raise EOFError
        data += more
    return data

ended = (None, b'')

def receive_frame():
    first, second = exactly(2)
    assert second < 128, 'a mask of a server'
    size = second
    if size == 126: size = int.from_bytes(exactly(2), 'big')
    elif size == 127: size = int.from_bytes(exactly(8), 'big')
    return first, exactly(size)

# A whole message, or a control frame.
def receive():
    opcode, message = None, b''
    try:
        while True:
            first, payload = receive_frame()
            if first & 15 >= 8: return first & 15, payload
            opcode = first & 15 or opcode
            message += payload
            if first & 128: return opcode, message
    except (OSError, EOFError):
        return ended

# The code of the close that comes next, and what follows it.
def closed():
    opcode, payload = receive()
    while opcode in (1, 2): opcode, payload = receive()
    assert opcode == 8, (opcode, payload)
    send(8, payload[:2])
    return int.from_bytes(payload[:2], 'big'), receive() == ended
"""

WAYS = ("tls", "absolute", "connect", "transparent")


class WebSocketWorld(EgressWorld):
    policy = POLICY

    @classmethod
    def serve(cls):
        cls.plain = cls.network.serve(PUBLIC, 80, "websocket")
        cls.tls = cls.network.serve(PUBLIC, 443, "websocket-tls")
        cls.audited = cls.network.serve(PUBLIC, 8080, "websocket")

    def client(self, script):
        done = self.run_in_cell("python3", "-c", CLIENT + script)
        self.assertEqual((done.code, done.err), (0, ""), done)
        return done.out

    def server_of(self, way):
        return self.tls if way == "tls" else self.plain

    def sent(self, server, path):
        """The frames that the server was sent on connections for the path, unmasked."""
        found = []
        for data in server.received():
            head, _, rest = data.partition(b"\r\n\r\n")
            if head.startswith(b"GET " + path.encode() + b" "):
                found += frames_of(rest)
        return found


class MessageTest(WebSocketWorld):
    def test_messages_go_both_ways_on_every_way_in(self):
        for way in WAYS:
            path = "/talk/echo-" + way
            out = self.client(f"connect({way!r}, 'api.example.com'); upgrade({path!r})\n"
                              "send(1, 'gr\\u00fc\\u00dfe'.encode()); print(receive()[1].decode())\n"
                              "send(2, bytes(range(256)) * 1000); print(receive() == (2, bytes(range(256)) * 1000))\n"
                              "send(9, b'ping'); print(receive())\n"
                              "send(8, b'\\x03\\xe8bye'); print(receive(), receive() == ended)\n")
            self.assertEqual(out, "gr\u00fc\u00dfe\nTrue\n(10, b'ping')\n(8, b'\\x03\\xe8bye') True\n", way)
            sent = self.sent(self.server_of(way), path)
            self.assertEqual(sent[0], (1, True, "gr\u00fc\u00dfe".encode()))
            self.assertEqual(b"".join(data for opcode, _, data in sent if opcode in (0, 2)),
                             bytes(range(256)) * 1000)
            self.assertRecord(host="api.example.com", path=path, verdict="allowed", status=101)

    def test_compression_is_not_offered_and_masks_are_new(self):
        out = self.client("connect('connect', 'api.example.com')\n"
                          "head = upgrade('/talk/offer', fields='Sec-WebSocket-Extensions: permessage-deflate\\r\\n')\n"
                          "send(1, b'x' * 64); receive(); print(b'xtensions' in head)\n")
        self.assertEqual(out, "False\n")
        data, = [data for data in self.plain.received() if b"/talk/offer" in data]
        self.assertNotIn(b"xtensions", data)
        self.assertNotIn(b"abcd", data)
        self.assertNotIn(b"x" * 64, data)

    def test_what_comes_with_the_heads_is_kept(self):
        out = self.client("connect('tls', 'api.example.com')\n"
                          "upgrade('/talk/early', first=frame(1, b'at once')); print(receive(), receive())\n")
        self.assertEqual(out, "(1, b'early') (1, b'at once')\n")

    def test_a_refused_text_reaches_no_server(self):
        for way in ("tls", "absolute"):
            path = "/quiet/" + way
            out = self.client(f"connect({way!r}, 'api.example.com'); upgrade({path!r})\n"
                              "send(2, b'bytes'); print(receive())\n"
                              "send(1, b'secret', last=False); send(9, b'p'); print(receive())\n"
                              "sock.sendall(frame(0, b'secret') + frame(2, b'more')); print(closed())\n")
            self.assertEqual(out, "(2, b'bytes')\n(10, b'p')\n(1008, True)\n", way)
            sent = self.sent(self.server_of(way), path)
            self.assertEqual(sent[:2], [(2, True, b"bytes"), (9, True, b"p")])
            self.assertEqual([(opcode, data[:2]) for opcode, _, data in sent[2:]], [(8, b"\x03\xf0")])
            self.assertRecord(path=path, method="WEBSOCKET_TEXT", verdict="denied", code="policy_denied")

    def test_a_message_in_fragments_is_decided_whole(self):
        out = self.client("connect('tls', 'db.corp.example'); upgrade('/talk/graphql')\n"
                          "good = b'{\"type\": \"subscribe\", \"id\": \"1\", \"payload\": {\"query\": \"{viewer}\"}}'\n"
                          "send(1, good[:30], last=False); send(0, b'', last=False); send(0, good[30:])\n"
                          "print(receive() == (1, good))\n"
                          "bad = good.replace(b'viewer', b'secret')\n"
                          "send(1, bad[:30], last=False); send(0, bad[30:]); print(closed())\n")
        self.assertEqual(out, "True\n(1008, True)\n")
        sent = self.sent(self.tls, "/talk/graphql")
        self.assertEqual([opcode for opcode, _, _ in sent], [1, 8])
        self.assertIn(b"viewer", sent[0][2])
        self.assertRecord(host="db.corp.example", method="WEBSOCKET_TEXT", verdict="denied")

    def test_audited_texts_go_on_and_are_recorded(self):
        out = self.client("connect('absolute', 'api.example.com', 8080); upgrade('/talk/audit')\n"
                          "send(1, b'hello'); print(receive())\n")
        self.assertEqual(out, "(1, b'hello')\n")
        self.assertRecord(path="/talk/audit", method="WEBSOCKET_TEXT", verdict="audited")

    def test_frames_that_are_none_close_both_ends(self):
        for name, frame, code in (("unmasked", "frame(1, b'x', mask=b'')", 1002),
                                  ("reserved", "frame(0x41, b'x')", 1002),
                                  ("opcode", "frame(3, b'x')", 1002),
                                  ("orphan", "frame(0, b'x')", 1002),
                                  ("long-ping", "frame(9, b'x' * 126)", 1002),
                                  ("not-text", "frame(1, b'\\xff')", 1007),
                                  ("long-text", "frame(1, b'x' * 1048577)", 1009),
                                  ("too-long", "b'\\x82\\xff\\0\\0\\0\\0\\x40\\0\\0\\1abcd'", 1009)):
            path = "/talk/" + name
            out = self.client(f"connect('connect', 'api.example.com'); upgrade({path!r})\n"
                              f"sock.sendall({frame}); print(closed()[0])\n")
            self.assertEqual(out, f"{code}\n", name)
            sent = self.sent(self.plain, path)
            self.assertEqual([(opcode, int.from_bytes(data[:2], "big")) for opcode, _, data in sent],
                             [(8, code)], name)
            self.assertRecord(path=path, code="malformed_message", verdict="denied")

    def test_frames_of_a_server_that_are_none_close_both_ends(self):
        for path in ("/talk/server-mask", "/talk/server-reserved"):
            out = self.client(f"connect('tls', 'api.example.com'); upgrade({path!r}); print(closed()[0])\n")
            self.assertEqual(out, "1002\n", path)
            self.assertRecord(path=path, code="malformed_message", verdict="denied")

    def test_a_connection_that_is_cut_is_no_close(self):
        out = self.client("connect('connect', 'api.example.com'); upgrade('/talk/cut')\n"
                          "print(receive() == ended)\n")
        self.assertEqual(out, "True\n")

    def test_what_was_not_asked_for_is_no_answer(self):
        for way in ("tls", "absolute"):
            for path, options in (("/talk/unsolicited", ", Connection='', Upgrade=''"), ("/talk/wrong-accept", ""),
                                  ("/talk/extension", ""), ("/talk/protocol", "")):
                out = self.client(f"connect({way!r}, 'api.example.com'); upgrade({path!r}{options}, "
                                  "first=b'')\n")
                self.assertEqual(out, "502\n", (way, path))
                self.assertEqual(self.sent(self.server_of(way), path), [])

    def test_a_request_that_is_half_of_one_is_refused(self):
        for options, status in (("Sec_WebSocket_Key=''", 400), ("Sec_WebSocket_Key='short'", 400),
                                ("Sec_WebSocket_Version='8'", 400), ("Upgrade='h2c'", 403),
                                ("Upgrade='websocket, h2c'", 403), ("Connection=''", 403)):
            before = len(self.plain.received())
            out = self.client(f"connect('absolute', 'api.example.com'); upgrade('/talk/half', {options})\n")
            self.assertEqual(out, f"{status}\n", options)
            self.assertEqual(len(self.plain.received()), before)

    def test_other_endpoints(self):
        for way in ("tls", "absolute"):
            for host, path, answer in (("a.b.example.com", "/talk/rpc", "403\n"),
                                       ("www.example.com", "/other", "403\n"),
                                       ("www.example.com", "/talk/rest", "(1, b'hello')\n")):
                out = self.client(f"connect({way!r}, {host!r}); upgrade({path!r})\n"
                                  "send(1, b'hello'); print(receive())\n")
                self.assertEqual(out, answer, (way, host, path))
                for server in (self.plain, self.tls):
                    if answer == "403\n":
                        self.assertNotIn(b"GET " + path.encode() + b" ", server.all_received())


class ChangedPolicyTest(WebSocketWorld):
    """The same cell gets other endpoints while a WebSocket is open."""

    def test_a_policy_that_refuses_the_upgrade_closes_both_ends(self):
        first = self.world.start(
            "exec", "--cell", "live", "--policy", self.policy_file, "--", "python3", "-c",
            CLIENT + "connect('tls', 'api.example.com'); upgrade('/talk/live'); send(1, b'x')\n"
            "assert receive() == (1, b'x')\nprint('open', flush=True)\nprint(closed(), flush=True)\n")
        first.until("open\n")
        narrower = self.world.make("narrower.yaml", POLICY.replace('path: "/**"', 'path: "/quiet/**"'))
        done = self.world.ctl("exec", "--cell", "live", "--policy", narrower, "--", "python3", "-c",
                              CLIENT + "connect('tls', 'api.example.com'); upgrade('/quiet/now'); print('new')\n")
        self.assertEqual(done.out, "new\n", done)
        first.until("(1008, True)\n")
        self.assertEqual(first.ended().code, 0)
        sent = self.sent(self.tls, "/talk/live")
        self.assertEqual([(opcode, data[:2]) for opcode, _, data in sent], [(1, b"x"), (8, b"\x03\xf0")])
        self.assertRecord(path="/talk/live", verdict="denied", code="policy_denied")


if __name__ == "__main__":
    world.main()
