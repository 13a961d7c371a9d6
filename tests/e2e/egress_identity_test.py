"""Whose a connection is: the program that the kernel knew when it called connect(2), and no other
that uses the socket, relays it, or is called like it.
"""

import world
from egress_attacks_test import AttackWorld
from network import OTHER, PUBLIC

# A program that connects, and becomes another, or passes the socket on: `python3 -c SCRIPT FD`.
_CONNECT = ("import os, socket, sys; s = socket.create_connection(('127.0.0.1', 3128), 30);"
            "s.settimeout(None); s.set_inheritable(True);")
PASS_ON = _CONNECT + ("import array; u = socket.socket(fileno=int(sys.argv[1]));"
                      "u.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,"
                      " array.array('i', [s.fileno()]))])")
BECOME = _CONNECT + "os.dup2(s.fileno(), 5); os.execv(sys.argv[1], sys.argv[1:])"
# Sends a request on descriptor 5.
ASK = (r"exec 2>&1; printf 'GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' {0} {0} >&5;"
       " cat <&5")


class IdentityTest(AttackWorld):
    policy = """
version: 1
network_policies:
  python:
    endpoints: [{host: api.example.com, ports: [80, 7000]}]
    binaries: [{path: "/usr/bin/python3*"}]
  dash:
    endpoints: [{host: other.example.org, port: 80}]
    binaries: [{path: /usr/bin/dash}]
  perl:
    endpoints: [{host: www.example.com, port: 80}]
    binaries: [{path: /usr/bin/perl}]
"""

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)
        cls.other = cls.network.serve(OTHER, 80)
        cls.echo = cls.network.serve(PUBLIC, 7000, "echo")

    def python(self, script, *arguments):
        return self.run_in_cell("python3", "-c", script, *arguments)

    def test_rules_are_products_of_their_own(self):
        """What a rule names is for its programs, and not for another's."""
        for host, status in (("api.example.com", 200), ("other.example.org", 403),
                             ("www.example.com", 403)):
            answer = self.client.exchange("raw", "", 0, b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n"
                                          b"Connection: close\r\n\r\n" % ((host.encode(),) * 2))
            self.assertEqual(answer.status, status, (host, answer))

    def test_the_program_that_connected_counts_after_it_became_another(self):
        """dash asks on the socket that python3 connected, and python3's rules are in force."""
        done = self.python(BECOME, "/usr/bin/dash", "-c", ASK.format("other.example.org"))
        self.assertIn("HTTP/1.1 403", done.out, done)
        self.assertIn('"binary":"/usr/bin/python3', done.out)
        done = self.python(BECOME, "/usr/bin/dash", "-c", ASK.format("api.example.com"))
        self.assertIn("HTTP/1.1 200", done.out, done)
        self.assertEqual(self.other.received(), [])

    def test_a_socket_that_is_passed_on_is_its_connectors(self):
        """perl has a rule for www.example.com; the connection is python3's all the same."""
        got = self.client.borrow(["/usr/bin/python3", "-c", PASS_ON],
                                 b"GET http://www.example.com/ HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 403 "), got)

    def test_a_passed_socket_of_a_program_with_other_rules(self):
        """python3 uses what perl connected: perl's rules, not python3's."""
        perl = ("use Socket; use IO::Socket::INET; "
                "my $s = IO::Socket::INET->new('127.0.0.1:3128') or die;"
                "$^F = 100; use POSIX; POSIX::dup2(fileno($s), 5);"
                "exec '/usr/bin/python3', '-c', $ARGV[0];")
        ask = ("import socket; s = socket.socket(fileno=5);"
               "s.sendall(b'GET http://{0}/ HTTP/1.1\\r\\nHost: {0}\\r\\nConnection: close\\r\\n\\r\\n');"
               "print(s.recv(4000).decode())")
        done = self.run_in_cell("perl", "-e", perl, ask.format("api.example.com"))
        self.assertIn("HTTP/1.1 403", done.out, done)
        self.assertIn('"binary":"/usr/bin/perl"', done.out)
        done = self.run_in_cell("perl", "-e", perl, ask.format("www.example.com"))
        self.assertIn("HTTP/1.1 200", done.out, done)

    def test_two_programs_that_connect_one_socket_are_none(self):
        """The kernel does not tell which of them uses it: no rule but one for any program matches."""
        script = ("import os, socket, subprocess, sys\n"
                  "s = socket.socket(); s.set_inheritable(True)\n"
                  # The other program's connect(2) fails; that it called is known.
                  "subprocess.run(['/usr/bin/perl', '-e', 'use Socket; open(my $s, \"+<&=\", $ARGV[0]);"
                  "connect($s, pack_sockaddr_in(22, inet_aton(\"203.0.113.9\")))', str(s.fileno())],"
                  " pass_fds=[s.fileno()])\n"
                  "s.connect(('127.0.0.1', 3128))\n"
                  "s.sendall(b'GET http://api.example.com/ HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n')\n"
                  "print(s.recv(4000).decode())\n")
        done = self.python(script)
        self.assertIn("HTTP/1.1 403", done.out, done)
        self.assertIn("a program that is not known", done.out)

    def test_a_program_that_relays_is_the_program(self):
        """What dash asks through python3's relay is python3's, also if dash could ask itself."""
        script = ("import socket, subprocess, threading\n"
                  "own = socket.create_server(('127.0.0.1', 0))\n"
                  "def relay():\n"
                  "  while True:\n"
                  "    client, _ = own.accept()\n"
                  "    out = socket.create_connection(('127.0.0.1', 3128), 30)\n"
                  "    out.sendall(client.recv(4000))\n"
                  "    client.sendall(out.recv(4000)); client.close(); out.close()\n"
                  "threading.Thread(target=relay, daemon=True).start()\n"
                  "for host in ('api.example.com', 'other.example.org'):\n"
                  "  script = f'use IO::Socket::INET;"
                  " my $s = IO::Socket::INET->new(\"127.0.0.1:{own.getsockname()[1]}\"); print $s \"GET http://{host}/ HTTP/1.1\\\\r\\\\nHost: {host}\\\\r\\\\n\\\\r\\\\n\"; print scalar <$s>'\n"
                  "  subprocess.run(['/usr/bin/perl', '-e', script])\n")
        done = self.python(script)
        self.assertIn("HTTP/1.1 200", done.out, done)
        self.assertIn("HTTP/1.1 403", done.out, done)
        self.assertEqual(self.other.received(), [])

    def test_symbolic_links_and_names_are_nothing(self):
        """A link to a program is the program, whatever the link is called."""
        ask = ("import urllib.request as u\nfor host in ('api', 'www'):\n"
               "  try: print(u.urlopen(f'http://{host}.example.com/').status)\n"
               "  except Exception as e: print(e.code)\n")
        done = self.run_in_cell("sh", "-c", "cd /tmp; ln -s /usr/bin/python3 link; ln -s $PWD/link perl;"
                                " ./perl -c \"$0\"", ask)
        self.assertEqual(done.out, "200\n403\n", done)

    def test_the_program_that_started_another_counts(self):
        """A rule for dash is for what dash runs, and not for what runs dash."""
        ask = ("import urllib.request as u\n"
               "try: print(u.urlopen('http://other.example.org/').status)\nexcept Exception as e: print(e.code)")
        done = self.run_in_cell("dash", "-c", "python3 -c \"$0\"; true", ask)
        self.assertEqual(done.out, "200\n", done)

    def test_an_open_tunnel_keeps_no_rule_that_is_gone(self):
        """On one connection: a request that the first policy allows, and the next refuses."""
        script = ("import http.client, sys\n"
                  "c = http.client.HTTPConnection('127.0.0.1', 3128, timeout=30)\n"
                  "for line in sys.stdin:\n"
                  "  c.request('GET', 'http://api.example.com/')\n"
                  "  r = c.getresponse()\n"
                  "  r.read()\n"
                  "  print(r.status, flush=True)\n")
        first = self.world.start("exec", "--cell", "live", "--policy", self.policy_file, "--",
                                 "python3", "-c", script, stdin=-1)
        first.process.stdin.write(b"\n")
        first.process.stdin.flush()
        first.until("200\n")
        narrower = self.world.make("narrower.yaml", self.policy.replace("[80, 7000]", "[7000]"))
        done = self.world.ctl("exec", "--cell", "live", "--policy", narrower, "--", "true")
        self.assertEqual(done.code, 0, done)
        first.process.stdin.write(b"\n")
        first.process.stdin.flush()
        first.until("403\n")
        first.process.stdin.close()


if __name__ == "__main__":
    world.main()
