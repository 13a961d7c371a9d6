"""A server of the Internet of network.py, in a program of its own: keeps every byte that it is sent,
as network.Server reads it.
"""

import json
import socket
import ssl
import threading


def recorder(log_path):
    """record(connection, bytes) adds to the log; for any thread."""
    log = open(log_path, "w", encoding="ascii", buffering=1)
    lock = threading.Lock()

    def record(connection, data):
        with lock:
            log.write(json.dumps({"connection": connection, "bytes": data.hex()}) + "\n")
    return record


def tls(certificate, key, *protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def serve(address, port, log_path, answer, context=None):
    """Calls answer(stream, record) for each connection, in a thread of its own, and closes it then.
    `context`: of TLS around each. Never returns.
    """
    record = recorder(log_path)
    listener = socket.create_server((address, int(port)), backlog=1024)

    def serve_one(stream, number):
        record(number, b"")
        try:
            if context:
                stream = context.wrap_socket(stream, server_side=True)
            answer(stream, lambda data: record(number, data))
            stream.close()
        except OSError:
            stream.close()

    print("ready", flush=True)
    number = 0
    while True:
        stream, _ = listener.accept()
        number += 1
        threading.Thread(target=serve_one, args=(stream, number), daemon=True).start()
