// What a machine lacks is told apart from what it has: seen with filters that take it away from a
// child of this process.

#include "tests/testing/machine.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace odyssey::testing {
namespace {

constexpr int kHas = 10;
constexpr int kLacks = 11;

// What `lacks` says in a child in which the kernel takes `action` at each call by int 0x80.
int InChildWith(uint32_t action, void (*on_sigsys)(int), const std::function<bool()>& lacks) {
  const pid_t child = fork();
  if (child == 0) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    signal(SIGSYS, on_sigsys);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      _exit(1);
    }
    _exit(lacks() ? kLacks : kHas);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// As a kernel without them: the instruction is SIGSEGV.
void BeSegmentationFault(int) {
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

bool Lacks32BitCalls() { return !WhyNo32BitCalls().empty(); }
bool ItIsSegmentationFault() { return WhyNo32BitCalls() == "int 0x80 ended by signal 11"; }

// Not asked in this process first, which would pass what it found on to its children.
TEST(MachineTest, A32BitCallThatEndsItsProcessIsNone) {
  EXPECT_EQ(InChildWith(SECCOMP_RET_KILL_PROCESS, SIG_DFL, Lacks32BitCalls), kLacks);
  EXPECT_EQ(InChildWith(SECCOMP_RET_TRAP, BeSegmentationFault, ItIsSegmentationFault), kLacks);
}

TEST(MachineTest, A32BitCallThatIsRefusedIsNone) {
  EXPECT_EQ(InChildWith(SECCOMP_RET_ERRNO | 38, SIG_DFL, Lacks32BitCalls), kLacks);
}

TEST(MachineTest, TheEndOfTheProcessSaysWhy) {
  EXPECT_EQ(WhyNo32BitCallsBy(0), "");
  EXPECT_EQ(WhyNo32BitCallsBy(SIGSEGV), "int 0x80 ended by signal 11");
  EXPECT_EQ(WhyNo32BitCallsBy(SIGSYS), "int 0x80 ended by signal 31");
  EXPECT_EQ(WhyNo32BitCallsBy(1 << 8), "int 0x80 was not answered");
}

}  // namespace
}  // namespace odyssey::testing
