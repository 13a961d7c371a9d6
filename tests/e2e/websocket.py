"""A WebSocket server of tests, without a library: it does what the path of the request says."""

import base64
import hashlib

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def _cut_frame(data):
    """(opcode, last, payload without its mask) and what follows it; None if it is not whole."""
    if len(data) < 2:
        return None
    size, at = data[1] & 127, 2
    if size >= 126:
        at = 4 if size == 126 else 10
        size = int.from_bytes(data[2:at], "big")
    mask = b"\0\0\0\0"
    if data[1] & 128:
        mask = data[at:at + 4]
        at += 4
    if len(data) < at + size:
        return None
    repeated = (mask * (size // 4 + 1))[:size]
    payload = (int.from_bytes(data[at:at + size], "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
    return (data[0] & 15, data[0] >= 128, payload), data[at + size:]


def frames_of(data):
    """All whole frames at the beginning of `data`."""
    frames = []
    while cut := _cut_frame(data):
        frames.append(cut[0])
        data = cut[1]
    return frames


def frame(first, payload):
    size = len(payload)
    if size < 126:
        return bytes([first, size]) + payload
    if size < 65536:
        return bytes([first, 126]) + size.to_bytes(2, "big") + payload
    return bytes([first, 127]) + size.to_bytes(8, "big") + payload


def _answer_head(head):
    """The response, and what is sent in the same packet."""
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    fields = {name.lower(): value for name, value in fields.items()}
    path = head.split(b" ")[1]
    key = fields.get(b"sec-websocket-key", b"")
    if path.endswith(b"/wrong-accept"):
        key += b"x"
    more = {b"/extension": b"Sec-WebSocket-Extensions: permessage-deflate\r\n",
            b"/protocol": b"Sec-WebSocket-Protocol: other\r\n"}.get(path[path.rfind(b"/"):], b"")
    first = {b"/early": frame(0x81, b"early"), b"/server-mask": b"\x81\x81abcdx",
             b"/server-reserved": frame(0xC1, b"x")}.get(path[path.rfind(b"/"):], b"")
    accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
    return (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n" + more + b"\r\n" + first, path)


def answer(stream, record):
    """One WebSocket that sends back each frame, a ping as a pong."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = stream.recv(65536)
        if not chunk:
            return
        record(chunk)
        data += chunk
    head, data = data.split(b"\r\n\r\n", 1)
    response, path = _answer_head(head)
    stream.sendall(response)
    if path.endswith(b"/cut"):
        return
    while True:
        while cut := _cut_frame(data):
            (opcode, last, payload), data = cut
            stream.sendall(frame((128 if last else 0) | (10 if opcode == 9 else opcode), payload))
            if opcode == 8:
                return
        chunk = stream.recv(65536)
        if not chunk:
            return
        record(chunk)
        data += chunk
