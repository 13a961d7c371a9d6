#ifndef ODYSSEY_TESTS_INTEGRATION_DANGER_FIXTURE_H_
#define ODYSSEY_TESTS_INTEGRATION_DANGER_FIXTURE_H_

// A supervisor whose operator grants the user "games" danger_full_access, in the grant file and in
// the ceiling, and requests for it.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/os/unique_fd.h"
#include "tests/integration/inheritance.h"
#include "tests/testing/running_exec.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {

namespace fs = std::filesystem;
namespace pv1 = ::odyssey::policy::v1;
// A user that every Debian has and nobody logs in as; uid and gid differ.
inline constexpr uint32_t kGames = 5, kGamesGroup = 60;
inline constexpr uint32_t kDaemon = 1;  // another one
inline constexpr uint32_t kRpcUid = 0x6fff0001;

// Descendants that left the command's process group and session, one of them by a second fork.
inline constexpr char kScatter[] =
    "setsid sh -c 'sleep 901 & sleep 902' & (setsid sh -c 'sleep 903 &') ; "
    "(trap '' TERM HUP; sleep 904) & echo running; ";

inline std::vector<pid_t> Owned() { return SupervisorHarness::ProcessesOf(kGames); }

inline bool NobodyLeft() { return Owned().empty(); }

inline std::string StatusOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  return {std::istreambuf_iterator<char>(file), {}};
}

inline long Sleepers() {
  const auto pids = Owned();
  return std::count_if(pids.begin(), pids.end(),
                       [](pid_t pid) { return CommandName(pid) == "sleep"; });
}

class DangerTest : public ::testing::Test {
 protected:
  DangerTest() : DangerTest("games\n") {}
  explicit DangerTest(const std::string& grants) : granted_(!grants.empty()), supervisor_(grants) {}

  void SetUp() override {
    ASSERT_TRUE(NobodyLeft()) << "uid " << kGames << " is somebody's here";
    fs::create_directory(Work());
    ASSERT_EQ(chown(Work().c_str(), kGames, kGamesGroup), 0);
    WriteCeiling("[games, daemon, root]");
    ASSERT_TRUE(!granted_ || RunnerListens()) << "the supervisor is ready, and so is the runner";
  }
  void TearDown() override { EXPECT_TRUE(Eventually(NobodyLeft)) << Owned().size(); }

  std::string Work() const { return supervisor_.directory() + "/work"; }
  void WriteCeiling(const std::string& users) const {
    fs::create_directory(supervisor_.policy_directory());
    std::ofstream(supervisor_.policy_directory() + "/danger.yaml")
        << "version: odyssey.ceiling/v1\nbuiltin: false\ngrants:\n  - users: " << users
        << "\n    write: [" << supervisor_.directory()
        << "/work]\n    network: [none, full]\n    mode: [danger_full_access]\n";
  }

  v1::PrepareCellRequest Request(const std::string& component = "danger") const {
    v1::PrepareCellRequest request = SupervisorHarness::Request(component);
    request.mutable_sandbox()->set_mode(pv1::MODE_DANGER_FULL_ACCESS);
    request.mutable_sandbox()->set_network(pv1::NETWORK_FULL);
    request.set_workspace(Work());
    request.set_owner_uid(kGames);
    request.set_allow_danger(true);
    return request;
  }
  std::string Cell() { return supervisor_.Cell(Request()); }

  void ExpectRefused(const v1::PrepareCellRequest& request, const std::string& phrase) {
    const Status checked = supervisor_.Check(request);
    const auto cell = supervisor_.Prepare(request);
    EXPECT_FALSE(cell.ok()) << phrase;
    if (request.sandbox().mode() == pv1::MODE_DANGER_FULL_ACCESS) {
      EXPECT_EQ(checked, cell.status()) << "it is known before a cell is asked for";
    }
    EXPECT_THAT(cell.status().message(), ::testing::HasSubstr(phrase));
    EXPECT_TRUE(NobodyLeft()) << "nothing ran";
    v1::ListCellsResponse cells;
    grpc::ClientContext context;
    EXPECT_TRUE(supervisor_.stub()->ListCells(&context, {}, &cells).ok());
    EXPECT_EQ(cells.cells_size(), 0) << "and no other cell took its place";
  }

  bool RunnerListens() {
    v1::GetInfoResponse info;
    grpc::ClientContext context;
    EXPECT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
    return std::any_of(info.features().begin(), info.features().end(), [](const v1::Feature& f) {
      return f.name() == "danger_full_access" && f.in_force();
    });
  }
  pid_t Runner() const {
    for (const pid_t child : ChildrenOf(supervisor_.keeper())) {
      if (CommandName(child) == "odyssey-host-ru") return child;
    }
    return -1;
  }
  // Control groups that belong to the host runner `pid`, whoever lives in them.
  static std::vector<std::string> GroupsOf(pid_t pid) {
    std::vector<std::string> found;
    std::error_code error;
    const std::string prefix = "odyssey-" + std::to_string(pid) + "-";
    for (fs::recursive_directory_iterator it("/sys/fs/cgroup", error), end; it != end;
         it.increment(error)) {
      if (it->path().filename().string().rfind(prefix, 0) == 0) found.push_back(it->path());
    }
    return found;
  }

  Result<v1::FileOpResponse> FileOp(v1::FileOpRequest request, const std::string& cell_id) {
    request.set_cell_id(cell_id);
    v1::FileOpResponse response;
    grpc::ClientContext context;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    if (status.ok()) return response;
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  }
  Result<v1::FileOpResponse> Read(const std::string& cell_id, const std::string& path) {
    v1::FileOpRequest request;
    request.mutable_read()->set_path(path);
    return FileOp(request, cell_id);
  }

  const bool granted_;
  const Inheritance inheritance_;  // before the supervisor, which has it too
  SupervisorHarness supervisor_;
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_DANGER_FIXTURE_H_
