// Many cells come and go, and commands end in every way there is: afterwards the host has as many
// processes, descriptors, mounts, control groups and namespaces as before.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "tests/testing/running_exec.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

// Cycles until what is made once (threads, caches, descriptors of gRPC) has been made.
constexpr int kWarmUp = 20;
constexpr int kCycles = 200;

// ODYSSEY_LEAK_CYCLES=2000: a longer run by hand.
int Cycles() {
  const char* text = getenv("ODYSSEY_LEAK_CYCLES");
  return text == nullptr ? kCycles : atoi(text);
}

size_t Entries(const std::string& directory) {
  std::error_code error;
  size_t count = 0;
  for (fs::directory_iterator it(directory, error), end; it != end; it.increment(error)) ++count;
  return count;
}

size_t Lines(const std::string& path) {
  const auto text = ReadFile(path, 1 << 20);
  return text.ok() ? static_cast<size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
}

// What a supervisor has of the host.
struct Holdings {
  size_t keeper_fds = 0, worker_fds = 0, rpc_fds = 0;
  size_t worker_children = 0;  // rpc, and the launcher made ready
  size_t cell_processes = 0, cell_groups = 0, groups = 0;
  size_t mounts = 0;  // of the host
  size_t namespaces = 0;
  size_t trees = 0;  // files and directories of cells on disk

  friend bool operator==(const Holdings&, const Holdings&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Holdings& h) {
    return out << "fds " << h.keeper_fds << "/" << h.worker_fds << "/" << h.rpc_fds
               << " (keeper/worker/rpc), children " << h.worker_children << ", cell processes "
               << h.cell_processes << ", cell groups " << h.cell_groups << ", groups " << h.groups
               << ", mounts " << h.mounts << ", namespaces " << h.namespaces << ", trees "
               << h.trees;
  }
};

class LeaksTest : public ::testing::Test {
 protected:
  Holdings Count() {
    const auto fds = [](pid_t pid) { return Entries("/proc/" + std::to_string(pid) + "/fd"); };
    // gRPC may keep the end of a cancelled call until the connection's next event: this is one.
    grpc::ClientContext context;
    v1::GetInfoResponse info;
    EXPECT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
    const pid_t worker = supervisor_.worker();
    Holdings held;
    held.keeper_fds = fds(supervisor_.keeper());
    held.worker_fds = fds(worker);
    held.rpc_fds = fds(supervisor_.rpc());
    held.worker_children = ChildrenOf(worker).size();
    held.cell_processes = supervisor_.CellProcesses().size();
    held.cell_groups = supervisor_.CellGroups().size();
    for (const std::string& tree : CgroupsOf(supervisor_.keeper())) {
      for (const auto& entry : fs::directory_iterator(tree)) held.groups += entry.is_directory();
    }
    held.mounts = Lines("/proc/self/mountinfo");
    held.namespaces = Namespaces(supervisor_.keeper());
    const fs::recursive_directory_iterator trees(supervisor_.directory() + "/state/cells");
    held.trees = static_cast<size_t>(std::distance(begin(trees), end(trees)));
    return held;
  }

  // Different namespaces among `root` and all its descendants.
  static size_t Namespaces(pid_t root) {
    std::set<std::string> seen;
    std::vector<pid_t> todo = {root};
    while (!todo.empty()) {
      const pid_t pid = todo.back();
      todo.pop_back();
      std::error_code error;
      fs::directory_iterator it("/proc/" + std::to_string(pid) + "/ns", error), end;
      for (; it != end; it.increment(error)) seen.insert(fs::read_symlink(it->path(), error));
      for (const pid_t child : ChildrenOf(pid)) todo.push_back(child);
    }
    return seen.size();
  }

  // What the descriptors of a process are, for a failure's message.
  static std::string Links(pid_t pid) {
    std::string links;
    std::error_code error;
    fs::directory_iterator it("/proc/" + std::to_string(pid) + "/fd", error), end;
    for (; it != end; it.increment(error)) {
      links += " " + fs::read_symlink(it->path(), error).string();
    }
    return links;
  }

  void ExpectNothingLeakedBy(const std::function<void(int)>& cycle, int cycles) {
    // Waits for rpc's first look at /usr, which holds directories open.
    EXPECT_TRUE(supervisor_.Remove(supervisor_.Cell(SupervisorHarness::Request("first"))).ok());
    for (int i = 0; i < kWarmUp && !HasFailure(); ++i) cycle(i);
    Holdings before, after;
    // The last cell's remains and the next launcher settle in their own time.
    EXPECT_TRUE(Eventually([&] { return std::exchange(before, Count()) == before; }));
    for (int i = 0; i < cycles && !HasFailure(); ++i) cycle(i);
    EXPECT_TRUE(Eventually([&] { return (after = Count()) == before; }))
        << "before: " << before << "\nafter:  " << after
        << "\nrpc holds:" << Links(supervisor_.rpc());
    RecordProperty("cycles", cycles);
    if (cycles > kCycles) std::cout << cycles << " cycles: " << after << "\n";
  }

  Status ReadFileIn(const std::string& cell, const std::string& path) {
    grpc::ClientContext context;
    v1::FileOpRequest request;
    request.set_cell_id(cell);
    request.mutable_read()->set_path(path);
    v1::FileOpResponse response;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  }

  SupervisorHarness supervisor_;
};

TEST_F(LeaksTest, CellsThatComeAndGo) {
  ExpectNothingLeakedBy(
      [this](int i) {
        v1::PrepareCellRequest request = SupervisorHarness::Request("cell-" + std::to_string(i));
        request.set_ephemeral(i % 2 == 0);
        const auto cell = supervisor_.Prepare(request);
        ASSERT_TRUE(cell.ok()) << cell.status().ToString() << supervisor_.Log();
        EXPECT_TRUE(supervisor_.Shell(cell->cell_id(), "echo x > file").Exited(0));
        EXPECT_TRUE(ReadFileIn(cell->cell_id(), "file").ok());
        EXPECT_TRUE(supervisor_.Remove(cell->cell_id()).ok());
      },
      Cycles());
}

TEST_F(LeaksTest, CellsThatCannotStart) {
  ExpectNothingLeakedBy(
      [this](int) {
        v1::PrepareCellRequest request = SupervisorHarness::Request("missing");
        auto* mount = request.mutable_sandbox()->add_mounts();
        mount->set_source(supervisor_.directory() + "-not-there");
        mount->set_target("/data");
        mount->set_access(policy::v1::ACCESS_READ_ONLY);
        EXPECT_EQ(supervisor_.Prepare(request).status().code(), Code::kNotFound);
      },
      Cycles() / 2);
}

TEST_F(LeaksTest, CommandsThatEndInEveryWay) {
  const std::string cell = supervisor_.Cell();
  // The file worker, which removes old runs now and then, is there from the beginning.
  EXPECT_EQ(ReadFileIn(cell, "none").code(), Code::kNotFound);
  ExpectNothingLeakedBy(
      [&](int) {
        EXPECT_TRUE(supervisor_.Shell(cell, "exit 1").Exited(1));
        EXPECT_TRUE(supervisor_.Shell(cell, "cat", {.input = "text"}).Exited(0));
        EXPECT_TRUE(supervisor_.Shell(cell, "true", {.terminal = true}).Exited(0));
        EXPECT_EQ(supervisor_.Exec(cell, {"no-such-command"}).outcome.kind(),
                  v1::OUTCOME_KIND_NOT_FOUND);
        EXPECT_EQ(supervisor_.Shell(cell, "kill -9 $$").outcome.kind(), v1::OUTCOME_KIND_SIGNALLED);
        EXPECT_EQ(supervisor_.Exec(cell, {""}).status.code(), Code::kInvalidArgument);
      },
      Cycles() / 4);
}

// Cancelled in the middle of a flood that the client does not read.
TEST_F(LeaksTest, FloodsThatAreCancelled) {
  const std::string cell = supervisor_.Cell();
  EXPECT_EQ(ReadFileIn(cell, "none").code(), Code::kNotFound);  // as above
  ExpectNothingLeakedBy(
      [&](int i) {
        RunningExec flood(supervisor_.stub(), cell, "echo up; exec cat /dev/zero");
        ASSERT_TRUE(flood.ReadUntil(i % 2 == 0 ? "up\n" : std::string(1 << 20, '\0')));
        flood.Cancel();
        EXPECT_EQ(flood.Finish().status.code(), Code::kCancelled);
      },
      Cycles() / 4);
}

TEST_F(LeaksTest, ClientsThatComeAndGo) {
  ExpectNothingLeakedBy(
      [&](int) {
        grpc::ChannelArguments own;
        own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        const auto stub = v1::Supervisor::NewStub(grpc::CreateCustomChannel(
            "unix:" + supervisor_.socket(), grpc::InsecureChannelCredentials(), own));
        grpc::ClientContext context;
        v1::GetInfoResponse info;
        EXPECT_TRUE(stub->GetInfo(&context, {}, &info).ok());
      },
      Cycles() / 2);
}

}  // namespace
}  // namespace odyssey::testing
