// A cell cannot take memory of the host's kernel that its limit does not count (ADR 0034).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string>
#include <thread>

#include "policy/plan/kernel_memory.h"
#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

class KernelMemoryLimitsTest : public ::testing::Test {
 protected:
  static v1::PrepareCellRequest OfMemory(uint64_t megabytes) {
    auto request = SupervisorHarness::Request(std::to_string(megabytes));
    request.mutable_sandbox()->mutable_limits()->set_memory_bytes(megabytes * kMegabyte);
    return request;
  }

  // The number that a script prints last.
  uint64_t Number(const std::string& script) {
    result_ = supervisor_.Python(cell_, script);
    EXPECT_TRUE(result_.Exited(0)) << result_.ToString();
    return strtoull(result_.out.c_str(), nullptr, 10);
  }

  void ExpectDenied(const std::string& resource, const std::string& rule) {
    ASSERT_EQ(result_.denials.size(), 1u) << result_.ToString();
    EXPECT_EQ(result_.denials[0].resource(), resource);
    EXPECT_EQ(result_.denials[0].rule(), rule);
  }

  static void ExpectFlood(const ExecResult& result) {
    EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << result.ToString();
    ASSERT_EQ(result.denials.size(), 1u) << result.ToString();
    EXPECT_EQ(result.denials[0].resource(), "listen");
    EXPECT_EQ(result.denials[0].rule(),
              "kernel memory: at most 512 connections that wait to be accepted");
    EXPECT_EQ(result.denials[0].verdict(), "kill");
  }

  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell(OfMemory(64));
  ExecResult result_;
};

// Takes locks of single bytes, 200 of each file, until it may take no more or has `wanted`.
constexpr char kTakeLocks[] = R"(
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None)
def take(command, wanted):
    for n in range(wanted):
        if n % 200 == 0: f = os.open('/tmp/%d.%d' % (os.getpid(), n), os.O_CREAT | os.O_RDWR)
        one = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, n % 200 * 2, 1, 0)
        try: fcntl.fcntl(f, command, one)
        except OSError: return n
    return wanted
)";

TEST_F(KernelMemoryLimitsTest, LocksOfAllProcessesTogetherAreBounded) {
  const uint64_t taken = Number(std::string(kTakeLocks) + R"(
pipe, end = os.pipe()
for child in range(3):
    if os.fork() == 0:
        os.write(end, b'%d ' % take(fcntl.F_SETLK, 20000)); os.read(os.pipe()[0], 1)
counts = b''
while counts.count(b' ') < 3: counts += os.read(pipe, 100)
print(sum(map(int, counts.split())))
)");
  EXPECT_LE(taken, cell::kMaxRangeLocks);
  EXPECT_GT(taken, cell::kMaxRangeLocks / 4);
  ExpectDenied("fcntl(F_SETLK)", "kernel memory: at most 32768 locks");
  EXPECT_EQ(Number(std::string(kTakeLocks) + "print(take(fcntl.F_SETLK, 20000))"), 20000u)
      << "another command has its own";
  EXPECT_THAT(result_.denials, IsEmpty());
}

TEST_F(KernelMemoryLimitsTest, LocksOfOpenFilesAreBounded) {
  const uint64_t taken = Number(std::string(kTakeLocks) + "print(take(fcntl.F_OFD_SETLK, 40000))");
  EXPECT_LE(taken, cell::kMaxRangeLocks);
  ExpectDenied("fcntl(F_OFD_SETLK)", "kernel memory: at most 32768 locks");
}

// Whose locks stay when their process has ended, and then are nobody's in the kernel's table.
TEST_F(KernelMemoryLimitsTest, LocksLeftToAProcessThatSharesTheFilesAreBounded) {
  const uint64_t taken = Number(std::string(kTakeLocks) + R"(
pipe, end = os.pipe()
total = 0
for child in range(5):
    if libc.syscall(56, 0x400 | 17, 0, 0, 0, 0) == 0:  # clone(CLONE_FILES | SIGCHLD)
        os.write(end, b'%d' % take(fcntl.F_SETLK, 8000)); os._exit(0)
    total += int(os.read(pipe, 100)); os.wait()
print(total)
)");
  EXPECT_LE(taken, cell::kMaxRangeLocks);
  EXPECT_GT(taken, 8000u);
}

TEST_F(KernelMemoryLimitsTest, SocketsOfNetlinkAreBounded) {
  EXPECT_EQ(Number(R"(
import socket
sockets = []
try:
    while len(sockets) < 500: sockets.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
except OSError: pass
print(len(sockets))
)"),
            cell::kMaxNetlinkSockets);
  ExpectDenied(
      "socket(AF_NETLINK, SOCK_RAW)",
      "kernel memory: at most 64 such sockets, or 1024 of all where the network is the host's");
}

// By the control group, whichever of its versions.
// One for each 256 KiB, of all commands together, those that were accepted too.
TEST_F(KernelMemoryLimitsTest, SocketsAreBoundedByTheMemory) {
  constexpr char kOpen[] = R"(
import errno, resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
one = socket.socket(); one.bind(('127.0.0.1', 0)); one.listen(); kept = [one]
try:
    while len(kept) < 900:
        kept.append(socket.create_connection(one.getsockname())); kept.append(one.accept()[0])
        kept.append(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
except OSError as e: assert e.errno == errno.ENOBUFS
print(len(kept))
)";
  const uint64_t small = Number(kOpen);
  EXPECT_GT(small, 200u);
  EXPECT_LE(small, 256u);
  ASSERT_EQ(result_.denials.size(), 1u) << result_.ToString();
  EXPECT_EQ(result_.denials[0].resource().rfind("socket(AF_INET", 0), 0u);
  EXPECT_EQ(result_.denials[0].rule(),
            "kernel memory: at most 256 sockets, or one for each 256 KiB of memory_bytes");
  // Some of the first one's may be freed only a moment after its end.
  EXPECT_GT(Number(kOpen), 200u) << "a command that ended has none";
  result_ = supervisor_.Python(supervisor_.Cell(OfMemory(8192)), kOpen);
  EXPECT_GE(strtoull(result_.out.c_str(), nullptr, 10), 900u) << result_.ToString();
}

TEST_F(KernelMemoryLimitsTest, SocketsInTheNetworkOfTheHostAreBoundedToo) {
  auto request = OfMemory(64);
  request.mutable_sandbox()->set_network(policy::v1::NETWORK_FULL);
  request.mutable_sandbox()->set_landlock(policy::v1::LANDLOCK_BEST_EFFORT);  // before Linux 6.12
  result_ = supervisor_.Python(supervisor_.Cell(request), R"(
import errno, socket
kept = []
try:
    while len(kept) < 900:
        kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)); kept[-1].bind(('127.0.0.1', 0))
except OSError as e: assert e.errno == errno.ENOBUFS
print(len(kept))
)");
  EXPECT_EQ(result_.out, "256\n") << result_.ToString();
}

// They would be asked for more than memory_bytes counts.
TEST_F(KernelMemoryLimitsTest, QueuesOfSocketsStayAsTheyAre) {
  EXPECT_EQ(Number(R"(
import socket
grown = 0
for family, kind in ((socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_STREAM)):
    one = socket.socket(family, kind)
    for queue in socket.SO_RCVBUF, socket.SO_SNDBUF:
        before = one.getsockopt(socket.SOL_SOCKET, queue)
        one.setsockopt(socket.SOL_SOCKET, queue, 4 * before)
        grown += one.getsockopt(socket.SOL_SOCKET, queue) != before
print(grown)
)"),
            0u);
}

// By a limit of its own, or, with control groups v2, by the one for all memory, which kills.
TEST_F(KernelMemoryLimitsTest, WhatSocketsHoldIsBounded) {
  result_ = supervisor_.Python(cell_, R"(
import socket
sender, held, sockets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0, []
for i in range(230):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0))
    s.setblocking(False); sockets.append(s)
    for j in range(6):
        try: sender.sendto(b'x' * 30000, s.getsockname())
        except OSError: pass
for s in sockets:
    try:
        while True: held += len(s.recv(65536))
    except OSError: pass
print(held)
)");
  if (result_.outcome.kind() == v1::OUTCOME_KIND_OOM_KILLED) return;
  ASSERT_TRUE(result_.Exited(0)) << result_.ToString();
  const uint64_t held = strtoull(result_.out.c_str(), nullptr, 10);
  EXPECT_GT(held, kMegabyte);
  EXPECT_LT(held, 30 * kMegabyte) << "of 39 MiB";
}

// Listeners, and clients that close, or reset the connection with what was sent.
constexpr char kConnect[] = R"(
import socket, struct
def listeners():
    made = [socket.socket() for _ in range(8)]
    for one in made: one.bind(('127.0.0.1', 0)); one.listen(4096)
    return made
def connect(listeners, reset=False):
    while True:
        for one in listeners:
            client = socket.create_connection(one.getsockname())
            if reset: client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            client.close()
)";

TEST_F(KernelMemoryLimitsTest, ConnectionsThatNobodyAcceptsEndTheCommand) {
  const std::string cell = supervisor_.Cell(OfMemory(8192));
  for (const char* attack : {"connect(listeners())", "connect(listeners(), reset=True)"}) {
    ExpectFlood(supervisor_.Python(cell, std::string(kConnect) + attack));
    EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
  }
}

TEST_F(KernelMemoryLimitsTest, ConnectionsInTheNetworkOfTheHostEndTheCommandToo) {
  auto request = OfMemory(64);
  request.mutable_sandbox()->set_network(policy::v1::NETWORK_FULL);
  request.mutable_sandbox()->set_landlock(policy::v1::LANDLOCK_BEST_EFFORT);  // before Linux 6.12
  const std::string cell = supervisor_.Cell(request);
  ExpectFlood(supervisor_.Python(cell, std::string(kConnect) + "connect(listeners(), reset=True)"));
}

// Whose own slot has seen nobody listen, while the one that did has a new command.
TEST_F(KernelMemoryLimitsTest, AListenerThatWasHandedOnEndsWhoHasIt) {
  const std::string cell = supervisor_.Cell(OfMemory(8192));
  ExecResult giver;
  std::thread giving([&] {
    giver = supervisor_.Python(cell, std::string(kConnect) + R"(
given = listeners()
door = socket.socket(socket.AF_UNIX); door.bind('\0door'); door.listen()
socket.send_fds(door.accept()[0], [b'x'], [one.fileno() for one in given])
)");
  });
  ExpectFlood(supervisor_.Python(cell, std::string(kConnect) + R"(
import time
door = socket.socket(socket.AF_UNIX)
while door.connect_ex('\0door') != 0: time.sleep(0.01)
given = [socket.socket(fileno=fd) for fd in socket.recv_fds(door, 9, 8)[1]]
time.sleep(1)  # the giver has ended, and there was a look
connect(given)
)"));
  giving.join();
  EXPECT_TRUE(giver.Exited(0)) << giver.ToString();
}

// Whose slot is kept busy meanwhile by calls that are told and refused.
TEST_F(KernelMemoryLimitsTest, AFloodOfRefusedCallsHidesNoConnections) {
  const ExecResult result = supervisor_.Python(supervisor_.Cell(OfMemory(8192)), R"(
import ctypes, os, socket
if os.fork() == 0:
    while True: ctypes.CDLL(None).unshare(0x10000000)
one = socket.socket(); one.bind(('127.0.0.1', 0)); one.listen(4096)
two = socket.socket(); two.bind(('127.0.0.1', 0)); two.listen(4096)
for n in range(3000): socket.create_connection((one, two)[n % 2].getsockname()).close()
import time; time.sleep(60)
)");
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << result.ToString();
  EXPECT_TRUE(std::any_of(result.denials.begin(), result.denials.end(), [](const auto& denial) {
    return denial.resource() == "listen";
  })) << result.ToString();
}

// A read of it stops whoever locks a file on the host, and it shows locks of the host's.
TEST_F(KernelMemoryLimitsTest, NoCommandSeesTheTableOfLocks) {
  EXPECT_EQ(Number("import fcntl\nf = open('/tmp/f', 'w')\nfcntl.lockf(f, fcntl.LOCK_EX)\n"
                   "print(len(open('/proc/locks').read()))"),
            0u);
}

}  // namespace
}  // namespace odyssey::testing
