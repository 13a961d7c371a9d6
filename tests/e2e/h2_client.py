"""A client of HTTP/2 by hand, which sends what real ones do not. Its text is run in cells, before a
script that uses it: `python3 -c`.
"""

import socket
import ssl

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
            + payload)


def _text(text):
    size = len(text)
    head = bytes([size]) if size < 127 else b"\x7f" + bytes([(size - 127) % 128 + 128,
                                                             (size - 127) // 128])
    return head + text.encode()


def block(fields):
    """Fields in any spelling, without compression."""
    return b"".join(b"\x10" + _text(name) + _text(value) for name, value in fields)


class Client:
    """A connection through the proxy of the cell."""

    def __init__(self, host="api.example.com", settings=b"", port=443):
        self.host = host if port == 443 else f"{host}:{port}"
        plain = socket.create_connection(("127.0.0.1", 3128), 60)
        plain.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(1000)
        context = ssl.create_default_context()
        context.set_alpn_protocols(["h2"])
        self.stream = context.wrap_socket(plain, server_hostname=host)
        assert self.stream.selected_alpn_protocol() == "h2"
        self._pending, self._bodies, self._ended = b"", {}, {}
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))

    def send(self, data):
        self.stream.sendall(data)

    def request(self, stream, path, *more, method="GET", ended=True, authority=None):
        fields = [(":method", method), (":scheme", "https"), (":path", path),
                  (":authority", authority or self.host), *more]
        return frame(HEADERS, END_HEADERS | (END_STREAM if ended else 0), stream, block(fields))

    def read(self):
        """One frame: kind, flags, stream, payload. None at the end."""
        while len(self._pending) < 9 or \
                len(self._pending) < 9 + int.from_bytes(self._pending[:3], "big"):
            try:
                chunk = self.stream.recv(65536)
            except OSError:
                return None
            if not chunk:
                return None
            self._pending += chunk
        size = 9 + int.from_bytes(self._pending[:3], "big")
        head, payload = self._pending[:9], self._pending[9:size]
        self._pending = self._pending[size:]
        return head[3], head[4], int.from_bytes(head[5:9], "big"), payload

    def answer(self, stream):
        """How the stream ended: the bytes of its body, "reset CODE", or how the connection did."""
        while stream not in self._ended:
            got = self.read()
            if got is None:
                return "closed"
            kind, flags, at, payload = got
            if kind == GOAWAY and int.from_bytes(payload[4:8], "big"):
                return f"goaway {int.from_bytes(payload[4:8], 'big')}"
            if kind == RST_STREAM:
                self._ended.setdefault(at, f"reset {int.from_bytes(payload, 'big')}")
            if kind == DATA:
                self._bodies[at] = self._bodies.get(at, b"") + payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                self._ended.setdefault(at, self._bodies.get(at, b"").decode().strip())
        return self._ended[stream]
