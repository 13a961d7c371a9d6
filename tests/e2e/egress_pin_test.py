"""Programs of a rule that are pinned by the content of their file, or that count for themselves alone;
through the real processes.
"""

import hashlib
import os
import shutil

import world
from egress_test import EgressWorld
from network import PUBLIC

PERL = "/usr/bin/perl"
# Asks, and prints the status, and the reason of a refusal.
ASK = ('use IO::Socket::INET; my $s = IO::Socket::INET->new("127.0.0.1:3128") or die;'
       'my $h = $ARGV[0] // "api.example.com";'
       'print $s "GET http://$h/ HTTP/1.1\\r\\nHost: $h\\r\\nConnection: close\\r\\n\\r\\n";'
       'local $/; print <$s>;')
OK, REFUSED = "HTTP/1.1 200", "HTTP/1.1 403"


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class PinWorld(EgressWorld):
    """Copies of perl in a workspace: one as it is, and one with a byte behind it."""

    binaries = ""

    @classmethod
    def setUpClass(cls):
        cls.good = sha256_of(PERL)
        cls.policy = ("version: 1\nnetwork_policies:\n  pinned:\n"
                      "    endpoints: [{host: api.example.com, port: 80}]\n"
                      f"    binaries: [{cls.binaries.format(good=cls.good)}]\n")
        super().setUpClass()
        cls.workspace = cls.world.make_directory("workspace")
        cls.tool = os.path.join(cls.workspace, "tool")
        cls.evil = os.path.join(cls.workspace, "evil")
        for path in (cls.tool, cls.evil):
            shutil.copy(PERL, path)
        with open(cls.evil, "ab") as file:
            file.write(b"x")
        for path in (cls.workspace, cls.tool, cls.evil):
            os.chmod(path, 0o777)
        cls.bad = sha256_of(cls.evil)

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)

    def run_tool(self, *command):
        done = self.world.ctl("exec", "--tools", "workspace", "--policy", self.policy_file,
                              "--workspace", self.workspace, "--", *command)
        return done.out + done.err

    def assertRefused(self, said, *words):
        self.assertIn(REFUSED, said)
        for word in words:
            self.assertIn(word, said)


class PinTest(PinWorld):
    binaries = '{{path: "/workspace/**", sha256: {good}}}, {{path: /usr/bin/perl, sha256: {good}}}'

    def setUp(self):
        self.received = len(self.web.received())

    def assertNothingReceived(self):
        self.assertEqual(len(self.web.received()), self.received)

    def test_the_file_with_that_content_is_allowed(self):
        self.assertIn(OK, self.run_tool("/workspace/tool", "-e", ASK))
        self.assertIn(OK, self.run_tool(PERL, "-e", ASK))

    def test_a_file_with_another_content_is_refused(self):
        said = self.run_tool("/workspace/evil", "-e", ASK)
        self.assertRefused(said, f"the file of /workspace/evil has sha256 {self.bad}, the rule pins {self.good}",
                           "rule_missing")
        self.assertGreater(said.count(self.bad), 1)
        self.assertNothingReceived()

    def test_another_file_at_the_same_path_is_refused(self):
        """The path was a program with the content that is pinned, which has connected."""
        said = self.run_tool("sh", "-c", "cp tool twice; ./twice -e \"$0\" > /dev/null;"
                                         " cp evil new; mv new twice; ./twice -e \"$0\"", ASK)
        self.assertRefused(said, f"the file of /workspace/twice has sha256 {self.bad}")

    def test_the_hash_is_of_what_runs_and_not_of_what_the_path_names(self):
        """evil runs, then a file with the content that is pinned takes its place; and the reverse."""
        replace = 'rename("{0}", "{1}") or die $!; '
        said = self.run_tool("sh", "-c", "cp evil first; cp tool second; ./first -e \"$0\"",
                             replace.format("second", "first") + ASK)
        self.assertRefused(said, f"has sha256 {self.bad}")
        said = self.run_tool("sh", "-c", "cp tool first; cp evil second; ./first -e \"$0\"",
                             replace.format("second", "first") + ASK)
        self.assertIn(OK, said)

    def test_a_program_cannot_be_written_while_it_runs(self):
        said = self.run_tool("sh", "-c", "cp evil own; ./own -e \"$0\"",
                             'open(my $f, "+<", "own") and die "written"; print "$!\\n";' + ASK)
        self.assertIn("Text file busy", said)
        self.assertRefused(said)

    def test_a_file_that_is_rewritten_after_its_process_is_none(self):
        """evil connects, and executes another program, which writes what is pinned over evil's file."""
        become = ('use IO::Socket::INET; $^F = 100; my $s = IO::Socket::INET->new("127.0.0.1:3128") or die;'
                  'use POSIX; POSIX::dup2(fileno($s), 5);'
                  'exec "/bin/sh", "-c", q(cat tool > gone;'
                  ' printf "GET http://api.example.com/ HTTP/1.1\\r\\nHost: api.example.com\\r\\n'
                  'Connection: close\\r\\n\\r\\n" >&5; cat <&5);')
        for _ in range(8):
            self.assertRefused(self.run_tool("sh", "-c", "cp evil gone; ./gone -e \"$0\"", become))
        self.assertNothingReceived()

    def test_what_a_pinned_program_starts_is_not_pinned(self):
        said = self.run_tool("/workspace/tool", "-e", "system('./evil', '-e', $ARGV[0]);", ASK)
        self.assertRefused(said, f"has sha256 {self.bad}")
        said = self.run_tool("/workspace/tool", "-e", "system('curl', '-si', 'http://api.example.com/');")
        self.assertRefused(said)
        self.assertNothingReceived()

    def test_a_file_that_cannot_be_read_is_refused(self):
        said = self.run_tool("sh", "-c", "cp tool closed; chmod 111 closed; ./closed -e \"$0\"", ASK)
        self.assertRefused(said)
        self.assertNothingReceived()

    def test_many_connections_of_one_program(self):
        many = ('use IO::Socket::INET; for (1..200) { my $s = IO::Socket::INET->new("127.0.0.1:3128") or die;'
                'print $s "GET http://api.example.com/ HTTP/1.1\\r\\nHost: api.example.com\\r\\n'
                'Connection: close\\r\\n\\r\\n"; my $l = substr(<$s>, 9, 3); $n{$l}++; } print "$_ x $n{$_}" for keys %n;')
        self.assertIn("200 x 200", self.run_tool("/workspace/tool", "-e", many))


class PinSetTest(PinWorld):
    """A pin that comes into a cell that runs is for its slots too."""

    binaries = "{{path: /usr/bin/perl}}"

    def set_policy(self, sha256):
        text = self.policy.replace("perl}", f"perl, sha256: {sha256}}}")
        done = self.world.ctl("policy", "set", "live", self.world.make("pinned.yaml", text))
        self.assertEqual(done.code, 0, done)

    def ask(self):
        """By a command that runs since before the policy was set."""
        self.held.process.stdin.write(b"\n")
        self.held.process.stdin.flush()

    def test_policy_set(self):
        loop = ('$| = 1; use IO::Socket::INET; while (<STDIN>) {'
                'my $s = IO::Socket::INET->new("127.0.0.1:3128") or die;'
                'print $s "GET http://api.example.com/ HTTP/1.1\\r\\nHost: api.example.com\\r\\n'
                'Connection: close\\r\\n\\r\\n"; local $/; my $a = <$s>;'
                'print substr($a, 9, 3), " ", $a =~ /has sha256 (\\w+)/ ? $1 : "", ";" }')
        self.held = self.world.start("exec", "--cell", "live", "--policy", self.policy_file, "--", PERL,
                                     "-e", loop, stdin=-1)
        self.ask()
        self.held.until("200 ;")
        self.set_policy(self.bad)
        self.ask()
        self.held.until(f"200 ;403 {self.good};")
        self.set_policy(self.good)
        self.ask()
        self.held.until(f"200 ;403 {self.good};200 ;")
        got = self.world.ctl("policy", "get", "live")
        self.assertIn(f"sha256: \"{self.good}\"", got.out.replace("'", '"'), got)
        self.held.process.stdin.close()


class AncestorsTest(EgressWorld):
    policy = """
version: 1
network_policies:
  itself:
    endpoints: [{host: api.example.com, port: 80}]
    binaries: [{path: /usr/bin/dash, ancestors: false}, {path: /usr/bin/perl, ancestors: false}]
  any:
    endpoints: [{host: www.example.com, port: 80}]
    binaries: [{path: /usr/bin/dash}]
"""

    @classmethod
    def serve(cls):
        cls.web = cls.network.serve(PUBLIC, 80)

    def test_a_rule_is_for_the_program_itself(self):
        curl = "curl -si http://%s/; true"
        done = self.run_in_cell("dash", "-c", curl % "api.example.com")
        self.assertIn(REFUSED, done.out, done)
        self.assertIn("is for /usr/bin/dash itself", done.out)
        self.assertIn(OK, self.run_in_cell("dash", "-c", curl % "www.example.com").out)
        self.assertIn(OK, self.run_in_cell("dash", "-c", "perl -e \"$0\"; true", ASK).out)


if __name__ == "__main__":
    world.main()
