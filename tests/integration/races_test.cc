// What takes the host's side to try: paths swapped under the supervisor's hands, and commands that
// do not end, do not stop writing, or stop everything they can reach.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "common/os/file.h"
#include "tests/testing/running_exec.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;
namespace pv1 = ::odyssey::policy::v1;

// How often a swapped path is looked through. The swap without a wall behind it is seen within ten.
constexpr int kRounds = 120;
constexpr char kSecret[] = "the secret";

// Exchanges two names as fast as it can, until it goes.
class Swapper final {
 public:
  Swapper(fs::path one, fs::path other)
      : thread_([this, one = std::move(one), other = std::move(other)] {
          while (!stop_) {
            renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
          }
        }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class RacesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-host-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    host_ = path;
    Make("real/source", "welcome");
    Make("private/source", kSecret);
  }
  void TearDown() override { fs::remove_all(host_); }

  void Make(const std::string& directory, const std::string& text) {
    fs::create_directories(host_ / directory);
    std::ofstream(host_ / directory / "file") << text;
  }

  uid_t CellUid(const std::string& cell_id) {
    grpc::ClientContext context;
    v1::DescribeCellRequest request;
    request.set_cell_id(cell_id);
    v1::DescribeCellResponse response;
    EXPECT_TRUE(supervisor_.stub()->DescribeCell(&context, request, &response).ok());
    return response.cell().host_uid();
  }

  struct Seen {
    int refused = 0, real = 0;
  };

  // Prepares cells with `request` over and over. Each must show the real source or be refused.
  Seen LookThrough(const v1::PrepareCellRequest& request, const std::string& file) {
    Seen seen;
    for (int round = 0; round < kRounds; ++round) {
      const auto cell = supervisor_.Prepare(request);
      if (!cell.ok()) {
        EXPECT_EQ(cell.status().code(), Code::kInvalidArgument) << cell.status().ToString();
        EXPECT_NE(cell.status().message().find("symbolic link"), std::string::npos)
            << cell.status().ToString();
        ++seen.refused;
        continue;
      }
      const ExecResult text = supervisor_.Exec(cell->cell_id(), {"/bin/cat", file});
      EXPECT_EQ(text.out, "welcome") << text.ToString();
      ++seen.real;
      EXPECT_TRUE(supervisor_.Remove(cell->cell_id()).ok());
      if (HasFailure()) break;
    }
    return seen;
  }

  fs::path host_;
  SupervisorHarness supervisor_;
};

v1::PrepareCellRequest MountRequest(const fs::path& source) {
  v1::PrepareCellRequest request = SupervisorHarness::Request("race");
  pv1::Mount* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source(source);
  mount->set_target("/data");
  mount->set_access(pv1::ACCESS_READ_WRITE);
  return request;
}

TEST_F(RacesTest, ASourceSwappedForALinkIsRefusedOrRealNeverFollowed) {
  fs::create_directory_symlink(host_ / "private/source", host_ / "link");
  const Swapper swapper(host_ / "real/source", host_ / "link");
  const Seen seen = LookThrough(MountRequest(host_ / "real/source"), "/data/file");
  EXPECT_GT(seen.refused, 0);
  EXPECT_GT(seen.real, 0);
}

TEST_F(RacesTest, AParentSwappedForALinkIsRefusedOrRealNeverFollowed) {
  fs::create_directory_symlink(host_ / "private", host_ / "link");
  const Swapper swapper(host_ / "real", host_ / "link");
  const Seen seen = LookThrough(MountRequest(host_ / "real/source"), "/data/file");
  EXPECT_GT(seen.refused, 0);
  EXPECT_GT(seen.real, 0);
}

TEST_F(RacesTest, AWorkspaceSwappedForALinkIsRefusedOrRealNeverFollowed) {
  fs::create_directory_symlink(host_ / "private/source", host_ / "link");
  const Swapper swapper(host_ / "real/source", host_ / "link");
  v1::PrepareCellRequest request = SupervisorHarness::Request("race");
  request.set_workspace(host_ / "real/source");
  const Seen seen = LookThrough(request, "/workspace/file");
  EXPECT_GT(seen.refused, 0);
  EXPECT_GT(seen.real, 0);
}

TEST_F(RacesTest, AWorkspaceSwappedForALinkBetweenTwoSessionsIsRefused) {
  v1::PrepareCellRequest request = SupervisorHarness::Request("race");
  request.set_workspace(host_ / "real/source");
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(supervisor_.Exec(cell, {"/bin/cat", "file"}).out, "welcome");
  ASSERT_TRUE(supervisor_.Remove(cell).ok());
  fs::rename(host_ / "real/source", host_ / "moved");
  fs::create_directory_symlink(host_ / "private/source", host_ / "real/source");
  const auto again = supervisor_.Prepare(request);
  EXPECT_EQ(again.status().code(), Code::kInvalidArgument) << again.status().ToString();
}

pv1::FileIdentity IdentityOf(const fs::path& path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  pv1::FileIdentity identity;
  identity.set_device(info.st_dev);
  identity.set_inode(info.st_ino);
  return identity;
}

// No link: another directory of the cell's own, moved to where the client saw one.
TEST_F(RacesTest, AnotherDirectoryInItsPlaceIsRefusedWhereTheClientSaidWhichItMeant) {
  v1::PrepareCellRequest mount = MountRequest(host_ / "real/source");
  *mount.mutable_sandbox()->mutable_mounts(0)->mutable_source_identity() =
      IdentityOf(host_ / "real/source");
  v1::PrepareCellRequest workspace = SupervisorHarness::Request("workspace");
  workspace.set_workspace(host_ / "real/source");
  *workspace.mutable_workspace_identity() = IdentityOf(host_ / "real/source");
  for (const v1::PrepareCellRequest& request : {mount, workspace}) {
    const std::string cell = supervisor_.Cell(request);
    EXPECT_TRUE(supervisor_.Remove(cell).ok());
  }
  fs::rename(host_ / "real/source", host_ / "moved");
  fs::rename(host_ / "private/source", host_ / "real/source");
  const std::string why =
      "mount " + (host_ / "real/source").string() + ": no longer what the client opened";
  EXPECT_EQ(supervisor_.Prepare(mount).status(), FailedPrecondition("mounts[0].source: " + why));
  EXPECT_EQ(supervisor_.Prepare(workspace).status(), FailedPrecondition("workspace: " + why));
  workspace.clear_workspace_identity();
  EXPECT_TRUE(supervisor_.Prepare(workspace).ok()) << "not compared";
}

// The cell owns what is below its tree's parts, so it may leave links there for the next start.
TEST_F(RacesTest, LinksThatACellLeavesInItsOwnTreeAreNotFollowedAtItsNextStart) {
  v1::PrepareCellRequest request = SupervisorHarness::Request("kept");
  request.set_ephemeral(false);
  const std::string cell = supervisor_.Cell(request);
  const std::string plant = "rm -rf /cell/data/home && ln -s " + host_.string() +
                            "/private/source /cell/data/home && rmdir /workspace/mount; ln -s " +
                            host_.string() + "/private /workspace/mount; true";
  ASSERT_TRUE(supervisor_.Shell(cell, plant).Exited(0));
  ASSERT_TRUE(supervisor_.Remove(cell, /*purge=*/false).ok());
  const auto again = supervisor_.Prepare(request);
  if (again.ok()) {
    const std::string look = "cat /cell/data/home/file /workspace/mount/source/file; true";
    const ExecResult seen = supervisor_.Shell(again->cell_id(), look);
    EXPECT_EQ(seen.out, "") << seen.ToString();
  } else {
    EXPECT_EQ(again.status().code(), Code::kInvalidArgument) << again.status().ToString();
  }
  EXPECT_EQ(ReadFile(host_ / "private/source/file", 100).value(), kSecret);
}

TEST_F(RacesTest, OneCellAskedForWithManyPoliciesAtOnceIsMadeOrSaidToBeReplaced) {
  constexpr int kAsking = 16;
  std::vector<Status> answers(kAsking);
  std::vector<std::thread> threads;
  for (int i = 0; i < kAsking; ++i) {
    threads.emplace_back([&, i] {
      v1::PrepareCellRequest request = SupervisorHarness::Request("asked");
      request.mutable_sandbox()->mutable_limits()->set_pids(100 + i);
      answers[i] = supervisor_.Prepare(request).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  int made = 0;
  for (const Status& answer : answers) {
    if (answer.ok()) ++made;
    if (answer.ok()) continue;
    EXPECT_EQ(answer.code(), Code::kAborted) << answer.ToString();
    EXPECT_EQ(answer.message().rfind("key: another PrepareCell asked for this cell", 0), 0u)
        << answer.ToString();
  }
  EXPECT_GT(made, 0);
  // Whoever asks alone gets it.
  EXPECT_TRUE(
      supervisor_.Shell(supervisor_.Cell(SupervisorHarness::Request("asked")), "true").Exited(0));
}

// ── Commands that will not end ──────────────────────────────────────────────────────────────────

TEST_F(RacesTest, OutputEndsWithTheCommandWhoeverHoldsItOpen) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result = supervisor_.Shell(
      cell, "(trap '' HUP TERM; sleep 1000) & setsid sleep 1000 & echo done; exit 3");
  EXPECT_TRUE(result.Exited(3)) << result.ToString();
  EXPECT_EQ(result.out, "done\n");
}

TEST_F(RacesTest, ACommandThatStopsEverythingItCanReachIsStillEndedAndHarmsNobody) {
  const std::string cell = supervisor_.Cell();
  const std::string other = supervisor_.Cell(SupervisorHarness::Request("other"));
  RunningExec neighbour(supervisor_.stub(), cell, "echo up; cat /dev/zero | head -c 100; sleep 99");
  ASSERT_TRUE(neighbour.ReadUntil("up\n"));
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    const ExecResult stopped =
        supervisor_.Shell(cell, "sleep 1000 & echo begun; kill -STOP -1; kill -STOP $$; echo never",
                          {.wall_clock_ms = wall_clock_ms});
    EXPECT_EQ(stopped.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << stopped.ToString();
    EXPECT_EQ(stopped.out.find("never"), std::string::npos);
    return stopped.out == "begun\n";
  });
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
  EXPECT_TRUE(supervisor_.Shell(other, "true").Exited(0));
}

TEST_F(RacesTest, ACommandThatNeverStopsWritingIsCountedCutAndTimedOut) {
  const std::string cell = supervisor_.Cell();
  const std::string other = supervisor_.Cell(SupervisorHarness::Request("other"));
  v1::ExecStart start;
  start.set_cell_id(cell);
  for (const char* word : {"/bin/cat", "/dev/zero"}) start.add_argv(word);
  start.set_stdout_cap_bytes(5000);
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    start.set_wall_clock_ms(wall_clock_ms);
    RunningExec flood(supervisor_.stub(), start);
    const bool begun = flood.ReadUntil(std::string(5000, '\0'));
    EXPECT_TRUE(supervisor_.Shell(other, "true").Exited(0)) << "others have their turn";
    const ExecResult result = flood.Finish();
    EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << result.ToString();
    if (!begun || result.outcome.stdout_bytes() <= 5000) return false;
    EXPECT_EQ(result.out.size(), 5000u);
    EXPECT_TRUE(result.outcome.stdout_truncated());
    return true;
  });
}

bool Sleeps(pid_t pid) {
  const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status", 1 << 16);
  return status.ok() && status->find("\nState:\tS") != std::string::npos;
}

// The number after "VmRSS:", in kB.
uint64_t MemoryOf(pid_t pid) {
  const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status", 1 << 16);
  const size_t at = status.ok() ? status->find("VmRSS:") : std::string::npos;
  return at == std::string::npos ? 0 : std::stoull(status->substr(at + 6));
}

uint64_t CpuOf(pid_t pid) {
  const auto stat = ReadFile("/proc/" + std::to_string(pid) + "/schedstat", 4096);
  return stat.ok() ? std::stoull(*stat) : 0;
}

TEST_F(RacesTest, AClientThatDoesNotReadBlocksItsCommandAndCostsBoundedMemory) {
  constexpr int kFloods = 8;
  constexpr uint64_t kMostGrowthKb = 128 * 1024;  // gRPC's own windows; the floods would be endless
  const std::string cell = supervisor_.Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
  const uint64_t before = MemoryOf(supervisor_.rpc());
  std::vector<std::unique_ptr<RunningExec>> floods;
  for (int i = 0; i < kFloods; ++i) {
    floods.push_back(
        std::make_unique<RunningExec>(supervisor_.stub(), cell, "echo up; exec cat /dev/zero"));
    ASSERT_TRUE(floods.back()->ReadUntil("up\n"));
  }
  // Every writer has come to rest: each sleeps, and none got the processor between two looks.
  std::vector<uint64_t> last;
  const auto at_rest = [&] {
    std::vector<uint64_t> now;
    for (const pid_t pid : SupervisorHarness::ProcessesOf(CellUid(cell))) {
      if (CommandName(pid) == "cat" && Sleeps(pid)) now.push_back(CpuOf(pid));
    }
    const bool same = now == last && now.size() == kFloods;
    last = now;
    return same;
  };
  EXPECT_TRUE(Eventually(at_rest));
  EXPECT_LT(MemoryOf(supervisor_.rpc()), before + kMostGrowthKb);
  for (auto& flood : floods) flood->Cancel();
  for (auto& flood : floods) EXPECT_EQ(flood->Finish().status.code(), Code::kCancelled);
  EXPECT_TRUE(Eventually([&] {
    const auto pids = SupervisorHarness::ProcessesOf(CellUid(cell));
    return std::none_of(pids.begin(), pids.end(),
                        [](pid_t pid) { return CommandName(pid) == "cat"; });
  }));
}

// A process of a user's, in no control group of a cell.
class Straggler final {
 public:
  explicit Straggler(uid_t uid) : pid_(fork()) {
    if (pid_ != 0) return;
    // In this order: a change of uid clears the signal.
    if (setresuid(uid, uid, uid) == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    _exit(1);
  }
  ~Straggler() {
    EXPECT_TRUE(SignalProcess(pid_, SIGKILL));
    waitpid(pid_, nullptr, 0);
  }
  Straggler(const Straggler&) = delete;
  Straggler& operator=(const Straggler&) = delete;

 private:
  const pid_t pid_;
};

// A process on its way out may have left its control group already.
TEST_F(RacesTest, AUidIsNoOtherCellsAsLongAsAProcessHasIt) {
  const std::string cell = supervisor_.Cell();
  const uid_t uid = CellUid(cell);
  std::thread removal;
  std::atomic<bool> removed = false;
  {
    const Straggler straggler(uid);
    ASSERT_TRUE(Eventually([uid] {
      const auto pids = SupervisorHarness::ProcessesOf(uid);
      return std::count_if(pids.begin(), pids.end(), [](pid_t pid) {
               return CommandName(pid) == CommandName(getpid());
             }) == 1;
    }));
    removal = std::thread([&] {
      EXPECT_TRUE(supervisor_.Remove(cell).ok());
      removed = true;
    });
    EXPECT_TRUE(Eventually([uid] { return SupervisorHarness::ProcessesOf(uid).size() == 1; }));
    // More than one launcher can have been ready before.
    for (const char* component : {"one", "two", "three", "four"}) {
      const auto next = supervisor_.Prepare(SupervisorHarness::Request(component));
      EXPECT_TRUE(next.ok()) << next.status().ToString();
      EXPECT_TRUE(!next.ok() || next->host_uid() != uid) << component;
    }
    EXPECT_FALSE(removed);
  }
  removal.join();
  std::vector<uid_t> later;
  for (const char* component : {"five", "six"}) {
    later.push_back(CellUid(supervisor_.Cell(SupervisorHarness::Request(component))));
  }
  EXPECT_EQ(std::count(later.begin(), later.end(), uid), 1) << "it is free again";
}

}  // namespace
}  // namespace odyssey::testing
