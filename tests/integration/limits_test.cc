// Limits reach everything that a cell starts, and what hits one leaves the cell usable and the
// others alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

class LimitsTest : public ::testing::Test {
 protected:
  static v1::PrepareCellRequest With(const policy::v1::Limits& limits) {
    auto request = SupervisorHarness::Request("limited");
    *request.mutable_sandbox()->mutable_limits() = limits;
    return request;
  }

  void Prepare(const policy::v1::Limits& limits) {
    const auto info = supervisor_.Prepare(With(limits));
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    cell_ = info->cell_id();
    uid_ = info->host_uid();
  }

  ::testing::AssertionResult Usable(const std::string& cell) {
    const ExecResult result = supervisor_.Shell(cell, "echo usable");
    if (result.out == "usable\n") return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << result.ToString();
  }

  // Names of the cell's processes beyond those that wait for the next command.
  std::vector<std::string> Strays() const {
    std::vector<std::string> names;
    for (const pid_t pid : SupervisorHarness::ProcessesOf(uid_)) {
      const std::string name = CommandName(pid);
      if (name != "bwrap" && name != "cell-init" && name != "cell-tools" && !name.empty()) {
        names.push_back(name);
      }
    }
    return names;
  }

  // The command, which prints "begun" when it has done what it does, must be cut off at its wall
  // clock, and nothing of it may be left.
  void ExpectTimedOut(const std::string& script) {
    WithTimeEnough([&](uint32_t wall_clock_ms) {
      const ExecResult result = supervisor_.Shell(cell_, script, {.wall_clock_ms = wall_clock_ms});
      EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << result.ToString();
      EXPECT_TRUE(Eventually([&] { return Strays().empty(); })) << script << ": " << Strays()[0];
      return result.out.find("begun\n") != std::string::npos;
    });
  }

  SupervisorHarness supervisor_;
  const std::string other_ = supervisor_.Cell(SupervisorHarness::Request("other"));
  std::string cell_;
  uid_t uid_ = 0;
};

constexpr char kEatMemory[] = "b = []\nwhile True: b.append(bytearray(b'x' * 4000000))";

TEST_F(LimitsTest, MemoryEndsTheCommandAndNothingElse) {
  policy::v1::Limits limits;
  limits.set_memory_bytes(64 * kMegabyte);
  Prepare(limits);
  const ExecResult result = supervisor_.Python(cell_, kEatMemory);
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_OOM_KILLED) << result.ToString();
  EXPECT_GE(result.outcome.oom_kills(), 1u);
  EXPECT_TRUE(Usable(cell_));
  EXPECT_TRUE(Usable(other_));
}

TEST_F(LimitsTest, MemoryReachesDescendants) {
  policy::v1::Limits limits;
  limits.set_memory_bytes(64 * kMegabyte);
  Prepare(limits);
  const ExecResult result = supervisor_.Shell(
      cell_, std::string("(setsid -w python3 -c \"") + kEatMemory + "\"); exit $?");
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_OOM_KILLED) << result.ToString();
  EXPECT_GE(result.outcome.oom_kills(), 1u);
  EXPECT_TRUE(Usable(cell_));
}

TEST_F(LimitsTest, MemoryThatOneOfSeveralProcessesWasKilledForIsTold) {
  policy::v1::Limits limits;
  limits.set_memory_bytes(64 * kMegabyte);
  Prepare(limits);
  const std::string script =
      std::string("import subprocess\nprint(subprocess.run(['python3', '-c', ") +
      "'x = bytearray(200 << 20)']).returncode)";
  const ExecResult result = supervisor_.Python(cell_, script);
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_EXITED) << result.ToString();
  EXPECT_EQ(result.out, "-9\n") << result.ToString();
  EXPECT_EQ(result.outcome.oom_kills(), 1u) << "though it ended well and silently";
  ASSERT_EQ(result.denials.size(), 1u);
  EXPECT_EQ(result.denials[0].resource(), "memory_bytes");
}

// The kernel may choose the cell's pid 1, and does where the host says that it should go first.
TEST_F(LimitsTest, MemoryThatEndsTheCellIsTheCommandsEndToo) {
  policy::v1::Limits limits;
  limits.set_memory_bytes(64 * kMegabyte);
  Prepare(limits);
  const std::vector<pid_t> all = SupervisorHarness::ProcessesOf(uid_);
  const auto init = std::find_if(all.begin(), all.end(),
                                 [](pid_t pid) { return CommandName(ParentOf(pid)) == "bwrap"; });
  ASSERT_NE(init, all.end());
  std::ofstream("/proc/" + std::to_string(*init) + "/oom_score_adj") << "1000";
  const ExecResult result = supervisor_.Shell(cell_, "head -c 200M /dev/zero > /tmp/f");
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_OOM_KILLED) << result.ToString();
  EXPECT_EQ(result.outcome.signal(), SIGKILL);
  EXPECT_FALSE(Usable(cell_));
  EXPECT_TRUE(Usable(other_));
}

// In the cell's own accounting, files in memory count too.
TEST_F(LimitsTest, MemoryIncludesFilesInMemory) {
  policy::v1::Limits limits;
  limits.set_memory_bytes(64 * kMegabyte);
  limits.set_tmp_bytes(1024 * kMegabyte);
  Prepare(limits);
  const ExecResult result = supervisor_.Shell(
      cell_, "for d in /dev/shm /tmp /cell/tmp; do head -c 300M /dev/zero > $d/f && echo $d; done");
  EXPECT_EQ(result.out, "") << result.ToString();
  EXPECT_TRUE(Usable(other_));
}

TEST_F(LimitsTest, AForkBombStopsAndTheCellIsUsableAfterwards) {
  policy::v1::Limits limits;
  limits.set_pids(40);
  Prepare(limits);
  const std::string bomb = R"(
import os, time
children = 0
try:
    while children < 5000:
        if os.fork() == 0:
            time.sleep(1000)
        children += 1
except BlockingIOError:
    print('stopped', children < 40, flush=True)
)";
  const ExecResult counted = supervisor_.Python(cell_, bomb);
  EXPECT_EQ(counted.out, "stopped True\n") << counted.ToString();
  EXPECT_TRUE(Usable(cell_));

  const ExecResult bombed = supervisor_.Shell(cell_, "bomb() { bomb | bomb & }; bomb; sleep 1000",
                                              {.wall_clock_ms = 500});
  EXPECT_NE(bombed.outcome.kind(), v1::OUTCOME_KIND_UNSPECIFIED) << bombed.ToString();
  EXPECT_LE(MembersOf(supervisor_, uid_).size(), 40u);
  EXPECT_TRUE(Usable(other_));
  EXPECT_TRUE(Eventually([&] { return Strays().empty(); }));
  EXPECT_TRUE(Usable(cell_));
}

// A slot got the cell's last place, and its command's comes free only when another one ends.
TEST_F(LimitsTest, ACommandWaitsForThePlacesOfOneThatEnds) {
  constexpr size_t kPlaces = 40;
  policy::v1::Limits limits;
  limits.set_pids(kPlaces);
  Prepare(limits);
  v1::ExecStart start;
  start.set_cell_id(cell_);
  start.set_open_stdin(true);
  for (const char* word : {"python3", "-c", R"(
import os, signal, sys, time
children = []
try:
    while True:
        children.append(os.fork())
        if children[-1] == 0:
            time.sleep(1000)
except BlockingIOError:
    os.kill(children[-1], signal.SIGKILL)
    os.wait()
print('one is left', flush=True)
sys.stdin.read()
)"}) {
    start.add_argv(word);
  }
  RunningExec full(supervisor_.stub(), start);
  ASSERT_TRUE(full.ReadUntil("one is left"));
  RunningExec next(supervisor_.stub(), cell_, "echo usable");
  ASSERT_TRUE(Eventually([&] { return MembersOf(supervisor_, uid_).size() == kPlaces; }));
  v1::ExecRequest end;
  end.set_stdin_eof(true);
  full.Send(end);
  const ExecResult result = next.Finish();
  EXPECT_EQ(result.out, "usable\n") << result.ToString();
}

TEST_F(LimitsTest, ThreadsCountAsProcesses) {
  policy::v1::Limits limits;
  limits.set_pids(40);
  Prepare(limits);
  const ExecResult result = supervisor_.Python(cell_, R"(
import os, threading
never = threading.Event()
try:
    for count in range(200):
        threading.Thread(target=never.wait, daemon=True).start()
except RuntimeError:
    print('stopped', count < 40, flush=True)
    os._exit(0)
)");
  EXPECT_EQ(result.out, "stopped True\n") << result.ToString();
}

TEST_F(LimitsTest, TheWallClockEndsASleeper) {
  Prepare({});
  ExpectTimedOut("echo begun; sleep 1000");
  EXPECT_TRUE(Usable(cell_));
}

TEST_F(LimitsTest, TheWallClockSendsTheTermSignalFirst) {
  Prepare({});
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    const ExecResult result = supervisor_.Shell(
        cell_, "trap 'echo asked; exit 0' TERM; echo begun; while :; do sleep 0.01; done",
        {.wall_clock_ms = wall_clock_ms});
    EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << result.ToString();
    if (result.out.empty()) return false;
    EXPECT_EQ(result.out, "begun\nasked\n");
    return true;
  });
}

TEST_F(LimitsTest, TheWallClockEndsWhatIgnoresSignals) {
  Prepare({});
  ExpectTimedOut("trap '' TERM INT HUP QUIT USR1; echo begun; while :; do sleep 1; done");
  ExpectTimedOut("echo begun; kill -STOP $$");
}

TEST_F(LimitsTest, TheWallClockEndsWhatClosedItsStdio) {
  Prepare({});
  ExpectTimedOut("echo begun; exec sleep 1000 <&- >&- 2>&-");
}

TEST_F(LimitsTest, TheWallClockEndsDaemons) {
  Prepare({});
  ExpectTimedOut(
      "setsid sleep 1000 & (setsid sleep 1000 &) ; nohup sleep 1000 & echo begun; sleep 1000");
  ExpectTimedOut(R"(exec python3 -c "
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('begun', flush=True)
        os.closerange(0, 10)
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
")");
}

// With the command itself done, its outcome does not wait for daemons, and they do not stay.
TEST_F(LimitsTest, NothingOutlivesItsCommand) {
  Prepare({});
  const ExecResult result = supervisor_.Shell(
      cell_,
      "(setsid sleep 1000 >/dev/null 2>&1 &); setsid nohup sleep 1000 >&- 2>&- <&- & exit 3");
  EXPECT_TRUE(result.Exited(3)) << result.ToString();
  EXPECT_TRUE(Eventually([&] { return Strays().empty(); }));
}

TEST_F(LimitsTest, AChildThatHoldsStdoutOpenDoesNotHoldTheOutcome) {
  Prepare({});
  const ExecResult result = supervisor_.Shell(cell_, "setsid sleep 1000 & echo done");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "done\n");
  EXPECT_TRUE(Eventually([&] { return Strays().empty(); }));
}

TEST_F(LimitsTest, CancellingReachesEveryDescendant) {
  Prepare({});
  {
    RunningExec command(supervisor_.stub(), cell_,
                        "trap '' TERM; (setsid sleep 1000 &); sleep 1000 & echo up; wait");
    ASSERT_TRUE(command.ReadUntil("up"));
    ASSERT_TRUE(Eventually([&] { return Strays().size() >= 3; }));
  }
  EXPECT_TRUE(Eventually([&] { return Strays().empty(); }));
  EXPECT_TRUE(Usable(cell_));
}

TEST_F(LimitsTest, ProcessorTimeIsAQuotaOfTheWholeCell) {
  policy::v1::Limits limits;
  limits.set_cpu_millis(250);
  Prepare(limits);
  std::vector<std::string> quotas;
  for (const std::string& group : GroupsOf(supervisor_, uid_)) {
    const std::string v1 = Slurp(group + "/cpu.cfs_quota_us");
    const std::string v2 = Slurp(group + "/cpu.max");
    if (!v1.empty() || !v2.empty()) quotas.push_back(v1 + v2);
  }
  ASSERT_EQ(quotas.size(), 1u);
  EXPECT_EQ(quotas[0].substr(0, 5), "25000");
  // And it bites: two that spin get a quarter of one processor between them.
  const ExecResult result = supervisor_.Shell(
      cell_, "timeout 1 sh -c 'while :; do :; done' & timeout 1 sh -c 'while :; do :; done'; wait");
  EXPECT_LT(result.outcome.user_usec() + result.outcome.system_usec(),
            result.outcome.duration_usec() / 2);
}

TEST_F(LimitsTest, ProcessorSecondsOfAProcess) {
  policy::v1::Limits limits;
  limits.set_cpu_seconds(1);
  Prepare(limits);
  EXPECT_EQ(supervisor_.Shell(cell_, "ulimit -t; ulimit -Ht").out, "1\n1\n");
  const ExecResult result = supervisor_.Shell(cell_, "while :; do :; done");
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << result.ToString();
}

TEST_F(LimitsTest, OpenFilesOfAProcess) {
  policy::v1::Limits limits;
  limits.set_open_files(64);
  Prepare(limits);
  const Findings findings = Probe(&supervisor_, cell_, R"(
def many():
    held = [os.open('/dev/null', os.O_RDONLY) for _ in range(100)]
try_call('raise', 160, 7, (ctypes.c_uint64 * 2)(128, 128))
attempt('open', many)
)");
  EXPECT_EQ(findings, (Findings{{"raise", "EPERM"}, {"open", "EMFILE"}}));
}

TEST_F(LimitsTest, SizeOfAnyFileOfAProcess) {
  policy::v1::Limits limits;
  limits.set_file_bytes(2 * kMegabyte);
  Prepare(limits);
  EXPECT_TRUE(supervisor_.Shell(cell_, "head -c 2M /dev/zero > /workspace/f").Exited(0));
  const ExecResult more = supervisor_.Exec(cell_, {"sh", "-c", "exec head -c 3M /dev/zero > f"});
  EXPECT_EQ(more.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << more.ToString();
  EXPECT_EQ(more.outcome.signal(), SIGXFSZ);
  EXPECT_EQ(supervisor_.Shell(cell_, "stat -c %s /workspace/f").out, "2097152\n");
  const ExecResult raised = supervisor_.Shell(cell_, "ulimit -f unlimited");
  EXPECT_FALSE(raised.Exited(0)) << raised.ToString();
}

TEST_F(LimitsTest, TemporaryFilesFillTheirOwnTreeOnly) {
  policy::v1::Limits limits;
  limits.set_tmp_bytes(2 * kMegabyte);
  Prepare(limits);
  for (const std::string place : {"/tmp", "/cell/tmp", "/workspace", "/cell/data/home"}) {
    const ExecResult result =
        supervisor_.Shell(cell_, "head -c 8M /dev/zero > " + place + "/f; rm " + place + "/f");
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << place << result.ToString();
    const ExecResult empty =
        supervisor_.Python(cell_, "import os\nfor i in range(100000): os.close(os.open('" + place +
                                      "/e%d' % i, os.O_CREAT | os.O_WRONLY))");
    EXPECT_NE(empty.err.find("No space left"), std::string::npos) << place << empty.ToString();
  }
  const ExecResult shared = supervisor_.Python(cell_, R"(
import os
for i in range(70000): os.close(os.open('/dev/shm/e%d' % i, os.O_CREAT | os.O_WRONLY)))");
  EXPECT_NE(shared.err.find("No space left"), std::string::npos) << shared.ToString();
  EXPECT_TRUE(Usable(cell_));
}

TEST_F(LimitsTest, OutputIsCutAtItsCapWhileTheCommandGoesOn) {
  Prepare({});
  const ExecResult result =
      supervisor_.Shell(cell_, "head -c 5000000 /dev/zero; echo x > ended", {.stdout_cap = 1000});
  EXPECT_EQ(result.out.size(), 1000u);
  EXPECT_EQ(result.outcome.stdout_bytes(), 5'000'000u);
  EXPECT_TRUE(result.outcome.stdout_truncated());
  EXPECT_TRUE(supervisor_.Shell(cell_, "test -f ended").Exited(0));
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    const ExecResult endless =
        supervisor_.Shell(cell_, "yes", {.wall_clock_ms = wall_clock_ms, .stdout_cap = 1000});
    EXPECT_EQ(endless.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT);
    EXPECT_LE(endless.out.size(), 1000u);
    return endless.out.size() == 1000;
  });
}

}  // namespace
}  // namespace odyssey::testing
