// System calls that the commands' filter refuses are told by the kernel, whatever the command says
// or keeps to itself: ADR 0023.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/integration/audit_reader.h"

namespace odyssey::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Calls by number, of which each prints its errno.
constexpr char kCalls[] = R"(
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    values = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
    result = libc.syscall(*values)
    print(ctypes.get_errno() if result == -1 else 'done', end=' ')
EPERM = '1 '
)";

class SeccompDenialsTest : public ::testing::Test {
 protected:
  ExecResult Calls(const std::string& script) { return supervisor_.Python(cell_, kCalls + script); }

  // What was told of a script whose every call is answered with EPERM.
  std::vector<std::string> Told(const std::string& script) {
    const ExecResult result = Calls(script);
    EXPECT_TRUE(result.Exited(0)) << result.ToString();
    for (size_t at = 0; at < result.out.size(); at += 2) {
      EXPECT_EQ(result.out.substr(at, 2), "1 ") << result.out;
    }
    EXPECT_FALSE(result.out.empty());
    std::vector<std::string> told;
    for (const v1::Denial& denial : result.denials) {
      EXPECT_EQ(denial.kind(), "syscall");
      EXPECT_EQ(denial.access(), "call");
      EXPECT_EQ(denial.rule(), "seccomp");
      EXPECT_EQ(denial.grant(), "");
      EXPECT_FALSE(denial.hint());
      EXPECT_EQ(denial.count(), 1u);
      EXPECT_EQ(denial.process().substr(0, 8), "python3[");
      told.push_back(denial.resource());
    }
    EXPECT_EQ(result.outcome.denials(), told.size());
    return told;
  }

  void ExpectQuiet() {
    const ExecResult next = supervisor_.Shell(cell_, "true");
    EXPECT_TRUE(next.Exited(0)) << next.ToString();
    EXPECT_THAT(next.denials, IsEmpty());
    EXPECT_EQ(next.outcome.denials(), 0u);
  }

  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell();
};

TEST_F(SeccompDenialsTest, Namespaces) {
  EXPECT_THAT(Told("call(272, 0x10000000)\n"       // unshare(CLONE_NEWUSER)
                   "call(56, 0x10000011, 0, 0)\n"  // clone
                   "call(308, 0, 0)\n"
                   "call(170, b'x', 1)\n"),
              ElementsAre("unshare", "clone", "setns", "sethostname"));
}

TEST_F(SeccompDenialsTest, Mounts) {
  EXPECT_THAT(
      Told("call(165, b'none', b'/tmp', b'tmpfs', 0, 0)\n"
           "call(166, b'/tmp', 0)\n"
           "call(161, b'/tmp')\n"
           "call(155, b'/tmp', b'/tmp')\n"
           "call(428, -100, b'/', 0)\n"
           "call(429, 0, b'', 0, b'', 0)\n"
           "call(430, b'tmpfs', 0)\n"),
      ElementsAre("mount", "umount2", "chroot", "pivot_root", "open_tree", "move_mount", "fsopen"));
}

TEST_F(SeccompDenialsTest, SocketsByWhatTheyAre) {
  EXPECT_THAT(Told("call(41, 17, 3, 0x0300)\n"        // AF_PACKET
                   "call(41, 2, 3 | 0o2000000, 1)\n"  // SOCK_RAW | SOCK_CLOEXEC
                   "call(41, 40, 1, 0)\n"             // AF_VSOCK
                   "call(41, 16, 3, 6)\n"             // NETLINK_XFRM
                   "call(53, 2, 1, 0, 0)\n"
                   "call(54, 0, 1, 26, 0, 0)\n"  // SO_ATTACH_FILTER
                   "call(54, 0, 1, 50, 0, 0)\n"),
              ElementsAre("socket(AF_PACKET, SOCK_RAW, 768)", "socket(AF_INET, SOCK_RAW, 1)",
                          "socket(AF_VSOCK, SOCK_STREAM)", "socket(AF_NETLINK, SOCK_RAW, 6)",
                          "socketpair(AF_INET)", "setsockopt(SO_ATTACH_FILTER)",
                          "setsockopt(SO_ATTACH_BPF)"));
}

TEST_F(SeccompDenialsTest, FilesAndMemory) {
  EXPECT_THAT(Told("open('/tmp/f', 'w').close()\n"
                   "call(90, b'/tmp/f', 0o4755)\n"
                   "call(83, b'/tmp/d', 0o2755)\n"
                   "call(133, b'/tmp/n', 0o60600, 0x700)\n"
                   "call(319, b'x', 0)\n"
                   "call(322, 0, b'', 0, 0, 0x1000)\n"
                   "call(16, 0, 0x5412, b' ')\n"),
              ElementsAre("chmod", "mkdir", "mknod", "memfd_create", "execveat", "ioctl(TIOCSTI)"));
}

TEST_F(SeccompDenialsTest, TheKernelAndTheMachine) {
  EXPECT_THAT(Told("call(313, 0, b'', 0)\n"
                   "call(246, 0, 0, 0, 0)\n"
                   "call(169, 0, 0, 0)\n"
                   "call(167, b'/tmp/f', 0)\n"
                   "call(227, 0, 0)\n"
                   "call(135, 8)\n"
                   "call(317, 1, 0, 0)\n"),
              ElementsAre("finit_module", "kexec_load", "reboot", "swapon", "clock_settime",
                          "personality", "seccomp"));
}

// These are refused to cell-init itself, and so by the kernel without a question to anybody.
TEST_F(SeccompDenialsTest, WhatNoListenerCouldLetThroughIsNotTold) {
  EXPECT_THAT(Told("call(250, 0, -3, 0)\n"       // keyctl
                   "call(321, 0, 0, 0)\n"        // bpf
                   "call(298, 0, 0, 0, 0, 0)\n"  // perf_event_open
                   "call(323, 0)\n"              // userfaultfd
                   "call(425, 1, 0)\n"           // io_uring_setup
                   "call(310, 1, 0, 0, 0, 0, 0)\n"),
              IsEmpty());
}

TEST_F(SeccompDenialsTest, WhatTheCLibraryFallsBackFromIsNotTold) {
  const ExecResult result = Calls("call(435, 0, 0)\ncall(437, 0, b'/', 0, 0)\ncall(463)\n");
  EXPECT_EQ(result.out, "38 38 38 ");
  EXPECT_THAT(result.denials, IsEmpty());
}

// ── Who ─────────────────────────────────────────────────────────────────────────────────────────

TEST_F(SeccompDenialsTest, TheProcessIsAsTheCommandSeesIt) {
  const ExecResult result = Calls(
      "libc.prctl(15, b'renamed', 0, 0, 0)\n"
      "if os.fork() == 0:\n"
      "    call(272, 0x10000000); call(272, 0x10000000)\n"
      "    print(os.getpid()); sys.stdout.flush(); os._exit(0)\n"
      "os.wait()\n");
  ASSERT_THAT(result.denials, SizeIs(1)) << result.ToString();
  const std::string pid = result.out.substr(4, result.out.find('\n') - 4);
  EXPECT_EQ(result.denials[0].process(), "renamed[" + pid + "]");
  EXPECT_EQ(result.denials[0].count(), 2u);
  const AuditRecord deny = AwaitRecords(supervisor_, "deny")[0];
  EXPECT_EQ(deny["exec_id"], result.denials[0].exec_id());
  EXPECT_EQ(deny["process"], result.denials[0].process());
  EXPECT_EQ(deny["count"], 2);
  EXPECT_FALSE(deny.contains("hint"));
}

TEST_F(SeccompDenialsTest, ProgramsThatKeepItToThemselvesAreToldToo) {
  const ExecResult result = supervisor_.Shell(cell_, "unshare -U true 2>/dev/null; exit 0");
  ASSERT_THAT(result.denials, SizeIs(1)) << result.ToString();
  EXPECT_EQ(result.denials[0].resource(), "unshare");
  EXPECT_EQ(result.denials[0].process().substr(0, 8), "unshare[");
}

TEST_F(SeccompDenialsTest, WhatTheCommandSaysOfTheSameAddsNothing) {
  const ExecResult result = supervisor_.Shell(cell_, "unshare -U true");
  EXPECT_THAT(result.denials, SizeIs(1)) << result.ToString();
  EXPECT_NE(result.err.find("Operation not permitted"), std::string::npos) << result.err;
}

TEST_F(SeccompDenialsTest, WordsAloneAreNothing) {
  const ExecResult result = supervisor_.Shell(
      cell_, "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1");
  EXPECT_THAT(result.denials, IsEmpty()) << result.ToString();
}

// ── Storms, and ends ────────────────────────────────────────────────────────────────────────────

TEST_F(SeccompDenialsTest, AFloodIsCountedAndTheCommandEnds) {
  const ExecResult result = Calls(
      "sys.stdout = open('/dev/null', 'w')\n"
      "for i in range(10000): call(272, 0x10000000)\n"
      "sys.exit(7)");
  EXPECT_TRUE(result.Exited(7)) << result.ToString();
  ASSERT_THAT(result.denials, SizeIs(1));
  EXPECT_EQ(result.denials[0].count(), 10'000u);
  ExpectQuiet();
}

TEST_F(SeccompDenialsTest, KindsBeyondTheTableAreCounted) {
  const ExecResult result = Calls(
      "for protocol in range(100): call(41, 17, 3, protocol)\n"
      "call(272, 0x10000000)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_THAT(result.denials, SizeIs(16));
  EXPECT_EQ(result.outcome.denials(), 101u);
  ExpectQuiet();
}

TEST_F(SeccompDenialsTest, AFloodOfManyKeepsNobodyFromKillingIt) {
  const std::string flood = std::string(kCalls) +
                            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                            "sys.stdout = open('/dev/null', 'w')\n"
                            "for i in range(8): os.fork() or os.setsid()\n"
                            "while True: call(272, 0x10000000)";
  // It is told though its slot ends with it.
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    const ExecResult late = supervisor_.Python(cell_, flood, {.wall_clock_ms = wall_clock_ms});
    EXPECT_EQ(late.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << late.ToString();
    return std::any_of(late.denials.begin(), late.denials.end(),
                       [](const v1::Denial& d) { return d.resource() == "unshare"; });
  });
  ExpectQuiet();
}

TEST_F(SeccompDenialsTest, CallersThatAreKilledWhileTheyWaitAreNoTrouble) {
  const ExecResult result = Calls(
      "import signal\n"
      "for i in range(100):\n"
      "    child = os.fork()\n"
      "    while child == 0: libc.unshare(0x10000000)\n"
      "    os.sched_yield(); os.kill(child, signal.SIGKILL); os.waitpid(child, 0)\n"
      "call(272, 0x10000000)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "1 ");
  ExpectQuiet();
}

// What a command leaves behind goes on until it is killed, and is nothing of the next one's.
TEST_F(SeccompDenialsTest, TheNextCommandHearsNothingOfTheLast) {
  std::set<std::string> namespaces;
  for (int i = 0; i < 10; ++i) {
    const ExecResult result = Calls(
        "call(272, 0x10000000); sys.stdout.flush()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); os.close(0); os.close(1); os.close(2)\n"
        "    while True: libc.unshare(0x10000000)\n");
    EXPECT_THAT(result.denials, SizeIs(1)) << result.ToString();
    const ExecResult next = supervisor_.Shell(cell_, "readlink /proc/self/ns/pid");
    EXPECT_THAT(next.denials, IsEmpty()) << next.ToString();
    namespaces.insert(next.out);
  }
  EXPECT_LT(namespaces.size(), 10u) << "no slot came back";
}

// ── The listener ────────────────────────────────────────────────────────────────────────────────

TEST_F(SeccompDenialsTest, NoCommandGetsAtTheListener) {
  const ExecResult result = Calls(R"(
def attempt(name, do):
    try: print(name, do())
    except OSError as e: print(name, 'errno', e.errno)
print('own', sorted(os.listdir('/proc/self/fd'))[:3] + [os.readlink('/proc/self/fd/' + f)
      for f in os.listdir('/proc/self/fd') if int(f) > 2 and os.path.exists('/proc/self/fd/' + f)])
attempt('list', lambda: os.listdir('/proc/1/fd'))
for fd in range(3, 20): attempt('open', lambda: os.open('/proc/1/fd/%d' % fd, os.O_RDWR))
attempt('memory', lambda: os.open('/proc/1/mem', os.O_RDONLY))
pidfd = os.pidfd_open(1)
for fd in range(3, 20): print('take', end=' '); call(438, pidfd, fd, 0); print()
print('trace', end=' '); call(101, 16, 1, 0, 0); print()
print('seize', end=' '); call(101, 0x4206, 1, 0, 0); print()
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  std::istringstream lines(result.out);
  int answers = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string what = line.substr(0, line.find(' '));
    if (what == "own") {
      EXPECT_EQ(line, "own ['0', '1', '2']");
    } else if (what == "take" || what == "trace" || what == "seize") {
      EXPECT_EQ(line, what + " 1 ");
    } else {
      EXPECT_TRUE(line == what + " errno 13" || line == what + " errno 1") << line;
    }
    ++answers;
  }
  EXPECT_EQ(answers, 1 + 1 + 17 + 1 + 17 + 2);
}

}  // namespace
}  // namespace odyssey::testing
