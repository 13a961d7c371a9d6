#include "policy/explain/complaint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace odyssey::explain {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Case {
  const char* line;
  ComplaintKind kind;
  const char* candidate;  // one of them; "" = none
  bool writing = false, executing = false, redirecting = false;
};

class ComplaintTest : public ::testing::TestWithParam<Case> {};

TEST_P(ComplaintTest, SaysWhatAndAboutWhat) {
  const Case& expected = GetParam();
  const std::vector<Complaint> complaints = ParseComplaints(expected.line);
  ASSERT_THAT(complaints, SizeIs(1));
  EXPECT_EQ(complaints[0].kind, expected.kind);
  EXPECT_EQ(complaints[0].writing, expected.writing);
  EXPECT_EQ(complaints[0].executing, expected.executing);
  EXPECT_EQ(complaints[0].redirecting, expected.redirecting);
  if (*expected.candidate == '\0') {
    EXPECT_THAT(complaints[0].candidates, IsEmpty());
  } else {
    EXPECT_THAT(complaints[0].candidates, Contains(expected.candidate));
  }
}

TEST(ComplaintTest, NamesTheProgramThatComplains) {
  const auto named = [](const char* line) {
    const auto complaints = ParseComplaints(line);
    return complaints.size() == 1 && complaints[0].names_program ? complaints[0].program : "";
  };
  EXPECT_EQ(named("touch: cannot touch '/usr/x': Read-only file system"), "touch");
  EXPECT_EQ(named("/bin/sh: 1: cannot create /usr/x: Permission denied"), "sh");
  EXPECT_EQ(named("curl: (6) Could not resolve host: example.com"), "curl");
  EXPECT_EQ(named("zsh: permission denied: ./x"), "zsh");
  EXPECT_EQ(named("bash: nmap: command not found"), "bash");
  for (const char* line :
       {"fatal: could not create work tree dir 'x': Read-only file system",
        "OSError: [Errno 30] Read-only file system: '/usr/x'",
        "socket.gaierror: [Errno -2] Name or service not known",
        "java.net.UnknownHostException: example.com: Name or service not known",
        "/srv/data/x: Permission denied", "x: not found", ": not found", "Permission denied",
        "npm ERR! code EACCES: permission denied, open '/usr/x'",
        "Could not resolve host: example.com"}) {
    EXPECT_EQ(named(line), "") << line;
  }
}

using K = ComplaintKind;
INSTANTIATE_TEST_SUITE_P(
    Programs, ComplaintTest,
    ::testing::Values(
        Case{"touch: cannot touch '/usr/x': Read-only file system", K::kReadOnly, "/usr/x", true},
        Case{"sh: 1: cannot create /usr/x: Read-only file system", K::kReadOnly, "/usr/x", true},
        Case{"bash: line 1: /usr/x: Read-only file system", K::kReadOnly, "/usr/x", false, true},
        Case{"mkdir: cannot create directory \xE2\x80\x98/usr/x\xE2\x80\x99: Read-only file system",
             K::kReadOnly, "/usr/x", true},
        Case{"mv: cannot move 'a' to '/usr/b c': Read-only file system", K::kReadOnly, "/usr/b c",
             true},
        Case{"sed: can't read or create '/usr/a b': Read-only file system", K::kReadOnly,
             "/usr/a b", true},
        Case{"tee: /usr/x: Read-only file system", K::kReadOnly, "/usr/x"},
        Case{"OSError: [Errno 30] Read-only file system: '/usr/x'", K::kReadOnly, "/usr/x"},
        Case{"Error: EROFS: read-only file system, open '/usr/x'", K::kReadOnly, "/usr/x"},
        Case{"panic: open /usr/x: read-only file system", K::kReadOnly, "/usr/x"},
        Case{"fatal: could not create work tree dir 'x': Read-only file system", K::kReadOnly, "x",
             true},
        Case{"Error: Read-only file system (os error 30)", K::kReadOnly, ""},
        Case{"sh: 1: ./x: Permission denied", K::kPermission, "./x", false, true},
        Case{"bash: line 1: f: Permission denied", K::kPermission, "f", false, false, true},
        Case{"bash: line 1: /usr/bin/x: Permission denied", K::kPermission, "/usr/bin/x", false,
             true},
        Case{"sh: 1: cannot open /srv/secret: Permission denied", K::kPermission, "/srv/secret",
             false, false, true},
        Case{"sh: 1: cannot create f: Permission denied", K::kPermission, "f", true},
        Case{"sh: 1: f: Permission denied", K::kPermission, "f", false, true},
        Case{"./x.sh: 12: f: Permission denied", K::kPermission, "f", false, true},
        Case{"./x.sh: line 12: f: Permission denied", K::kPermission, "f", false, false, true},
        Case{"cat: 1: Permission denied", K::kPermission, "1"},
        Case{"cat: /srv/write/exec: Permission denied", K::kPermission, "/srv/write/exec"},
        Case{"cat: output: Permission denied", K::kPermission, "output"},
        Case{"rm: cannot remove './open': Permission denied", K::kPermission, "./open", true},
        Case{"find: './d': Permission denied", K::kPermission, "./d"},
        Case{"find: 'ls': Permission denied", K::kPermission, "ls", false, true},
        Case{"fork/exec /srv/x: permission denied", K::kPermission, "/srv/x", false, true},
        Case{"bash: ./x: /bin/foo: bad interpreter: Permission denied", K::kPermission, "./x",
             false, true},
        Case{"zsh: permission denied: ./x", K::kPermission, "./x", false, true},
        Case{"env: '/srv/tool': Permission denied", K::kPermission, "/srv/tool", false, true},
        Case{"Error: spawn ./x EACCES", K::kPermission, "./x", false, true},
        Case{"cat: /srv/secret: Permission denied", K::kPermission, "/srv/secret"},
        Case{"PermissionError: [Errno 13] Permission denied: '/srv/secret'", K::kPermission,
             "/srv/secret"},
        Case{"unshare: unshare failed: Operation not permitted", K::kNotPermitted, "failed"},
        Case{"mount: /mnt: permission denied.", K::kPermission, "/mnt"},
        Case{"chown: changing ownership of 'x': Operation not permitted", K::kNotPermitted, "x"},
        Case{"curl: (6) Could not resolve host: example.com", K::kNetwork, "example.com"},
        Case{"curl: (7) Failed to connect to 192.0.2.1 port 80 after 0 ms: Couldn't connect to "
             "server",
             K::kNetwork, "192.0.2.1"},
        Case{"wget: unable to resolve host address \xE2\x80\x98"
             "example.com\xE2\x80\x99",
             K::kNetwork, "example.com"},
        Case{"fatal: unable to access 'https://example.com/x.git/': Could not resolve host: "
             "example.com",
             K::kNetwork, "example.com"},
        Case{"npm ERR! request failed, reason: getaddrinfo EAI_AGAIN registry.example.org",
             K::kNetwork, "registry.example.org"},
        Case{"dial tcp 192.0.2.1:80: connect: network is unreachable", K::kNetwork, "192.0.2.1:80"},
        Case{"Error: connect ENETUNREACH 2001:db8::1 - Local (:::0)", K::kNetwork, "2001:db8::1"},
        Case{"OSError: [Errno 101] Network is unreachable", K::kNetwork, ""},
        Case{"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name "
             "resolution>",
             K::kNetwork, ""},
        Case{"socket.gaierror: [Errno -2] Name or service not known", K::kNetwork, ""},
        Case{"x.E: <http.client.HTTPConnection object at 0x7f>: Network is unreachable",
             K::kNetwork, ""},
        Case{"java.net.UnknownHostException: example.com: Name or service not known", K::kNetwork,
             "example.com"},
        Case{"sh: 1: Cannot fork", K::kProcesses, ""},
        Case{"bash: fork: retry: Resource temporarily unavailable", K::kProcesses, ""},
        Case{"RuntimeError: can't start new thread", K::kProcesses, ""},
        Case{"OSError: [Errno 24] Too many open files: 'x'", K::kOpenFiles, ""},
        Case{"dd: error writing '/tmp/x': No space left on device", K::kSpace, "/tmp/x"},
        Case{"sh: 1: nmap: not found", K::kNotFound, "nmap", false, true},
        Case{"bash: line 1: nmap: command not found", K::kNotFound, "nmap", false, true}));

TEST(ComplaintParserTest, OtherWordsAreNoComplaint) {
  EXPECT_THAT(ParseComplaints("error: expected ';'\nls: cannot access 'x': No such file\n\n"),
              IsEmpty());
}

TEST(ComplaintParserTest, LinesKeepTheirOrderAndRepetitionsAreOne) {
  EXPECT_THAT(ParseComplaints("a: /x: Read-only file system\na: /x: Read-only file system\n"
                              "a: /y: Read-only file system\n"),
              ElementsAre(Field(&Complaint::candidates, Contains("/x")),
                          Field(&Complaint::candidates, Contains("/y"))));
}

// A command may print what it likes: the work is bounded, and the end is what counts.
TEST(ComplaintParserTest, HostileTextIsBounded) {
  std::string flood;
  for (int i = 0; i < 100'000; ++i) {
    flood += "x: /p" + std::to_string(i) + ": Read-only file system\n";
  }
  const auto complaints = ParseComplaints(flood);
  EXPECT_LE(complaints.size(), kMaxComplaints);
  EXPECT_THAT(complaints.back().candidates, Contains("/p99999"));

  const std::string quotes(100'000, '\'');
  EXPECT_THAT(ParseComplaints(quotes + ": Read-only file system"), SizeIs(::testing::Le(1u)));
  const std::string colons = std::string(500, ':') + " : : : : : : : : : : : Permission denied";
  for (const Complaint& complaint : ParseComplaints(colons)) {
    EXPECT_LE(complaint.candidates.size(), kMaxCandidates);
  }
  for (const std::string& text :
       {std::string("\0: Read-only file system", 24), std::string("Read-only file system"),
        std::string(": Permission denied"), std::string("'\xE2\x80\x98: Permission denied"),
        std::string("\xFF\xFE: EPERM"), std::string("\n\n\n")}) {
    (void)ParseComplaints(text);
  }
}

TEST(ComplaintParserTest, LongLineIsCut) {
  const std::string line = std::string(2 * kMaxComplaintLine, 'x') + ": Read-only file system";
  EXPECT_THAT(ParseComplaints(line), IsEmpty());
}

}  // namespace
}  // namespace odyssey::explain
