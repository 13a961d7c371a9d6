#!/usr/bin/env python3
"""The client of the egress rows that no other program measures. It runs on the host and in cells, and prints the
median of its times in microseconds.

usage: echo ADDRESS PORT VIA TARGET COUNT       a round trip of one byte, on one connection
       first-byte ADDRESS PORT VIA NAME…        from connect to the first byte of a response under TLS, once a name
       refused ADDRESS PORT VIA TARGET COUNT    from connect to its refusal: ECONNREFUSED, or 403

VIA: "connect", CONNECT to TARGET (or NAME:443) is sent first; "direct", it is not.
"""

import socket
import ssl
import statistics
import sys
import time

TIME_LIMIT_S = 30


def connect(address, via, target):
    """A connected socket, and the status of CONNECT's answer."""
    stream = socket.create_connection(address, TIME_LIMIT_S)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if via == "direct":
        return stream, 200
    stream.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = stream.recv(65536)
        if not chunk:
            raise EOFError(f"CONNECT {target}: ended after {head!r}")
        head += chunk
    return stream, int(head.split(b" ")[1])


def opened(address, via, target):
    stream, status = connect(address, via, target)
    if status != 200:
        raise ValueError(f"CONNECT {target}: {status}")
    return stream


def echo(address, via, target, count):
    times = []
    with opened(address, via, target) as stream:
        for _ in range(int(count)):
            began = time.perf_counter()
            stream.sendall(b"x")
            answer = stream.recv(1)
            times.append(time.perf_counter() - began)
            if answer != b"x":
                raise EOFError("echo: the connection ended")
    return times


def first_byte(address, via, *names):
    context, times = ssl.create_default_context(), []
    for name in names:
        began = time.perf_counter()
        with context.wrap_socket(opened(address, via, name + ":443"), server_hostname=name) as stream:
            stream.sendall(f"GET /small HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
            answer = stream.recv(65536)
            times.append(time.perf_counter() - began)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise ValueError(f"first-byte: {name} answered {answer[:100]!r}")
    return times


def refused(address, via, target, count):
    times = []
    for _ in range(int(count)):
        began = time.perf_counter()
        try:
            stream, status = connect(address, via, target)
            stream.close()
        except ConnectionRefusedError:
            status = 403
        times.append(time.perf_counter() - began)
        if status != 403:
            raise ValueError(f"refused: {target}: {status}")
    return times


def main():
    measure = {"echo": echo, "first-byte": first_byte, "refused": refused}[sys.argv[1]]
    times = measure((sys.argv[2], int(sys.argv[3])), *sys.argv[4:])
    print(statistics.median(times) * 1e6)


if __name__ == "__main__":
    main()
