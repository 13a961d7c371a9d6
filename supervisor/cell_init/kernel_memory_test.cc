// Against the kernel's own tables: each test takes what is bounded, in a process and a network of
// its own, and asks for more.

#include "supervisor/cell_init/kernel_memory.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "policy/plan/kernel_memory.h"
#include "supervisor/cell_init/connection_watch.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_init {
namespace {

constexpr uint32_t kCalls = cell::kMaxRangeLocks / 2;
constexpr int kLocksOfAFile = 256;  // the kernel goes through all of a file's for each

seccomp_data Call(int number, std::vector<uint64_t> arguments) {
  seccomp_data call{};
  call.nr = number;
  for (size_t i = 0; i < arguments.size(); ++i) call.args[i] = arguments[i];
  return call;
}

const seccomp_data kLock = Call(SYS_fcntl, {3, F_SETLK});
const seccomp_data kFileLock = Call(SYS_fcntl, {3, F_OFD_SETLKW});
const seccomp_data kNetlink = Call(SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0});
const seccomp_data kListen = Call(SYS_listen, {3, 5});
const seccomp_data kShare = Call(SYS_clone, {CLONE_FILES | SIGCHLD});

// Calls that are let be made, at most `most`.
uint32_t Allowed(KernelMemory* memory, const seccomp_data& call, uint32_t most) {
  for (uint32_t i = 0; i < most; ++i) {
    if (memory->Judge(call) != 0) return i;
  }
  return most;
}

// In a child, since locks and networks are a process's own; what failed in it is in its output.
void InChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

void EnterNetwork() {
  ASSERT_EQ(unshare(CLONE_NEWNET), 0) << errno;
  const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  loopback.ifr_name[0] = 'l';
  loopback.ifr_name[1] = 'o';
  loopback.ifr_flags = IFF_UP;
  ASSERT_EQ(ioctl(any.get(), SIOCSIFFLAGS, &loopback), 0) << errno;
}

// Locks `count` single bytes, of as many files as it takes.
std::vector<UniqueFd> HoldLocks(const std::string& directory, int command, uint32_t count) {
  std::vector<UniqueFd> files;
  for (uint32_t i = 0; i < count; ++i) {
    if (i % kLocksOfAFile == 0) {
      files.emplace_back(
          open((directory + "/" + std::to_string(i)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_start = 2 * (i % kLocksOfAFile);
    range.l_len = 1;
    EXPECT_EQ(fcntl(files.back().get(), command, &range), 0) << errno;
  }
  return files;
}

TEST(KernelMemoryTest, BoundsTheseCallsAlone) {
  for (const seccomp_data& call :
       {kLock, kFileLock, kNetlink, kShare, kListen,
        Call(SYS_fcntl, {3, F_SETLKW | uint64_t{1} << 32}), Call(SYS_fcntl, {3, F_OFD_SETLK}),
        Call(SYS_socket, {AF_NETLINK, SOCK_DGRAM, 0}),
        Call(SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0}),
        Call(SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}),
        Call(SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP})}) {
    EXPECT_TRUE(KernelMemory::Bounds(call)) << call.nr;
  }
  // Refused by the filter, or never told.
  for (const seccomp_data& call :
       {Call(SYS_fcntl, {3, F_GETLK}), Call(SYS_fcntl, {3, F_SETLEASE}), Call(SYS_flock, {3, 6}),
        Call(SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT}),
        Call(SYS_socket, {AF_NETLINK, SOCK_SEQPACKET, 0}),
        Call(SYS_socket, {AF_PACKET, SOCK_RAW, 0}), Call(SYS_socket, {AF_UNIX, SOCK_STREAM, 0}),
        Call(SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}),
        Call(SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}),
        Call(SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMPV6}),
        Call(SYS_clone, {CLONE_FILES | CLONE_NEWUSER}), Call(SYS_clone, {CLONE_NEWNS}),
        Call(SYS_unshare, {CLONE_FILES})}) {
    EXPECT_FALSE(KernelMemory::Bounds(call)) << call.nr;
  }
}

TEST(KernelMemoryTest, AProgramThatGivesItsLocksBackGoesOn) {
  KernelMemory memory({true, 1000}, -1);
  EXPECT_EQ(Allowed(&memory, kLock, 4 * kCalls), 4 * kCalls);
  EXPECT_EQ(Allowed(&memory, kFileLock, 4 * kCalls), 4 * kCalls);
}

TEST(KernelMemoryTest, LocksThatAreHeldAreCounted) {
  const fakes::TemporaryDirectory directory;
  for (const int command : {F_SETLK, F_OFD_SETLK}) {
    InChild([&] {
      const seccomp_data call = Call(SYS_fcntl, {3, static_cast<uint64_t>(command)});
      KernelMemory memory({true, 1000}, -1);
      auto files = HoldLocks(directory.path(), command, cell::kMaxRangeLocks);
      EXPECT_LE(Allowed(&memory, call, 2 * kCalls), kCalls);
      EXPECT_EQ(memory.Judge(call), ENOLCK);
      files.clear();
      for (int tries = 0; tries < 100 && memory.Judge(call) != 0; ++tries) {
        (void)poll(nullptr, 0, 50);
      }
      EXPECT_EQ(Allowed(&memory, call, 2 * kCalls), 2 * kCalls) << "given back";
    });
  }
}

TEST(KernelMemoryTest, LocksOfProcessesThatShareTheirFilesAreNotGivenBack) {
  KernelMemory memory({true, 1000}, -1);
  EXPECT_EQ(Allowed(&memory, kLock, 1000), 1000u);
  EXPECT_EQ(memory.Judge(kShare), 0);
  EXPECT_EQ(Allowed(&memory, kLock, 2 * kCalls), kCalls - 1000);
  EXPECT_EQ(memory.Judge(kLock), ENOLCK);
  EXPECT_EQ(memory.Judge(kFileLock), 0);
  memory.CommandEnded();
  EXPECT_EQ(Allowed(&memory, kLock, 2 * kCalls), 2 * kCalls) << "the next command";
}

// Those too that are not bound yet, and so in no other table.
TEST(KernelMemoryTest, SocketsOfNetlinkAreCounted) {
  InChild([] {
    EnterNetwork();
    KernelMemory memory({true, 1000}, -1), with_host({false, 1000}, -1);
    std::vector<UniqueFd> sockets;
    while (sockets.size() <= cell::kMaxNetlinkSockets && memory.Judge(kNetlink) == 0) {
      sockets.emplace_back(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    }
    EXPECT_EQ(sockets.size(), cell::kMaxNetlinkSockets);
    EXPECT_EQ(memory.Judge(kNetlink), ENOBUFS);
    EXPECT_EQ(with_host.Judge(kNetlink), 0);
    sockets.pop_back();
    EXPECT_EQ(memory.Judge(kNetlink), 0);
  });
}

class Listener final {
 public:
  explicit Listener(int family) : socket_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(listen(socket_.get(), SOMAXCONN), 0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &length_), 0);
  }

  // Of who closes again at once, or does not.
  UniqueFd Connect() const {
    UniqueFd client(socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), length_), 0);
    return client;
  }
  UniqueFd Accept() const { return UniqueFd(accept(socket_.get(), nullptr, nullptr)); }

 private:
  UniqueFd socket_;
  sockaddr_storage address_{};
  socklen_t length_ = sizeof(address_);
};

// Those that are accepted too, about which nobody is asked.
TEST(KernelMemoryTest, SocketsOfTheOwnNetworkAreCounted) {
  const seccomp_data tcp = Call(SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0});
  const seccomp_data udp = Call(SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDP});
  InChild([&] {
    EnterNetwork();
    constexpr uint32_t kMost = 100;
    KernelMemory memory({true, kMost}, -1), other({true, kMost}, -1), with_host({false, kMost}, -1);
    const Listener listener(AF_INET);
    std::vector<UniqueFd> sockets;
    while (sockets.size() <= kMost && memory.Judge(udp) == 0) {
      sockets.emplace_back(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
    EXPECT_LT(sockets.size(), kMost);
    EXPECT_GT(sockets.size(), kMost - 20) << "the kernel has some of its own";
    EXPECT_EQ(memory.Judge(tcp), ENOBUFS);
    EXPECT_EQ(other.Judge(tcp), ENOBUFS);
    EXPECT_EQ(with_host.Judge(tcp), 0) << "they have no address";
    const size_t most = sockets.size();
    sockets.resize(most / 2);
    while (sockets.size() <= kMost && memory.Judge(tcp) == 0) {
      sockets.push_back(listener.Connect());
      sockets.push_back(listener.Accept());
    }
    EXPECT_LE(sockets.size(), most + 1);
    EXPECT_GE(sockets.size(), most - 1);
  });
}

// In the host's those of this uid, of IPv4 and IPv6.
TEST(KernelMemoryTest, SocketsInTheNetworkOfTheHostAreCounted) {
  const seccomp_data udp = Call(SYS_socket, {AF_INET, SOCK_DGRAM, 0});
  InChild([&] {
    EnterNetwork();
    KernelMemory memory({false, 40}, -1);
    std::vector<UniqueFd> sockets;
    const auto open_more = [&] {
      while (sockets.size() < 100 && memory.Judge(udp) == 0) {
        const int family = sockets.size() % 2 == 0 ? AF_INET : AF_INET6;
        sockets.emplace_back(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage any{.ss_family = static_cast<sa_family_t>(family)};
        EXPECT_EQ(bind(sockets.back().get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)), 0);
      }
    };
    open_more();
    EXPECT_EQ(sockets.size(), 40u);
    EXPECT_EQ(memory.Judge(udp), ENOBUFS);
    sockets.clear();
    ASSERT_EQ(setresuid(1, 1, 1), 0);
    open_more();
    EXPECT_EQ(sockets.size(), 40u);
  });
}

// Waits for the next look.
bool Look(ConnectionWatch* watch) {
  watch->Receive();
  (void)poll(nullptr, 0, std::max(watch->TimeoutMs(), 0));
  return watch->IsTooMuch();
}

TEST(ConnectionWatchTest, LooksOnlyWhileThereIsSomething) {
  InChild([] {
    EnterNetwork();
    ConnectionWatch watch;
    KernelMemory slot({true, 1000}, watch.fd()), other({true, 1000}, watch.fd());
    EXPECT_FALSE(Look(&watch));
    EXPECT_EQ(watch.TimeoutMs(), -1);
    EXPECT_EQ(slot.Judge(kListen), 0);
    EXPECT_EQ(slot.Judge(kListen), 0);
    EXPECT_EQ(other.Judge(kListen), 0);
    EXPECT_FALSE(Look(&watch));
    EXPECT_GT(watch.TimeoutMs(), 0) << "they may be about to";
    slot.CommandEnded();
    EXPECT_FALSE(Look(&watch));
    EXPECT_GT(watch.TimeoutMs(), 0) << "one of them";
    {
      const Listener listener(AF_INET6);
      other.CommandEnded();
      EXPECT_FALSE(Look(&watch));
      EXPECT_GT(watch.TimeoutMs(), 0) << "somebody else has it";
    }
    EXPECT_FALSE(Look(&watch));
    EXPECT_EQ(watch.TimeoutMs(), -1);
    EXPECT_EQ(slot.Judge(kListen), 0);
    EXPECT_FALSE(Look(&watch));
    EXPECT_GT(watch.TimeoutMs(), 0) << "another command";
  });
}

TEST(ConnectionWatchTest, ConnectionsThatNobodyAcceptsAreTooManySomeTime) {
  for (const int family : {AF_INET, AF_INET6}) {
    InChild([family] {
      EnterNetwork();
      ConnectionWatch watch;
      BeginListening(watch.fd());
      const Listener listener(family);
      for (uint32_t i = 0; i < cell::kMaxWaitingConnections; ++i) listener.Connect();
      EXPECT_FALSE(Look(&watch));
      listener.Connect();
      EXPECT_TRUE(Look(&watch));
      const UniqueFd accepted = listener.Accept();
      EXPECT_FALSE(Look(&watch)) << "one that is accepted does not wait";
    });
  }
}

// Which are in no table of the kernel's any more, with all that they have received.
TEST(ConnectionWatchTest, ThoseThatWereResetWaitToo) {
  InChild([] {
    EnterNetwork();
    ConnectionWatch watch;
    BeginListening(watch.fd());
    const Listener listener(AF_INET);
    for (uint32_t i = 0; i <= cell::kMaxWaitingConnections; ++i) {
      const linger reset{.l_onoff = 1, .l_linger = 0};
      const UniqueFd client = listener.Connect();
      ASSERT_EQ(setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    }
    EXPECT_TRUE(Look(&watch));
  });
}

// In a network that is shared with the host's.
TEST(ConnectionWatchTest, ListenersOfOtherUsersAreTheirs) {
  InChild([] {
    EnterNetwork();
    const Listener listener(AF_INET);
    for (uint32_t i = 0; i <= cell::kMaxWaitingConnections; ++i) listener.Connect();
    ASSERT_EQ(setresuid(1, 1, 1), 0);
    ConnectionWatch watch;
    BeginListening(watch.fd());
    EXPECT_FALSE(Look(&watch));
    const Listener own(AF_INET);
    for (uint32_t i = 0; i <= cell::kMaxWaitingConnections; ++i) own.Connect();
    EXPECT_TRUE(Look(&watch));
  });
}

}  // namespace
}  // namespace odyssey::cell_init
