#include "policy/explain/refused_call.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "policy/seccomp/filter.h"
#include "tests/testing/bpf_evaluator.h"

namespace odyssey::explain {
namespace {

// Numbers between the old table's end and the one that all architectures share.
bool IsUnassigned(uint32_t number) { return number >= 335 && number < 424; }

TEST(RefusedCallTest, EveryCallThatTheFilterRefusesHasAName) {
  const auto program = testing::ToProgram(*seccomp::BuildFilter({seccomp::FilterKind::kCommand}));
  int named = 0;
  for (uint32_t number = 0; number < 512; ++number) {
    for (const uint64_t argument : {uint64_t{0}, uint64_t{RLIMIT_CORE}, ~uint64_t{0}}) {
      seccomp_data data{.nr = static_cast<int>(number), .arch = AUDIT_ARCH_X86_64};
      std::fill(std::begin(data.args), std::end(data.args), argument);
      const auto verdict = testing::Evaluate(program, data);
      ASSERT_TRUE(verdict.ok());
      if (verdict->action != (SECCOMP_RET_ERRNO | EPERM) || IsUnassigned(number)) continue;
      EXPECT_EQ(CallName(number).find("system call"), std::string::npos) << number;
      ++named;
    }
  }
  EXPECT_GT(named, 100);
}

TEST(RefusedCallTest, NamesAreThoseOfTheKernel) {
  EXPECT_EQ(CallName(SYS_mount), "mount");
  EXPECT_EQ(CallName(SYS_unshare), "unshare");
  EXPECT_EQ(CallName(452), "fchmodat2");
  EXPECT_EQ(CallName(400), "system call 400");
}

TEST(RefusedCallTest, ArgumentsThatDecideAreTold) {
  const auto text = [](uint32_t number, std::array<uint32_t, 3> arguments) {
    return CallText({.number = number, .arguments = arguments});
  };
  EXPECT_EQ(text(SYS_socket, {AF_PACKET, SOCK_RAW, 768}), "socket(AF_PACKET, SOCK_RAW, 768)");
  EXPECT_EQ(text(SYS_socket, {AF_INET, SOCK_RAW, 1}), "socket(AF_INET, SOCK_RAW, 1)");
  EXPECT_EQ(text(SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}), "socket(AF_ALG, SOCK_SEQPACKET)");
  EXPECT_EQ(text(SYS_socket, {99, 15, 0}), "socket(99, 15)");
  EXPECT_EQ(text(SYS_socketpair, {AF_INET}), "socketpair(AF_INET)");
  EXPECT_EQ(text(SYS_ioctl, {TIOCSTI}), "ioctl(TIOCSTI)");
  EXPECT_EQ(text(SYS_fcntl, {F_SETLEASE}), "fcntl(F_SETLEASE)");
  EXPECT_EQ(text(SYS_setsockopt, {SO_ATTACH_FILTER}), "setsockopt(SO_ATTACH_FILTER)");
  EXPECT_EQ(text(SYS_mount, {1, 2, 3}), "mount");
}

TEST(RefusedCallTest, IsADenialThatNoPolicyLifts) {
  EXPECT_EQ(CallDenial({.number = SYS_mount, .count = 7, .pid = 12, .comm = "mount"}),
            (Denial{"syscall", "mount", "call", "seccomp", "", "mount[12]", 7}));
}

TEST(RefusedCallTest, TellsTheNumberThatIsAllowed) {
  const auto rule = [](uint32_t number, std::array<uint32_t, 3> arguments) {
    return CallDenial({.number = number, .arguments = arguments}).rule;
  };
  for (const uint32_t command : {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW}) {
    EXPECT_EQ(rule(SYS_fcntl, {command}), "kernel memory: at most 32768 locks") << command;
  }
  EXPECT_EQ(rule(SYS_fcntl, {F_SETLEASE}), "seccomp");
  EXPECT_EQ(
      rule(SYS_socket, {AF_NETLINK, SOCK_DGRAM, 0}),
      "kernel memory: at most 64 such sockets, or 1024 of all where the network is the host's");
  EXPECT_EQ(rule(SYS_socket, {AF_NETLINK, SOCK_DGRAM, 9}), "seccomp");
  for (const auto& socket : {std::array<uint32_t, 3>{AF_INET, SOCK_STREAM, IPPROTO_TCP},
                             {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6}}) {
    EXPECT_EQ(rule(SYS_socket, socket),
              "kernel memory: at most 256 sockets, or one for each 256 KiB of memory_bytes");
  }
  EXPECT_EQ(rule(SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}), "seccomp");
  EXPECT_EQ(rule(SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_UDP}), "seccomp");
  EXPECT_EQ(rule(SYS_listen, {}),
            "kernel memory: at most 512 connections that wait to be accepted");
  EXPECT_EQ(CallDenial({.number = SYS_listen}).verdict, kKill);
}

}  // namespace
}  // namespace odyssey::explain
