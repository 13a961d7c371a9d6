// What a supervisor was started with, and what of it reaches commands. The supervisor is a child
// of the test: it is started with what the test has, and changed from outside where the test could
// not go back.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <regex>
#include <string>

#include "common/os/file.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioRealTime = 1 << 13;

// Ignored as long as it lives.
class Ignored final {
 public:
  explicit Ignored(int signal) : signal_(signal), before_(::signal(signal, SIG_IGN)) {}
  ~Ignored() { ::signal(signal_, before_); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;

 private:
  const int signal_;
  void (*const before_)(int);
};

std::unique_ptr<SupervisorHarness> StartIgnoring(int signal) {
  const Ignored ignored(signal);
  return std::make_unique<SupervisorHarness>();
}

// Launchers that were ready before the worker was changed are used up by the first cells.
std::string NewCell(SupervisorHarness* supervisor) {
  (void)supervisor->Cell(SupervisorHarness::Request("first"));
  (void)supervisor->Cell(SupervisorHarness::Request("second"));
  return supervisor->Cell();
}

TEST(InheritedTest, EndsOfChildrenAreHeardThoughSIGCHLDWasIgnored) {
  const auto supervisor = StartIgnoring(SIGCHLD);
  const std::string cell = supervisor->Cell();
  EXPECT_TRUE(supervisor->Shell(cell, "sh -c 'exit 7' & wait $!; exit $?").Exited(7));
  EXPECT_TRUE(supervisor->Remove(cell).ok());
}  // that nothing is left is the harness's own test

TEST(InheritedTest, NoSignalIsIgnoredInACell) {
  const auto supervisor = StartIgnoring(SIGPIPE);
  const ExecResult told = supervisor->Shell(supervisor->Cell(), "grep SigIgn /proc/self/status");
  EXPECT_EQ(told.out, "SigIgn:\t0000000000000000\n") << told.ToString();
}

TEST(InheritedTest, APriorityOfTheSupervisorIsNotACommands) {
  SupervisorHarness supervisor;
  const pid_t worker = supervisor.worker();
  ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(worker), -5), 0);
  ASSERT_EQ(syscall(SYS_ioprio_set, kIoprioWhoProcess, worker, kIoprioRealTime), 0);
  const ExecResult told =
      supervisor.Python(NewCell(&supervisor),
                        "import ctypes, os\nprint(os.getpriority(os.PRIO_PROCESS, 0), "
                        "ctypes.CDLL(None).syscall(252, 1, 0))");
  EXPECT_EQ(told.out, "0 0\n") << told.ToString();
}

TEST(InheritedTest, NeitherFixedAddressesNorLateTimersAreACommands) {
  const int before = personality(ADDR_NO_RANDOMIZE);
  const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 900'000'000UL, 0, 0, 0), 0);
  SupervisorHarness supervisor;
  const ExecResult told =
      supervisor.Shell(supervisor.Cell(), "cat /proc/self/personality /proc/self/timerslack_ns");
  personality(static_cast<unsigned long>(before));
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack), 0, 0, 0);
  EXPECT_EQ(told.out, "00000000\n50000\n") << told.ToString();
}

TEST(InheritedTest, ALimitBelowThePolicysHolds) {
  SupervisorHarness supervisor;
  const rlimit low{200, 200};
  ASSERT_EQ(prlimit(supervisor.worker(), RLIMIT_NOFILE, &low, nullptr), 0);
  const std::string cell = NewCell(&supervisor);
  const ExecResult told = supervisor.Shell(cell, "ulimit -Sn; ulimit -Hn");
  EXPECT_EQ(told.out, "200\n200\n") << told.ToString();
}

// At 0 the kernel would start a handler all the same (core(5)), as the host's root.
TEST(InheritedTest, TheHostsHandlerOfCrashesIsStartedForNoCommand) {
  SupervisorHarness supervisor;
  const auto pattern = ReadFile("/proc/sys/kernel/core_pattern", 4096);
  ASSERT_TRUE(pattern.ok());
  const bool handled = (*pattern)[0] == '|' || (*pattern)[0] == '@';
  const ExecResult told = supervisor.Python(supervisor.Cell(),
                                            "import resource as r\nr.setrlimit(r.RLIMIT_CORE, (0, "
                                            "0))\nprint(*r.getrlimit(r.RLIMIT_CORE))");
  EXPECT_EQ(told.out, handled ? "1 1\n" : "0 0\n") << told.ToString();
}

// A service with LimitCORE=0, whose root may not raise it again.
TEST(InheritedTest, CellsAreMadeThoughTheSupervisorHasNoCoresAtAll) {
  SupervisorHarness supervisor;
  const rlimit none{0, 0};
  ASSERT_EQ(prlimit(supervisor.worker(), RLIMIT_CORE, &none, nullptr), 0);
  EXPECT_TRUE(supervisor.Exec(NewCell(&supervisor), {"true"}).Exited(0));
}

// The same of what root starts, whatever pattern the host has now.
TEST(InheritedTest, BubblewrapStartsWithTheLimitThatKeepsAHandlerFromBeingStarted) {
  SupervisorHarness supervisor;
  (void)supervisor.Cell();
  size_t found = 0;
  for (const pid_t pid : supervisor.CellProcesses()) {
    if (CommandName(pid) != "bwrap") continue;
    const auto limits = ReadFile("/proc/" + std::to_string(pid) + "/limits", 1 << 14);
    ASSERT_TRUE(limits.ok());
    EXPECT_TRUE(std::regex_search(*limits, std::regex("core file size +1 +1 "))) << *limits;
    ++found;
  }
  EXPECT_EQ(found, 1u);
}

}  // namespace
}  // namespace odyssey::testing
