// A slot serves one command after another. What must not pass from one to the next, and what must
// come back: ADR 0011.

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "policy/plan/kernel_memory.h"
#include "tests/testing/running_exec.h"
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

// A command has the uid of its slot's pid 1, which answers for it, and which the next command would
// inherit all this from. What it asks of pid 1 at its end is answered.
constexpr char kChangePid1[] = R"(
import ctypes, os, resource, socket
changed = []
for limit in range(16):
    try:
        resource.prlimit(1, limit, (0, 0))
        changed.append(limit)
    except PermissionError: pass
if ctypes.CDLL(None).syscall(251, 3, os.getuid(), 3 << 13) == 0: changed.append('ioprio')  # of the user
resource.prlimit(os.getpid(), resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
os.mkfifo('/tmp/pipe'); os.unlink('/tmp/pipe')
socket.socket().listen()
print(changed)
)";
constexpr char kTellStanding[] = R"(
import os, resource
print([resource.getrlimit(limit) for limit in range(16)], os.getpriority(os.PRIO_PROCESS, 0),
      os.sched_getscheduler(0), os.sched_getaffinity(0))
)";

TEST_F(SlotsTest, WhatACommandDoesToTheSlotItselfReachesNoOtherCommand) {
  const std::string cell = supervisor_.Cell();
  const ExecResult before = supervisor_.Python(cell, kTellStanding);
  ASSERT_TRUE(before.Exited(0)) << before.ToString();
  for (int i = 0; i < 3; ++i) {
    const ExecResult changed = supervisor_.Python(cell, kChangePid1);
    ASSERT_TRUE(changed.Exited(0)) << changed.ToString();
    EXPECT_EQ(changed.out, "[]\n");
    const ExecResult after = supervisor_.Python(cell, kTellStanding);
    ASSERT_TRUE(after.Exited(0)) << after.ToString();
    EXPECT_EQ(after.out, before.out);
  }
}

// Takes every place of its cell, says so, and stays.
constexpr char kFillTheCell[] = R"sh(exec python3 -c "
import os, signal
try:
    while True:
        if os.fork() == 0: signal.pause()
except BlockingIOError:
    print('full', flush=True)
    signal.pause()")sh";

// It learns that it was given up when it gets its place.
TEST_F(SlotsTest, ACommandThatWaitsForAPlaceAndIsGivenUpHoldsUpNobody) {
  auto request = SupervisorHarness::Request("full");
  request.mutable_sandbox()->mutable_limits()->set_pids(16);
  const std::string cell = supervisor_.Cell(request);
  RunningExec full(supervisor_.stub(), cell, kFillTheCell);
  ASSERT_TRUE(full.ReadUntil("full"));
  {
    grpc::ClientContext context;
    const auto stream = supervisor_.stub()->Exec(&context);
    v1::ExecRequest start;
    start.mutable_start()->set_cell_id(cell);
    start.mutable_start()->add_argv("true");
    ASSERT_TRUE(stream->Write(start));
    v1::ExecResponse started;
    ASSERT_TRUE(stream->Read(&started));
    context.TryCancel();
    EXPECT_FALSE(stream->Finish().ok());
  }
  full.Cancel();
  full.Finish();
  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(), "true").Exited(0));
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
}

// The file worker starts with the first one.
TEST_F(SlotsTest, AFileOperationInAFullCellIsToldSo) {
  auto request = SupervisorHarness::Request("full");
  request.mutable_sandbox()->mutable_limits()->set_pids(16);
  const std::string cell = supervisor_.Cell(request);
  const auto list = [&] {
    grpc::ClientContext context;
    v1::FileOpRequest asked;
    asked.set_cell_id(cell);
    asked.mutable_list()->set_path("/workspace");
    v1::FileOpResponse response;
    return supervisor_.stub()->FileOp(&context, asked, &response);
  };
  {
    RunningExec full(supervisor_.stub(), cell, kFillTheCell);
    ASSERT_TRUE(full.ReadUntil("full"));
    for (int i = 0; i < 2; ++i) {
      const grpc::Status refused = list();
      EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_NE(refused.error_message().find("cgroup pids 16"), std::string::npos)
          << refused.error_message();
    }
  }
  EXPECT_TRUE(Eventually([&] { return list().ok(); }));
}

TEST_F(SlotsTest, ACommandThatWaitsForAPlaceHasNoMoreTimeThanItsOwn) {
  auto request = SupervisorHarness::Request("full");
  request.mutable_sandbox()->mutable_limits()->set_pids(16);
  const std::string cell = supervisor_.Cell(request);
  RunningExec full(supervisor_.stub(), cell, kFillTheCell);
  ASSERT_TRUE(full.ReadUntil("full"));
  const ExecResult waited = supervisor_.Shell(cell, "true", {.wall_clock_ms = 300});
  EXPECT_EQ(waited.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << waited.ToString();
  EXPECT_NE(waited.outcome.message().find("waiting"), std::string::npos) << waited.ToString();
  full.Cancel();
  full.Finish();
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
}

// As one that a command keeps from running: root ends the cell.
TEST_F(SlotsTest, ACommandWhoseSlotDoesNotEndItEndsWithItsCell) {
  const std::string cell = supervisor_.Cell();
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    std::atomic<bool> ended = false;
    ExecResult result;
    std::thread command([&] {
      result = supervisor_.Shell(cell, "sleep 1000; true", {.wall_clock_ms = wall_clock_ms});
      ended = true;
    });
    pid_t slot = -1;
    EXPECT_TRUE(Eventually([&] {
      for (const pid_t pid : supervisor_.CellProcesses()) {
        if (CommandName(pid) == "sleep") slot = ParentOf(ParentOf(pid));
      }
      return slot > 1 || ended;
    }));
    const bool stopped = slot > 1 && !ended && SignalProcess(slot, SIGSTOP);
    command.join();
    EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << result.ToString();
    return stopped;
  });
  EXPECT_TRUE(Eventually([this] {
    for (const pid_t pid : supervisor_.CellProcesses()) {
      if (CommandName(pid) == "sleep") return false;
    }
    return true;
  }));
  EXPECT_EQ(supervisor_.Shell(cell, "true").status.code(), Code::kNotFound);
  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(), "true").Exited(0)) << "made anew";
}

TEST_F(SlotsTest, ACommandCannotKeepItsSlotFromRunning) {
  const ExecResult result = supervisor_.Python(supervisor_.Cell(), R"(
import os
for name, call in {
    'nice': lambda who: os.setpriority(os.PRIO_PROCESS, who, 19),
    'idle': lambda who: os.sched_setscheduler(who, os.SCHED_IDLE, os.sched_param(0)),
    'processor': lambda who: os.sched_setaffinity(who, {0}),
    'user': lambda who: os.setpriority(os.PRIO_USER, 0, 19) if who == 1 else None,
}.items():
    for who in 1, 0:
        try:
            call(who)
            print(name, who, 'done')
        except PermissionError:
            print(name, who, 'refused'))");
  EXPECT_EQ(result.out,
            "nice 1 refused\nnice 0 done\nidle 1 refused\nidle 0 done\nprocessor 1 refused\n"
            "processor 0 done\nuser 1 refused\nuser 0 done\n")
      << result.ToString();
}

// ── The signal that ends a flood of connections (slot.h) ────────────────────────────────────────

// What the kernel says of a process on a line of its status.
std::string StatusLine(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name, 0) == 0) return line.substr(name.size());
  }
  return "";
}

// Sends it to pid 1 of every slot: those with the most pid namespaces around them.
void SignalSlots(const std::vector<pid_t>& processes) {
  std::map<pid_t, std::string> numbers;
  size_t most = 0;
  for (const pid_t pid : processes) {
    numbers[pid] = StatusLine(pid, "NSpid:");
    most = std::max<size_t>(most, std::count(numbers[pid].begin(), numbers[pid].end(), '\t'));
  }
  int slots = 0;
  for (const auto& [pid, of_pid] : numbers) {
    const bool is_deep = std::count(of_pid.begin(), of_pid.end(), '\t') == static_cast<long>(most);
    if (!is_deep || of_pid.substr(of_pid.rfind('\t')) != "\t1") continue;
    EXPECT_EQ(kill(pid, cell::kConnectionsSignal), 0);
    ++slots;
  }
  EXPECT_GT(slots, 0);
}

TEST_F(SlotsTest, TheSignalLeavesACommandThatHasNotBegun) {
  const std::string cell = supervisor_.Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
  for (int i = 0; i < 5; ++i) {
    SignalSlots(supervisor_.CellProcesses());
    const ExecResult next = supervisor_.Shell(cell, "sleep 0.2");
    EXPECT_TRUE(next.Exited(0)) << next.ToString();
    EXPECT_TRUE(next.denials.empty()) << next.ToString();
  }
}

TEST_F(SlotsTest, TheSignalEndsACommandThatRuns) {
  const std::string cell = supervisor_.Cell();
  std::thread sender([&] {
    EXPECT_TRUE(Eventually([&] {
      const auto all = supervisor_.CellProcesses();
      return std::any_of(all.begin(), all.end(),
                         [](pid_t pid) { return CommandName(pid) == "sleep"; });
    }));
    SignalSlots(supervisor_.CellProcesses());
  });
  const ExecResult ended = supervisor_.Exec(cell, {"sleep", "1000"});
  sender.join();
  EXPECT_EQ(ended.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << ended.ToString();
  ASSERT_EQ(ended.denials.size(), 1u);
  EXPECT_EQ(ended.denials[0].resource(), "listen");
}

// By whichever call; where Landlock has scopes for signals, none even arrives.
TEST_F(SlotsTest, ACommandCannotSendTheSignal) {
  const ExecResult result = supervisor_.Python(supervisor_.Cell(), R"(
import ctypes, os, signal, struct, time
call, number = ctypes.CDLL(None).syscall, int(signal.SIGUSR1)
forged = struct.pack('iiiiii', number, 0, -1, 0, 0, 0).ljust(128, b'\0')  # from nowhere
pid_one = os.pidfd_open(1)
for arguments in ((62, 1, number), (200, 1, number), (234, 1, 1, number),  # kill, tkill, tgkill
                  (129, 1, number, forged), (297, 1, 1, number, forged),   # rt_sigqueueinfo, rt_tg…
                  (424, pid_one, number, forged, 0), (424, pid_one, number, None, 0)):
    call(*arguments)
time.sleep(0.3)
print('lives')
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "lives\n");
}

}  // namespace
}  // namespace odyssey::testing
