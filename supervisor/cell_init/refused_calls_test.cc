// Processes of the test's own under the real filter: each answers for itself as a slot's pid 1
// does.

#include "supervisor/cell_init/refused_calls.h"

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

 private:
  static int ServeHere(const std::function<int()>& command, int channel) {
    auto listener = EnterTellingFilter();
    if (!listener.ok() || !*listener) return 200;
    RefusedCalls refused(std::move(*listener), KernelMemory({true, 1000}, -1));
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
              auto listener = EnterTellingFilter();
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

// ── Without anybody who listens ─────────────────────────────────────────────────────────────────

TEST(TellingFilterTest, RefusesWhenTheListenerIsGone) {
  EXPECT_EQ(InChild([] {
              auto listener = EnterTellingFilter();
              if (!listener.ok() || !*listener) return 200;
              listener->reset();
              return Try(Unshare);
            }),
            ENOSYS);
}

TEST(TellingFilterTest, TheListenerIsClosedByExecution) {
  EXPECT_EQ(InChild([] {
              auto listener = EnterTellingFilter();
              return listener.ok() ? fcntl(listener->get(), F_GETFD) : 200;
            }),
            FD_CLOEXEC);
}

// A filter chain has one listener: if somebody outside has it, the filter answers by itself.
TEST(TellingFilterTest, AnswersByItselfWhereAnotherListens) {
  EXPECT_EQ(InChild([] {
              sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
              sock_fprog program{1, allow};
              if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                          &program) < 0) {
                return 200;
              }
              auto listener = EnterTellingFilter();
              if (!listener.ok() || *listener) return 201;
              return Try(Unshare);
            }),
            EPERM);
}

// The file worker and the guards have nobody who would answer.
TEST(TellingFilterTest, WorkersAreNotTold) {
  EXPECT_EQ(InChild([] { return EnterCommandFilter().ok() ? Try(Unshare) : 200; }), EPERM);
}

// What cell-init is denied outranks the question: nobody could let it through.
TEST(TellingFilterTest, WhatInitIsDeniedIsAnsweredByTheKernel) {
  EXPECT_EQ(InChild([] {
              if (!EnterInitFilter().ok()) return 200;
              auto listener = EnterTellingFilter();
              if (!listener.ok() || !*listener) return 201;
              const int error = Try([] { return syscall(SYS_bpf, 0, nullptr, 0); });
              pollfd polled = {listener->get(), POLLIN, 0};
              return poll(&polled, 1, 0) == 0 ? error : 202;
            }),
            EPERM);
}

}  // namespace
}  // namespace odyssey::cell_init
