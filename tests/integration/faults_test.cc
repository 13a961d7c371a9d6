// kill -9 of any one process in the middle of a command: what is left, who else notices, and
// whether the next request works.

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "tests/testing/running_exec.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

// A command with descendants that left its process group and session.
constexpr char kBusy[] =
    "setsid sh -c 'sleep 901 & sleep 902' & (trap '' TERM HUP; sleep 903) & "
    "echo running; sleep 904";
constexpr int kSleepers = 4;

std::string HostMounts() {
  const auto text = ReadFile("/proc/self/mountinfo", 1 << 20);
  return text.ok() ? *text : "";
}

class FaultsTest : public ::testing::Test {
 protected:
  struct BusyCell {
    v1::PrepareCellRequest request;
    v1::CellInfo info;
    std::vector<std::string> groups;
    std::unique_ptr<RunningExec> exec;
  };

  void SetUp() override {
    Start("first", &first_);
    Start("second", &second_);
  }

  void Start(const std::string& component, BusyCell* cell) {
    cell->request = SupervisorHarness::Request(component);
    cell->request.set_ephemeral(component == "first");
    const auto info = supervisor_.Prepare(cell->request);
    ASSERT_TRUE(info.ok()) << info.status().ToString() << supervisor_.Log();
    cell->info = *info;
    for (const std::string& group : supervisor_.CellGroups()) {
      if (Holds(group, SupervisorHarness::ProcessesOf(info->host_uid()))) {
        cell->groups.push_back(group);
      }
    }
    ASSERT_TRUE(ListFiles(info->cell_id()).ok());
    cell->exec = std::make_unique<RunningExec>(supervisor_.stub(), info->cell_id(), kBusy);
    ASSERT_TRUE(cell->exec->ReadUntil("running\n"));
  }

  // Not the group of a launcher that is getting ready for the next cell.
  static bool Holds(const std::string& group, const std::vector<pid_t>& processes) {
    std::ifstream members(group + "/cgroup.procs");
    for (pid_t pid; members >> pid;) {
      if (std::find(processes.begin(), processes.end(), pid) != processes.end()) return true;
    }
    return false;
  }

  // Starts the cell's file worker.
  Status ListFiles(const std::string& cell_id) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kHang);
    v1::FileOpRequest request;
    request.set_cell_id(cell_id);
    request.mutable_list();
    v1::FileOpResponse response;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  }

  // A process of the cell by its command name; its parent's name may be given.
  static pid_t Find(const BusyCell& cell, const std::string& name, const std::string& parent = "") {
    for (const pid_t pid : SupervisorHarness::ProcessesOf(cell.info.host_uid())) {
      if (CommandName(pid) != name) continue;
      if (parent.empty() || CommandName(ParentOf(pid)) == parent) return pid;
    }
    ADD_FAILURE() << "the cell has no process " << name;
    return -1;
  }

  static long Sleeping(const BusyCell& cell) {
    const auto pids = SupervisorHarness::ProcessesOf(cell.info.host_uid());
    return std::count_if(pids.begin(), pids.end(),
                         [](pid_t pid) { return CommandName(pid) == "sleep"; });
  }

  // The pid 1 of the slot that runs the command.
  static pid_t FindSlotInit(const BusyCell& cell) {
    return ParentOf(Find(cell, "sh", "cell-init"));
  }

  // The process that root keeps ready for the next cell: root's own, waiting for a plan.
  pid_t Launcher() const {
    for (const pid_t pid : ChildrenOf(supervisor_.worker())) {
      if (pid != supervisor_.rpc() && CommandName(pid) == "odyssey-supervi") return pid;
    }
    return -1;
  }

  bool NothingLeft(const BusyCell& cell) {
    const auto groups = supervisor_.CellGroups();
    return SupervisorHarness::ProcessesOf(cell.info.host_uid()).empty() &&
           std::none_of(cell.groups.begin(), cell.groups.end(), [&](const std::string& group) {
             return std::find(groups.begin(), groups.end(), group) != groups.end();
           });
  }

  void ExpectGone(const BusyCell& cell) {
    EXPECT_FALSE(cell.groups.empty());
    EXPECT_TRUE(Eventually([&] { return NothingLeft(cell); }));
    EXPECT_TRUE(Eventually([&] { return HostMounts() == mounts_; }));
    const ExecResult ended = cell.exec->Finish();
    EXPECT_TRUE(EndedUnderIt(ended)) << ended.ToString();
  }

  void ExpectUnharmed(const BusyCell& cell) {
    EXPECT_GE(SupervisorHarness::ProcessesOf(cell.info.host_uid()).size(), 5u);
    EXPECT_TRUE(supervisor_.Shell(cell.info.cell_id(), "true").Exited(0));
  }

  void ExpectNextRequestWorks(const BusyCell& cell) {
    const auto again = supervisor_.Prepare(cell.request);
    ASSERT_TRUE(again.ok()) << again.status().ToString() << supervisor_.Log();
    const ExecResult result = supervisor_.Shell(again->cell_id(), "echo well");
    EXPECT_EQ(result.out, "well\n") << result.ToString();
  }

  // Kills one process of the first cell that the whole cell dies of.
  void KillOfTheFirstCell(pid_t pid) {
    ASSERT_TRUE(SignalProcess(pid, SIGKILL));
    ExpectGone(first_);
    ExpectUnharmed(second_);
    ExpectNextRequestWorks(first_);
  }

  const std::string mounts_ = HostMounts();
  SupervisorHarness supervisor_;
  BusyCell first_, second_;
};

TEST_F(FaultsTest, KillingBubblewrapEndsItsCellAndNoOther) {
  KillOfTheFirstCell(Find(first_, "bwrap"));
}

TEST_F(FaultsTest, KillingCellInitEndsItsCellAndNoOther) {
  KillOfTheFirstCell(Find(first_, "cell-init", "bwrap"));
}

TEST_F(FaultsTest, KillingTheSlotsInitEndsItsCommandAndNotTheCell) {
  const pid_t slot = FindSlotInit(first_);
  ASSERT_TRUE(SignalProcess(slot, SIGKILL));
  const ExecResult ended = first_.exec->Finish();
  EXPECT_TRUE(EndedUnderIt(ended)) << ended.ToString();
  EXPECT_TRUE(Eventually([&] { return Sleeping(first_) == 0; }));
  ExpectUnharmed(second_);
  EXPECT_TRUE(supervisor_.Shell(first_.info.cell_id(), "true").Exited(0));
}

TEST_F(FaultsTest, KillingTheFileWorkerFailsAtMostOneOperation) {
  ASSERT_TRUE(SignalProcess(Find(first_, "cell-tools"), SIGKILL));
  const Status broken = ListFiles(first_.info.cell_id());
  EXPECT_TRUE(broken.ok() || broken.code() == Code::kUnavailable) << broken.ToString();
  EXPECT_TRUE(ListFiles(first_.info.cell_id()).ok());
  ExpectUnharmed(first_);
  ExpectUnharmed(second_);
}

TEST_F(FaultsTest, KillingTheCommandIsItsOutcome) {
  ASSERT_TRUE(SignalProcess(Find(first_, "sh", "cell-init"), SIGKILL));
  const ExecResult ended = first_.exec->Finish();
  EXPECT_EQ(ended.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << ended.ToString();
  EXPECT_EQ(ended.outcome.signal(), SIGKILL);
}

TEST_F(FaultsTest, KillingTheReadyLauncherIsNoticedByNobody) {
  const pid_t launcher = Launcher();
  ASSERT_TRUE(SignalProcess(launcher, SIGKILL));
  ASSERT_TRUE(Eventually([&] { return CommandName(launcher).empty(); }));
  ExpectUnharmed(first_);
  v1::PrepareCellRequest third = SupervisorHarness::Request("third");
  EXPECT_TRUE(supervisor_.Prepare(third).ok());
}

TEST_F(FaultsTest, KillingRpcEndsEveryCellAndRootStartsAnother) {
  const pid_t rpc = supervisor_.rpc();
  ASSERT_TRUE(SignalProcess(rpc, SIGKILL));
  ExpectGone(first_);
  ExpectGone(second_);
  EXPECT_TRUE(supervisor_.CellProcesses().empty());
  ExpectNextRequestWorks(first_);
  ExpectNextRequestWorks(second_);
  EXPECT_NE(supervisor_.rpc(), rpc);
}

TEST_F(FaultsTest, KillingTheWorkerEndsEveryCellAndTheKeeperStartsAnother) {
  const pid_t worker = supervisor_.worker();
  ASSERT_TRUE(SignalProcess(worker, SIGKILL));
  ExpectGone(first_);
  ExpectGone(second_);
  EXPECT_TRUE(supervisor_.CellProcesses().empty());
  ExpectNextRequestWorks(first_);
  ExpectNextRequestWorks(second_);
  EXPECT_NE(supervisor_.worker(), worker);
}

// Whoever swept the worker's groups would be too late for what runs meanwhile; and who is stopped
// does not notice a closed socket.
TEST_F(FaultsTest, WhatTheWorkerStartedDiesWithItWhateverTheKeeperDoes) {
  const pid_t worker = supervisor_.worker();
  std::vector<pid_t> started = ChildrenOf(worker);  // rpc, the ready launcher, bubblewraps
  ASSERT_GE(started.size(), 4u);
  const std::vector<pid_t> stopped = {supervisor_.keeper(), supervisor_.rpc(), Launcher()};
  for (const pid_t pid : stopped) ASSERT_TRUE(SignalProcess(pid, SIGSTOP));
  for (const pid_t pid : supervisor_.CellProcesses()) started.push_back(pid);
  ASSERT_TRUE(SignalProcess(worker, SIGKILL));
  // The keeper, whose they are now, reaps nothing.
  const auto dead = [](pid_t pid) {
    const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status", 1 << 16);
    return !status.ok() || status->find("State:\tZ") != std::string::npos;
  };
  EXPECT_TRUE(Eventually([&] { return std::all_of(started.begin(), started.end(), dead); }));
  EXPECT_TRUE(SignalProcess(supervisor_.keeper(), SIGCONT));
}

TEST_F(FaultsTest, KillingTheKeeperEndsEverythingAndANewStartWorks) {
  const pid_t keeper = supervisor_.keeper();
  const pid_t worker = supervisor_.worker();
  const pid_t rpc = supervisor_.rpc();
  supervisor_.KillKeeper();
  ExpectGone(first_);
  ExpectGone(second_);
  const auto all_gone = [&] {
    return CommandName(worker).empty() && CommandName(rpc).empty() && CgroupsOf(keeper).empty();
  };
  EXPECT_TRUE(Eventually(all_gone));
  EXPECT_TRUE(std::filesystem::exists(supervisor_.socket())) << "it is stale, and replaced";
  ASSERT_TRUE(supervisor_.Restart()) << supervisor_.Log();
  ExpectNextRequestWorks(first_);
}

TEST_F(FaultsTest, KillingKeeperAndWorkerTogetherLeavesNoProcessAndTheNextStartSweepsTheGroups) {
  const pid_t keeper = supervisor_.keeper();
  const pid_t worker = supervisor_.worker();
  ASSERT_TRUE(SignalProcess(worker, SIGSTOP));  // it must not clean up in between
  supervisor_.KillKeeper();
  ASSERT_TRUE(SignalProcess(worker, SIGKILL));
  const auto no_process = [&] { return supervisor_.CellProcesses().empty(); };
  EXPECT_TRUE(Eventually(no_process));
  EXPECT_TRUE(EndedUnderIt(first_.exec->Finish()));
  EXPECT_TRUE(EndedUnderIt(second_.exec->Finish()));
  ASSERT_TRUE(Eventually([&] { return supervisor_.Restart(); })) << supervisor_.Log();
  EXPECT_TRUE(CgroupsOf(keeper).empty());
  ExpectNextRequestWorks(first_);
}

// ── What a client does ──────────────────────────────────────────────────────────────────────────

TEST_F(FaultsTest, CancellingTheCallKillsEveryDescendant) {
  ASSERT_TRUE(Eventually([&] { return Sleeping(first_) == kSleepers; }));
  first_.exec->Cancel();
  EXPECT_EQ(first_.exec->Finish().status.code(), Code::kCancelled);
  EXPECT_TRUE(Eventually([&] { return Sleeping(first_) == 0; }));
  ExpectUnharmed(second_);
  EXPECT_TRUE(supervisor_.Shell(first_.info.cell_id(), "true").Exited(0));
}

// Connects as a client that will vanish.
int Connect(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

TEST_F(FaultsTest, AClientThatVanishesTakesItsCommandsWithIt) {
  const int fd = Connect(supervisor_.socket());
  const int lifeline = dup(fd);
  const auto stub = v1::Supervisor::NewStub(grpc::CreateInsecureChannelFromFd("vanishing", fd));
  RunningExec exec(stub.get(), first_.info.cell_id(), "echo here; exec sleep 999");
  ASSERT_TRUE(exec.ReadUntil("here\n"));
  const auto runs = [&] {
    for (const pid_t pid : SupervisorHarness::ProcessesOf(first_.info.host_uid())) {
      const auto line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline", 4096);
      if (line.ok() && line->find("999") != std::string::npos) return true;
    }
    return false;
  };
  ASSERT_TRUE(Eventually(runs));
  shutdown(lifeline, SHUT_RDWR);
  EXPECT_TRUE(Eventually([&] { return !runs(); }));
  EXPECT_FALSE(exec.Finish().status.ok());
  close(lifeline);
  ExpectUnharmed(first_);
}

TEST_F(FaultsTest, RemovingACellDuringACommandLeavesNothing) {
  ASSERT_TRUE(supervisor_.Remove(first_.info.cell_id()).ok());
  EXPECT_TRUE(NothingLeft(first_)) << "RemoveCell answers when nothing is left";
  EXPECT_TRUE(EndedUnderIt(first_.exec->Finish()));
  EXPECT_EQ(supervisor_.Remove(first_.info.cell_id()).code(), Code::kNotFound);
  ExpectUnharmed(second_);
  ExpectNextRequestWorks(first_);
}

TEST_F(FaultsTest, ANewRevisionOfACellEndsTheCommandsOfTheOldOne) {
  first_.request.mutable_sandbox()->mutable_limits()->set_pids(64);
  ExpectNextRequestWorks(first_);
  EXPECT_EQ(Sleeping(first_), 0);
  EXPECT_TRUE(EndedUnderIt(first_.exec->Finish()));
  ExpectUnharmed(second_);
}

TEST_F(FaultsTest, ARequestThatSparesThemDoesNotEndTheCommandsOfTheOldRevision) {
  v1::PrepareCellRequest request = first_.request;
  request.set_spare_running(true);
  EXPECT_TRUE(supervisor_.Prepare(request).ok()) << "the same revision is at hand";
  request.mutable_sandbox()->mutable_limits()->set_pids(64);
  const auto refused = supervisor_.Prepare(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kFailedPrecondition) << refused.status().message();
  ExpectUnharmed(first_);
}

}  // namespace
}  // namespace odyssey::testing
