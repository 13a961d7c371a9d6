// Processes of the test's own under the real filter: each answers for itself as a slot's pid 1
// does.

#include "supervisor/cell_init/refused_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "common/os/message_socket.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_init {
namespace {

constexpr int kFlood = 10'000;

// The errno of a system call that fails, else 0.
int Try(const std::function<long()>& call) { return call() < 0 ? errno : 0; }
long Unshare() { return unshare(CLONE_NEWUSER); }
long RawSocket() { return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 3); }

// Runs `body` in a child under no_new_privs; what it returns.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

class RefusedCallsTest : public ::testing::Test {
 protected:
  // Runs `command` in a process under the filter, whose parent answers until it ends; what it
  // returned, or -1 if there is no listener. `report_` has what was counted.
  int Serve(const std::function<int()>& command) {
    auto channel = MessageSocketPair();
    const int result = InChild([&] { return ServeHere(command, channel->second.get()); });
    channel->second.reset();
    const auto message = ReceiveMessage(channel->first.get());
    if (!message.ok() || !cell::Decode(message->bytes, &report_).ok()) return -1;
    return result;
  }

  // The call that was counted alone.
  const cell::RefusedCall& Only() {
    EXPECT_EQ(report_.refused.size(), 1u);
    EXPECT_EQ(report_.refused_more, 0u);
    return report_.refused.at(0);
  }

  cell::ExecExited report_;
  RefusedNames names_;

 private:
  int ServeHere(const std::function<int()>& command, int channel) {
    auto listener = EnterNotifyingFilter(/*of_connects=*/true);
    if (!listener.ok() || !*listener) return 200;
    RefusedCalls refused(std::move(*listener), KernelMemory({true, 1000}, -1), &names_);
    const pid_t child = fork();
    if (child == 0) {
      refused.CloseListener();
      _exit(command());
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      pollfd polled = {refused.listener(), POLLIN, 0};
      if (poll(&polled, 1, 10) > 0) refused.Answer();
    }
    cell::ExecExited report;
    refused.MoveTo(&report);
    (void)SendMessage(channel, cell::Encode(report));
    return WEXITSTATUS(status);
  }
};

TEST_F(RefusedCallsTest, AreRefusedAndCounted) {
  EXPECT_EQ(Serve([] { return Try(Unshare) == EPERM && Try(Unshare) == EPERM ? 1 : 0; }), 1);
  EXPECT_EQ(Only().number, static_cast<uint32_t>(SYS_unshare));
  EXPECT_EQ(Only().count, 2u);
  EXPECT_GT(Only().pid, 1u);
  EXPECT_FALSE(Only().comm.empty());
}

TEST_F(RefusedCallsTest, TellTheValueThatDecided) {
  EXPECT_EQ(Serve([] { return Try([] { return fcntl(0, F_SETLEASE, F_RDLCK); }); }), EPERM);
  EXPECT_EQ(Only().number, static_cast<uint32_t>(SYS_fcntl));
  EXPECT_EQ(Only().arguments[0], static_cast<uint32_t>(F_SETLEASE));
}

// Programs with secrets end if they may not forbid cores; the limit stays what it is all the same.
TEST_F(RefusedCallsTest, ALowerCoreLimitIsSaidToBeSetAndAHigherOneRefused) {
  const auto command = [] {
    const rlimit none{0, 0}, more{0, 2};
    rlimit now{};
    const bool lowered = Try([&] { return syscall(SYS_setrlimit, RLIMIT_CORE, &none); }) == 0 &&
                         Try([&] { return prlimit(0, RLIMIT_CORE, &none, nullptr); }) == 0;
    const bool refused = Try([&] { return setrlimit(RLIMIT_CORE, &more); }) == EPERM;
    const bool same = getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == 1 && now.rlim_max == 1;
    return lowered && refused && same ? 0 : 1;
  };
  const int result = InChild([&] {  // the limit cannot be taken back
    const rlimit one{1, 1};
    if (setrlimit(RLIMIT_CORE, &one) != 0 || Serve(command) != 0) return 1;
    return report_.refused.size() == 1 && report_.refused[0].count == 1 ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
}

TEST_F(RefusedCallsTest, AreToldApartByNameArgumentsAndProcess) {
  Serve([] {
    prctl(PR_SET_NAME, "first");
    (void)Try(RawSocket);
    (void)Try(Unshare);
    prctl(PR_SET_NAME, "second\nline");
    if (fork() == 0) {
      (void)Try(RawSocket);
      (void)Try(RawSocket);
      _exit(0);
    }
    wait(nullptr);
    return 0;
  });
  ASSERT_EQ(report_.refused.size(), 3u);
  EXPECT_EQ(report_.refused[0].comm, "first");
  EXPECT_EQ(report_.refused[0].arguments, (std::array<uint32_t, 3>{AF_PACKET, SOCK_RAW, 3}));
  EXPECT_EQ(report_.refused[0].count, 1u);
  EXPECT_EQ(report_.refused[1].number, static_cast<uint32_t>(SYS_unshare));
  EXPECT_EQ(report_.refused[2].comm, "second\nline");
  EXPECT_EQ(report_.refused[2].count, 2u);
}

TEST_F(RefusedCallsTest, ProcessesOfOneNameAreOne) {
  Serve([] {
    for (int i = 0; i < 5; ++i) {
      if (fork() == 0) _exit(Try(Unshare));
      wait(nullptr);
    }
    return 0;
  });
  EXPECT_EQ(Only().count, 5u);
}

TEST_F(RefusedCallsTest, AFloodIsCountedAndTakesNoRoom) {
  EXPECT_EQ(Serve([] {
              int refused = 0;
              for (int i = 0; i < kFlood; ++i) refused += Try(Unshare) == EPERM ? 1 : 0;
              return refused == kFlood ? 1 : 0;
            }),
            1);
  EXPECT_EQ(Only().count, static_cast<uint64_t>(kFlood));
}

TEST_F(RefusedCallsTest, WhatFindsNoRoomIsCountedTogether) {
  Serve([] {
    for (int protocol = 0; protocol < 50; ++protocol) {
      (void)Try([=] { return socket(AF_PACKET, SOCK_RAW, protocol); });
    }
    return 0;
  });
  EXPECT_EQ(report_.refused.size(), cell::kMaxRefusedCalls);
  EXPECT_EQ(report_.refused_more, 50u - cell::kMaxRefusedCalls);
}

// Callers that are killed while they wait keep nobody from going on. One that was too early to be
// looked at has no name.
TEST_F(RefusedCallsTest, KilledCallersAreNoTrouble) {
  EXPECT_EQ(Serve([] {
              for (int i = 0; i < 50; ++i) {
                const pid_t child = fork();
                while (child == 0) (void)Try(Unshare);
                sched_yield();
                kill(child, SIGKILL);
                waitpid(child, nullptr, 0);
              }
              return Try(Unshare) == EPERM ? 1 : 0;
            }),
            1);
  ASSERT_FALSE(report_.refused.empty());
  for (const cell::RefusedCall& call : report_.refused) {
    EXPECT_EQ(call.number, static_cast<uint32_t>(SYS_unshare));
  }
}

TEST_F(RefusedCallsTest, AreHandedOverOnce) {
  EXPECT_EQ(InChild([] {
              auto listener = EnterNotifyingFilter();
              RefusedCalls refused(std::move(*listener), KernelMemory({true, 1000}, -1));
              const pid_t child = fork();
              if (child == 0) _exit(Try(Unshare));
              refused.Answer();
              waitpid(child, nullptr, 0);
              cell::ExecExited first, second;
              refused.MoveTo(&first);
              refused.MoveTo(&second);
              return static_cast<int>(first.refused.size() * 2 + second.refused.size());
            }),
            2);
}

// ── Addresses ───────────────────────────────────────────────────────────────────────────────────

sockaddr_storage Address(const char* text, uint16_t port) {
  sockaddr_storage address{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  v4->sin_port = htons(port);
  const bool is_v4 = inet_pton(AF_INET, text, &v4->sin_addr) == 1;
  EXPECT_TRUE(is_v4 || inet_pton(AF_INET6, text, &v6->sin6_addr) == 1);
  address.ss_family = is_v4 ? AF_INET : AF_INET6;
  return address;
}

// Datagrams need no answer, and the test no network.
int Connect(const char* text, uint16_t port, socklen_t size = sizeof(sockaddr_storage)) {
  const sockaddr_storage address = Address(text, port);
  const int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int error =
      Try([&] { return connect(fd, reinterpret_cast<const sockaddr*>(&address), size); });
  close(fd);
  return error;
}

TEST_F(RefusedCallsTest, AddressesAreRecordedAndTheCallGoesOn) {
  EXPECT_EQ(Serve([] {
              if (unshare(CLONE_NEWNET) == 0) return 1;  // the filter refuses it
              const sockaddr_storage to = Address("203.0.113.9", 9);
              const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
              (void)!sendto(fd, "x", 1, 0, reinterpret_cast<const sockaddr*>(&to),
                            sizeof(sockaddr_in));
              Connect("192.0.2.1", 443);
              Connect("192.0.2.1", 443);
              Connect("2001:db8::1", 53, sizeof(sockaddr_in6));
              Connect("::ffff:198.51.100.7", 80);
              return 0;
            }),
            0);
  ASSERT_EQ(report_.refused.size(), 5u);
  EXPECT_EQ(report_.refused[1].destination, "203.0.113.9:9");
  EXPECT_EQ(report_.refused[2].destination, "192.0.2.1:443");
  EXPECT_EQ(report_.refused[2].count, 2u);
  EXPECT_FALSE(report_.refused[2].comm.empty());
  EXPECT_EQ(report_.refused[3].destination, "[2001:db8::1]:53");
  EXPECT_EQ(report_.refused[4].destination, "198.51.100.7:80");
}

TEST_F(RefusedCallsTest, TheLoopbackAndOtherFamiliesAreNotRecordedAndWork) {
  EXPECT_EQ(Serve([] {
              for (const char* own : {"127.0.0.1", "127.9.9.9", "0.0.0.0", "::ffff:127.0.0.1"}) {
                if (const int error = Connect(own, 53)) return error;
              }
              const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
              const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
              sockaddr_un name{AF_UNIX, "\0odyssey-refused-calls-test"};
              const auto* address = reinterpret_cast<const sockaddr*>(&name);
              if (bind(server, address, sizeof(name)) != 0 || listen(server, 1) != 0) return 250;
              if (connect(client, address, sizeof(name)) != 0) return 251;
              return Connect("192.0.2.1", 1, 4) == EINVAL ? 0 : 252;  // too short to be one
            }),
            0);
  EXPECT_TRUE(report_.refused.empty());
}

TEST_F(RefusedCallsTest, NamesAreThoseAfterTheCommandAskedTheResolver) {
  names_.Add("before.example");
  Serve([this] {
    names_.Add("not-asked.example");
    Connect("127.0.0.1", 53);
    names_.Add("asked.example");
    Connect("127.0.0.1", 53);
    names_.Add("again.example");
    return 0;
  });
  ASSERT_EQ(report_.refused.size(), 2u);
  EXPECT_EQ(report_.refused[0].destination, "asked.example");
  EXPECT_EQ(report_.refused[1].destination, "again.example");
  Serve([this] {
    names_.Add("anothers.example");
    return 0;
  });
  EXPECT_TRUE(report_.refused.empty());
}

TEST_F(RefusedCallsTest, AddressesBeyondTheTableAreCounted) {
  Serve([] {
    for (uint16_t port = 1; port <= 50; ++port) Connect("192.0.2.1", port);
    return 0;
  });
  EXPECT_EQ(report_.refused.size(), cell::kMaxRefusedCalls);
  EXPECT_EQ(report_.refused_more, 50u - cell::kMaxRefusedCalls);
}

// ── Without anybody who listens ─────────────────────────────────────────────────────────────────

TEST(NotifyingFilterTest, RefusesWhenTheListenerIsGone) {
  EXPECT_EQ(InChild([] {
              auto listener = EnterNotifyingFilter();
              if (!listener.ok() || !*listener) return 200;
              listener->reset();
              return Try(Unshare);
            }),
            ENOSYS);
}

TEST(NotifyingFilterTest, TheListenerIsClosedByExecution) {
  EXPECT_EQ(InChild([] {
              auto listener = EnterNotifyingFilter();
              return listener.ok() ? fcntl(listener->get(), F_GETFD) : 200;
            }),
            FD_CLOEXEC);
}

// A filter chain has one listener: if somebody outside has it, the filter answers by itself.
TEST(NotifyingFilterTest, AnswersByItselfWhereAnotherListens) {
  EXPECT_EQ(InChild([] {
              sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
              sock_fprog program{1, allow};
              if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                          &program) < 0) {
                return 200;
              }
              auto listener = EnterNotifyingFilter();
              if (!listener.ok() || *listener) return 201;
              return Try(Unshare);
            }),
            EPERM);
}

// The file worker and the guards have nobody who would answer.
TEST(NotifyingFilterTest, WorkersAreNotTold) {
  EXPECT_EQ(InChild([] { return EnterCommandFilter().ok() ? Try(Unshare) : 200; }), EPERM);
}

// What cell-init is denied outranks the question: nobody could let it through.
TEST(NotifyingFilterTest, WhatInitIsDeniedIsAnsweredByTheKernel) {
  EXPECT_EQ(InChild([] {
              if (!EnterInitFilter().ok()) return 200;
              auto listener = EnterNotifyingFilter();
              if (!listener.ok() || !*listener) return 201;
              const int error = Try([] { return syscall(SYS_bpf, 0, nullptr, 0); });
              pollfd polled = {listener->get(), POLLIN, 0};
              return poll(&polled, 1, 0) == 0 ? error : 202;
            }),
            EPERM);
}

}  // namespace
}  // namespace odyssey::cell_init
