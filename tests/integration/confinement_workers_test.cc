// The processes of a cell that work for the agent without being its commands: the file worker and
// the guard. Whoever takes one over has no more than a command.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/cell_probe.h"
#include "tests/integration/injected_call.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kNoCapabilities[] = "0000000000000000";

class ConfinementWorkersTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fs::create_directory(Workspace());
    std::ofstream(Workspace() + "/file") << "text";
    std::ofstream(Workspace() + "/.env") << "secret";
    v1::PrepareCellRequest request = SupervisorHarness::Request("workers");
    request.set_workspace(Workspace());
    const std::string why_no_guard = supervisor_.WhyNoDeniedNames();
    if (!why_no_guard.empty() && IsGuard()) GTEST_SKIP() << why_no_guard;
    if (why_no_guard.empty()) request.mutable_sandbox()->add_deny("**/.env");
    const auto cell = supervisor_.Prepare(request);
    ASSERT_TRUE(cell.ok()) << cell.status().ToString();
    cell_ = cell->cell_id();
    ASSERT_EQ(ReadFile(), "text");  // starts the file worker
    worker_ = AwaitProcess(cell->host_uid(), GetParam());
    ASSERT_GT(worker_, 0);
  }

  static bool IsGuard() { return GetParam() == std::string("cell-guard"); }

  std::string Workspace() const { return supervisor_.directory() + "/workspace"; }

  // By the file worker, through the guard.
  std::string ReadFile() {
    grpc::ClientContext context;
    v1::FileOpRequest request;
    request.set_cell_id(cell_);
    request.mutable_read()->set_path("file");
    v1::FileOpResponse response;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    return status.ok() ? response.read().content() : status.error_message();
  }

  // What its descriptors are, but for the first three.
  std::vector<std::string> Descriptors() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(worker_) + "/fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(entry.path(), error).string();
      if (std::stoi(entry.path().filename()) > 2) out.push_back(target);
    }
    return out;
  }

  SupervisorHarness supervisor_;
  std::string cell_;
  pid_t worker_ = -1;
};

TEST_P(ConfinementWorkersTest, HasNoCapabilityAndTheCommandsFilterAboveCellInits) {
  for (const std::string set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(StatusField(worker_, set), kNoCapabilities) << set;
  }
  EXPECT_EQ(StatusField(worker_, "NoNewPrivs"), "1");
  EXPECT_EQ(StatusField(worker_, "Seccomp"), "2");
  // Beside those that this test, and so its supervisor, was started with.
  const int inherited = std::stoi(StatusField(getpid(), "Seccomp_filters"));
  EXPECT_EQ(StatusField(worker_, "Seccomp_filters"), std::to_string(inherited + 2));
  EXPECT_EQ(StatusField(worker_, "SigBlk"), kNoCapabilities);
}

TEST_P(ConfinementWorkersTest, HasTheDescriptorsOfItsWorkAndNone) {
  size_t sockets = 0;
  for (const std::string& target : Descriptors()) {
    EXPECT_EQ(target.find("signalfd"), std::string::npos) << target;
    sockets += target.rfind("socket:", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(sockets, IsGuard() ? 0u : 1u) << "cell-init's is not its";
}

// Calls that cell-init may make, or could without harm, and commands may not.
TEST_P(ConfinementWorkersTest, TheKernelRefusesItWhatItRefusesCommands) {
  EXPECT_EQ(Inject(worker_, {SYS_unshare, {CLONE_NEWUSER}, ""}), -EPERM);
  EXPECT_EQ(Inject(worker_, {SYS_memfd_create, {}, ""}), -EPERM);
  EXPECT_EQ(ReadFile(), "text") << "it goes on";
}

// /dev belongs to the cell's user: its mode would allow this.
TEST_P(ConfinementWorkersTest, IsInTheLandlockDomainOfCommands) {
  const unsigned long here = static_cast<unsigned long>(AT_FDCWD);
  EXPECT_EQ(Inject(worker_, {SYS_openat, {here, 0, O_CREAT | O_WRONLY, 0600}, "/dev/new"}),
            -EACCES);
  EXPECT_EQ(Inject(worker_, {SYS_openat, {here, 0, O_WRONLY}, "/proc/self/oom_score_adj"}),
            -EACCES);
  EXPECT_GE(Inject(worker_, {SYS_openat, {here, 0, O_RDONLY}, "/dev/null"}), 0) << "it can ask";
  EXPECT_EQ(ReadFile(), "text") << "it goes on";
}

INSTANTIATE_TEST_SUITE_P(Each, ConfinementWorkersTest,
                         ::testing::Values("cell-tools", "cell-guard"));

}  // namespace
}  // namespace odyssey::testing
