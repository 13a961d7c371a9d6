// What a slot's pid 1 hears of, and what it may do without hearing of itself.

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <utility>

#include "tests/testing/seccomp_fixture.h"

namespace odyssey::seccomp {
namespace {

// The locks of one are the other's, which a count by processes does not see.
TEST(NotifiedCallsTest, TellsOfProcessesThatShareFiles) {
  ExpectNotified(SYS_clone, {CLONE_FILES | SIGCHLD});
  ExpectNotified(SYS_clone, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED});
  ExpectNotified(SYS_clone, {kHigh | CLONE_FILES | CLONE_VFORK});
}

// What they have received is counted nowhere.
TEST(NotifiedCallsTest, TellsOfListenersAndOfSocketsOfNetlink) {
  ExpectNotified(SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE});
  ExpectNotified(SYS_socket, {AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE});
  ExpectNotified(SYS_listen, {3, 128});
}

// Locks of ranges are told: their number is bounded.
TEST(NotifiedCallsTest, FilesTakeEveryCommandButALease) {
  for (uint32_t command = 0; command < 1040; ++command) {
    for (const uint64_t upper : {uint64_t{0}, uint64_t{1} << 32, ~uint64_t{UINT32_MAX}}) {
      const bool locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                         command == F_OFD_SETLKW;
      if (locks) {
        ExpectNotified(SYS_fcntl, {3, upper | command});
      } else {
        const uint32_t expected = command == F_SETLEASE ? kDeny : kAllow;
        ExpectCases({{SYS_fcntl, {3, upper | command}, expected}});
      }
    }
  }
}

TEST(NotifiedCallsTest, TellsOfWhatItRefusesAndOfNothingElse) {
  for (int number = -1; number < 512; ++number) {
    if (number == SYS_listen) continue;  // told whatever its arguments, and allowed
    for (const uint64_t argument : {uint64_t{0}, ~uint64_t{0}}) {
      const Args args(6, argument);
      const uint32_t plain = Ask(Command(), number, args).action;
      const uint32_t telling = Ask(Notifying(), number, args).action;
      EXPECT_EQ(telling, plain == kDeny ? kTell : plain) << number;
    }
  }
}

// A cell without a network: every call that gives an address, and no other call.
TEST(NotifiedCallsTest, ConnectsAreNotifiedWhereTheCellHasNoNetwork) {
  for (const uint64_t address : {uint64_t{1}, kHigh, ~uint64_t{0}}) {
    EXPECT_EQ(Ask(NotifyingOfConnects(), SYS_connect, {3, address, 16}).action, kTell);
    EXPECT_EQ(Ask(NotifyingOfConnects(), SYS_sendto, {3, 1, 1, 0, address, 16}).action, kTell);
    ExpectCases(
        {{SYS_connect, {3, address, 16}, kAllow}, {SYS_sendto, {3, 1, 1, 0, address, 16}, kAllow}});
  }
  EXPECT_EQ(Ask(NotifyingOfConnects(), SYS_sendto, {3, 1, 1, 0, 0, 0}).action, kAllow);
  for (int number = -1; number < 512; ++number) {
    if (number == SYS_connect || number == SYS_sendto) continue;
    for (const uint64_t argument : {uint64_t{0}, ~uint64_t{0}}) {
      const Args args(6, argument);
      EXPECT_EQ(Ask(NotifyingOfConnects(), number, args).action,
                Ask(Notifying(), number, args).action)
          << number;
    }
  }
}

// An answer that nobody may change, and that nobody hears of: it outranks the question.
TEST(NotifiedCallsTest, WhatInitIsDeniedIsRefusedWhoeverListens) {
  int denied = 0;
  for (int number = 0; number < 470; ++number) {
    const uint32_t init = Ask(Init(), number).action;
    if (init == kAllow) continue;
    ++denied;
    EXPECT_EQ(init & SECCOMP_RET_ACTION_FULL, static_cast<uint32_t>(SECCOMP_RET_ERRNO)) << number;
  }
  EXPECT_GT(denied, 20);
}

// A slot's pid 1 is the one that answers: a refused call of its own would wait for itself.
TEST(NotifiedCallsTest, AllowsWhatASlotDoes) {
  for (const int number : {SYS_poll,       SYS_read,
                           SYS_write,      SYS_close,
                           SYS_wait4,      SYS_kill,
                           SYS_sendmsg,    SYS_recvfrom,
                           SYS_recvmsg,    SYS_madvise,
                           SYS_mmap,       SYS_munmap,
                           SYS_brk,        SYS_exit_group,
                           SYS_signalfd4,  SYS_rt_sigprocmask,
                           SYS_getpid,     SYS_gettid,
                           SYS_futex,      SYS_set_robust_list,
                           SYS_rseq,       SYS_prlimit64,
                           SYS_ioprio_get, SYS_sched_getattr,
                           SYS_getrlimit,  SYS_sched_getaffinity,
                           SYS_statfs,     SYS_getdents64,
                           SYS_newfstatat, SYS_fcntl}) {
    EXPECT_EQ(Ask(Notifying(), number).action, kAllow) << number;
    EXPECT_EQ(Ask(NotifyingOfConnects(), number).action, kAllow) << number;
  }
  const uint64_t fork = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD;
  const std::vector<Case> cases = {
      {SYS_clone, {fork}, kAllow},
      {SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0}, kAllow},
      {SYS_lseek, {0, 0, SEEK_SET}, kAllow},
      {SYS_openat, {0xffffff9c, 0, O_RDONLY | O_CLOEXEC, 0}, kAllow},
      {SYS_ioctl, {0, SECCOMP_IOCTL_NOTIF_RECV}, kAllow},
      {SYS_ioctl, {0, SECCOMP_IOCTL_NOTIF_SEND}, kAllow},
      {SYS_ioctl, {0, SECCOMP_IOCTL_NOTIF_ID_VALID}, kAllow}};
  ExpectCases(cases);
}

}  // namespace
}  // namespace odyssey::seccomp
