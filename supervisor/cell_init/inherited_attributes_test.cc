// Processes of the test's own, with priorities that only root can have.

#include "supervisor/cell_init/inherited_attributes.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/testing/machine.h"

namespace odyssey::cell_init {
namespace {

constexpr int kIoprioWhoProcess = 1;
constexpr long kIoprioRealTime = 1 << 13;
constexpr long kIoprioIdle = 3 << 13;

bool InChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool SetPolicy(int policy) {
  const sched_param param{policy == SCHED_FIFO ? 1 : 0};
  return sched_setscheduler(0, policy, &param) == 0;
}
bool SetNice(int value) { return setpriority(PRIO_PROCESS, 0, value) == 0; }
bool SetIo(long value) { return syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, value) == 0; }

bool IsNow(int policy, int nice, long io) {
  return sched_getscheduler(0) == policy && getpriority(PRIO_PROCESS, 0) == nice &&
         syscall(SYS_ioprio_get, kIoprioWhoProcess, 0) == io;
}

TEST(InheritedAttributesTest, PrecedenceIsGivenUp) {
  EXPECT_TRUE(InChild([] {
    return SetNice(-5) && SetIo(kIoprioRealTime) &&
           (SetPolicy(SCHED_FIFO) || !testing::WhyNoRealTime().empty()) && ResetScheduling().ok() &&
           IsNow(SCHED_OTHER, 0, 0);
  }));
}

TEST(InheritedAttributesTest, AHumblerPlaceIsKept) {
  EXPECT_TRUE(InChild([] {
    return SetNice(7) && SetIo(kIoprioIdle) && SetPolicy(SCHED_BATCH) && ResetScheduling().ok() &&
           IsNow(SCHED_BATCH, 7, kIoprioIdle);
  }));
}

TEST(InheritedAttributesTest, KnowsWhichPatternsHandCrashesToTheHost) {
  for (const char* pattern : {"|/usr/lib/systemd/systemd-coredump %P", "@/run/core.sock", "@@/x"}) {
    EXPECT_TRUE(HandlesCrashes(pattern)) << pattern;
  }
  for (const char* pattern : {"", "core", "/var/crash/%e|x", "\n"}) {
    EXPECT_FALSE(HandlesCrashes(pattern)) << pattern;
  }
}

}  // namespace
}  // namespace odyssey::cell_init
