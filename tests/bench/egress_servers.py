"""What the egress rows measure with: a server beyond the cable of tests/e2e/network.py, and three proxies on its
host, as one would run them for a cell. Each is one process in the foreground, which the kernel kills with the bench.
"""

import os
import subprocess
import sys

import host
import network
from host import HANG_S
from network import PUBLIC

WEB, PLAIN, TLS, ECHO = 80, 8000, 443, 7000  # ports of the server
TINYPROXY, SQUID = 8888, 3129
HAPROXY = {PLAIN: 9000, TLS: 9001, ECHO: 9002, WEB: 9003}  # where it listens for each
HAPROXY_TERMINATED = 9004
SMALL_BYTES = 200

# One worker: the client, a proxy and the server share the cores as they would.
NGINX = """
user root; daemon off; master_process off; pid {dir}/nginx.pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; keepalive_timeout 600;
  open_file_cache max=10 inactive=1h; client_body_temp_path {dir}/body;
  server {{
    listen {address}:80 backlog=1024; listen {address}:8000; listen {address}:443 ssl;
    root {dir}/www; ssl_certificate {certificate}; ssl_certificate_key {key}; ssl_session_cache off;
  }}
}}
"""

ECHO_SERVER = """
import socket, sys, threading
def serve(stream):
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while data := stream.recv(65536): stream.sendall(data)
    except OSError: pass
    stream.close()
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=64)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# CONNECT is what a client asks of a proxy; this one only refuses it, on the port of plain HTTP.
HAPROXY_CONF = """
global
  maxconn 4096
defaults
  timeout connect 10s
  timeout client 1m
  timeout server 1m
  option splice-auto
listen plain
  bind 127.0.0.1:9000
  server one {address}:8000
listen tls
  bind 127.0.0.1:9001
  server one {address}:443
listen echo
  bind 127.0.0.1:9002
  server one {address}:7000
listen web
  mode http
  bind 127.0.0.1:9003
  http-request deny deny_status 403 if METH_CONNECT
  server one {address}:80
listen terminated
  mode http
  http-reuse never
  bind 127.0.0.1:9004 ssl crt {pair}
  server one {address}:443 ssl verify required ca-file {certificate} sni ssl_fc_sni
"""

TINYPROXY_CONF = """
Port 8888
Listen 127.0.0.1
Timeout 600
LogLevel Critical
MaxClients 200
Allow 127.0.0.1
DisableViaHeader Yes
Filter "{dir}/filter"
FilterDefaultDeny Yes
"""

SQUID_CONF = """
http_port 127.0.0.1:3129
acl named dstdomain .example.com
http_access allow named
http_access deny all
cache deny all
access_log none
cache_log /dev/null
cache_store_log none
pid_filename none
netdb_filename none
pinger_enable off
visible_hostname squid
shutdown_lifetime 0 seconds
"""


class Servers:
    """Runs until close(). `net` outlives it. `big_bytes`: the size of /big."""

    def __init__(self, net, big_bytes):
        self._net = net
        self._processes = {}
        self._make_files(big_bytes)
        inside, outside = net.prefix, net.internet.prefix()
        directory = net.directory
        self._start("nginx", [*outside, "nginx", "-e", "stderr", "-c", directory + "/nginx.conf"],
                    (PUBLIC, TLS))
        self._start("echo", [*outside, sys.executable, "-c", ECHO_SERVER, PUBLIC, str(ECHO)], (PUBLIC, ECHO))
        self._start("haproxy", [*inside, "haproxy", "-db", "-q", "-f", directory + "/haproxy.conf"],
                    ("127.0.0.1", HAPROXY_TERMINATED))
        self._start("tinyproxy", [*inside, "tinyproxy", "-d", "-c", directory + "/tinyproxy.conf"],
                    ("127.0.0.1", TINYPROXY))
        # As a user of its own, since it refuses to be root's; a change of uid clears PR_SET_PDEATHSIG.
        self._start("squid", [*inside, "setpriv", "--reuid=proxy", "--regid=proxy", "--clear-groups",
                              "--pdeathsig=KILL", "squid", "-N", "-f", directory + "/squid.conf"],
                    ("127.0.0.1", SQUID))

    def _make_files(self, big_bytes):
        directory = self._net.directory
        os.chmod(directory, 0o755)  # squid reads its file as another user
        os.mkdir(directory + "/www")
        with open(directory + "/www/small", "wb") as file:
            file.write(b"x" * SMALL_BYTES)
        with open(directory + "/www/big", "wb") as file:
            file.truncate(big_bytes)
        with open(directory + "/www/big", "rb") as file:  # into the page cache
            while file.read(1 << 20):
                pass
        pair = directory + "/pair.pem"
        with open(pair, "w", encoding="ascii") as file:
            for part in (self._net.certificate, self._net.key):
                with open(part, encoding="ascii") as source:
                    file.write(source.read())
        for name, text in (("nginx.conf", NGINX), ("haproxy.conf", HAPROXY_CONF), ("squid.conf", SQUID_CONF),
                           ("tinyproxy.conf", TINYPROXY_CONF), ("filter", "\\.example\\.com$\n")):
            with open(f"{directory}/{name}", "w", encoding="ascii") as file:
                file.write(text.format(dir=directory, address=PUBLIC, pair=pair, key=self._net.key,
                                       certificate=self._net.certificate)
                           if name != "filter" else text)

    def _start(self, name, argv, listens):
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=network.die_with_the_test)
        self._processes[name] = process

        def ready():
            assert process.poll() is None, f"{name} ended with {process.returncode}"
            probe = ("import socket, sys\n"
                     "sys.exit(socket.socket().connect_ex((sys.argv[1], int(sys.argv[2]))) != 0)")
            return subprocess.run([*self._net.prefix, sys.executable, "-c", probe, listens[0], str(listens[1])],
                                  check=False).returncode == 0
        host.eventually(ready, HANG_S, f"{name} listens on {listens}")

    def pid(self, name):
        return self._processes[name].pid

    def close(self):
        for process in self._processes.values():
            process.kill()
            process.wait()
