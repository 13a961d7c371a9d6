"""A server of HTTP/2 for network.serve, which keeps each head and byte of a body that it was sent, with
heads as HTTP/1.1 writes them, and one line more where all fields may enter no table of HPACK. It says
each request back: in a body whose frames have 7 bytes, and its Authorization in a field and in a
trailer. Of these paths it does something else:

/encoded, /grpc-encoded: it says at once that its answer is compressed
/early: it begins its answer at once, and ends it after the request
"""

import ctypes
import sys

import recording_server
from h2_client import DATA, END_HEADERS, END_STREAM, HEADERS, PING, SETTINGS, WINDOW_UPDATE, block, frame

FRAME_BYTES = 7
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ACK = 1
_EMIT, _FINAL, _NO_INDEX = 2, 1, 1


class _Pair(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("value", ctypes.c_void_p), ("name_size", ctypes.c_size_t),
                ("value_size", ctypes.c_size_t), ("flags", ctypes.c_uint8)]


class _Inflater:
    """HPACK, by libnghttp2."""

    def __init__(self):
        self._library = ctypes.CDLL("libnghttp2.so.14")
        self._library.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
        self._state = ctypes.c_void_p()
        assert self._library.nghttp2_hd_inflate_new(ctypes.byref(self._state)) == 0

    def fields(self, data):
        """And whether all of them may enter no table."""
        out, no_index, pair, flags = [], True, _Pair(), ctypes.c_int()
        while not flags.value & _FINAL:
            size = self._library.nghttp2_hd_inflate_hd2(
                self._state, ctypes.byref(pair), ctypes.byref(flags), data, ctypes.c_size_t(len(data)), 1)
            assert size >= 0
            data = data[size:]
            if flags.value & _EMIT:
                out.append((ctypes.string_at(pair.name, pair.name_size),
                            ctypes.string_at(pair.value, pair.value_size)))
                no_index = no_index and pair.flags & _NO_INDEX != 0
        self._library.nghttp2_hd_inflate_end_headers(self._state)
        return out, no_index


class _Connection:
    def __init__(self, stream, record):
        self._stream, self._record, self._inflater = stream, record, _Inflater()
        self._heads, self._bodies = {}, {}

    def serve(self):
        file = self._stream.makefile("rb")
        assert file.read(len(PREFACE)) == PREFACE
        self._send(frame(SETTINGS, 0, 0))
        while head := file.read(9):
            kind, flags, at = head[3], head[4], int.from_bytes(head[5:9], "big")
            payload = file.read(int.from_bytes(head[:3], "big"))
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._send(frame(kind, ACK, 0, b"" if kind == SETTINGS else payload))
            if kind == HEADERS:
                self._take_head(at, payload)
            if kind == DATA:
                self._record(payload)
                self._bodies[at] += payload
                size = len(payload).to_bytes(4, "big")
                if payload:
                    self._send(frame(WINDOW_UPDATE, 0, 0, size) + frame(WINDOW_UPDATE, 0, at, size))
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                self._answer(at)

    def _send(self, data):
        self._stream.sendall(data)

    def _take_head(self, at, payload):
        fields, no_index = self._inflater.fields(payload)
        fields = dict(fields)
        lines = [b"%s %s HTTP/2" % (fields.pop(b":method"), fields.pop(b":path")),
                 b"host: " + fields.pop(b":authority")]
        del fields[b":scheme"]
        lines += [name + b": " + value for name, value in fields.items()]
        text = b"\r\n".join(lines) + b"\r\n\r\n"
        self._record(text[:-2] + b"never-indexed: all\r\n\r\n" if no_index else text)
        self._heads[at], self._bodies[at] = text, b""
        path = self._path(at)
        encoded = {b"/encoded": "content-encoding", b"/grpc-encoded": "grpc-encoding"}.get(path)
        if encoded:
            self._send(self._head(at, (encoded, "gzip")) + frame(DATA, 0, at, b"compressed"))
        if path == b"/early":
            self._send(self._head(at) + frame(DATA, 0, at, b"early "))

    def _path(self, at):
        return self._heads[at].split(b" ")[1]

    @staticmethod
    def _head(at, *fields):
        return frame(HEADERS, END_HEADERS, at, block([(":status", "200"), *fields]))

    def _answer(self, at):
        if self._path(at) in (b"/encoded", b"/grpc-encoded"):
            return
        if self._path(at) == b"/early":
            self._send(frame(DATA, END_STREAM, at, b"late"))
            return
        said = next((line[15:].decode() for line in self._heads[at].split(b"\r\n")
                     if line.startswith(b"authorization: ")), "")
        text = self._heads[at] + self._bodies[at][:4096]
        out = self._head(at, ("content-length", str(len(text))), ("x-mirror", said))
        for begin in range(0, len(text), FRAME_BYTES):
            out += frame(DATA, 0, at, text[begin:begin + FRAME_BYTES])
        self._send(out + frame(HEADERS, END_HEADERS | END_STREAM, at, block([("x-trailer", said)])))


def _main(_, address, port, log_path, certificate, key):
    recording_server.serve(address, port, log_path,
                           lambda stream, record: _Connection(stream, record).serve(),
                           recording_server.tls(certificate, key, "h2"))


if __name__ == "__main__":
    _main(*sys.argv[1:])
