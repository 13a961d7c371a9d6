// A slot serves one command after another. What must not pass from one to the next, and what must
// come back: ADR 0011.

#include <gtest/gtest.h>

#include <set>

#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

constexpr int kCommands = 20;
// One line: the pid namespace; then the number of every process that is there beside pid 1.
constexpr char kLook[] =
    "readlink /proc/self/ns/pid; for p in /proc/[0-9]*; do p=${p#/proc/}; "
    "test $p = 1 || test $p = $$ || echo stranger $p $(cat /proc/$p/comm 2>/dev/null); done";

class SlotsTest : public ::testing::Test {
 protected:
  // Runs `command` and then looks, many times; the namespaces seen.
  std::set<std::string> RunAndLook(const std::string& command) {
    const std::string cell = supervisor_.Cell();
    std::set<std::string> namespaces;
    for (int i = 0; i < kCommands; ++i) {
      const ExecResult ran = supervisor_.Shell(cell, command);
      EXPECT_TRUE(ran.status.ok()) << ran.ToString();
      const ExecResult looked = supervisor_.Shell(cell, kLook);
      EXPECT_TRUE(looked.Exited(0)) << looked.ToString();
      EXPECT_EQ(looked.out.find("stranger"), std::string::npos) << looked.out;
      namespaces.insert(looked.out.substr(0, looked.out.find('\n')));
    }
    return namespaces;
  }

  SupervisorHarness supervisor_;
};

TEST_F(SlotsTest, ADaemonThatACommandLeftIsGoneForTheNextInTheSameSlot) {
  const auto namespaces = RunAndLook(
      "(trap '' TERM HUP INT; setsid sh -c 'setsid sleep 1000 >/dev/null 2>&1 &' "
      ">/dev/null 2>&1 &)");
  EXPECT_LT(namespaces.size(), static_cast<size_t>(kCommands)) << "no slot came back";
  EXPECT_TRUE(Eventually([this] {
    for (const pid_t pid : supervisor_.CellProcesses()) {
      if (CommandName(pid) == "sleep") return false;
    }
    return true;
  }));
}

TEST_F(SlotsTest, ProcessesThatForkWhileTheyAreKilledAreGoneToo) {
  const auto namespaces =
      RunAndLook("for i in 1 2 3; do (while :; do (:) & done) >/dev/null 2>&1 & done; exit 3");
  EXPECT_LT(namespaces.size(), static_cast<size_t>(kCommands)) << "no slot came back";
}

TEST_F(SlotsTest, ACommandThatWasKilledTakesItsSlotWithIt) {
  const std::string cell = supervisor_.Cell();
  for (int i = 0; i < 5; ++i) {
    const ExecResult late = supervisor_.Shell(cell, "sleep 1000", {.wall_clock_ms = 50});
    EXPECT_EQ(late.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << late.ToString();
    const ExecResult looked = supervisor_.Shell(cell, kLook);
    EXPECT_TRUE(looked.Exited(0)) << looked.ToString();
    EXPECT_EQ(looked.out.find("stranger"), std::string::npos) << looked.out;
  }
}

TEST_F(SlotsTest, TimeAndMemoryAreOfOneCommand) {
  const std::string cell = supervisor_.Cell();
  const ExecResult big =
      supervisor_.Python(cell, "x = bytearray(200 << 20)\nfor i in range(2000000): pass");
  ASSERT_TRUE(big.Exited(0)) << big.ToString();
  EXPECT_GT(big.outcome.max_rss_bytes(), uint64_t{200} << 20);
  for (int i = 0; i < 3; ++i) {
    const ExecResult small = supervisor_.Exec(cell, {"true"});
    ASSERT_TRUE(small.Exited(0)) << small.ToString();
    EXPECT_LT(small.outcome.max_rss_bytes(), uint64_t{50} << 20);
    EXPECT_LT(small.outcome.user_usec(), big.outcome.user_usec());
  }
}

TEST_F(SlotsTest, LimitsOfOneCommandAreNotThoseOfTheNext) {
  v1::PrepareCellRequest request = SupervisorHarness::Request("test");
  const std::string cell = supervisor_.Cell(request);
  const std::string lower =
      "ulimit -n 16; ulimit -c 0; umask 077; cd /tmp; export LEFT=behind; "
      "ulimit -n; umask; pwd";
  const ExecResult lowered = supervisor_.Shell(cell, lower);
  ASSERT_TRUE(lowered.Exited(0)) << lowered.ToString();
  EXPECT_EQ(lowered.out, "16\n0077\n/tmp\n");
  for (int i = 0; i < 3; ++i) {
    const ExecResult next = supervisor_.Shell(cell, "ulimit -n; umask; pwd; echo ${LEFT-none}");
    EXPECT_EQ(next.out, "1024\n0022\n/workspace\nnone\n");
  }
}

}  // namespace
}  // namespace odyssey::testing
