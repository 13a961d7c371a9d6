// A compromised rpc in front of the real root: whatever is not in the table of requests ends it,
// and a plan that no policy compiles to is refused.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "tests/integration/hostile_ways.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

class HostileRpcTest : public ::testing::TestWithParam<HostileWay> {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-hostile-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    const fs::path programs = ProgramDirectory();
    for (const char* name : {"odyssey-supervisor", "odyssey-cell-init"}) {
      fs::copy_file(programs / name, directory_ / name);
    }
    const fs::path tests = fs::read_symlink("/proc/self/exe").parent_path();
    fs::copy_file(tests / "hostile_rpc", directory_ / "odyssey-supervisor-rpc");
    Start();
  }

  void TearDown() override {
    EXPECT_TRUE(SignalProcess(pid_, SIGTERM));
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0) << "root itself must not die of it: " << Log();
    EXPECT_TRUE(CgroupsOf(pid_).empty());
    fs::remove_all(directory_);
  }

  void Start() {
    const std::vector<std::string> words = {(directory_ / "odyssey-supervisor").string(),
                                            "--state",
                                            (directory_ / "state").string(),
                                            "--run",
                                            (directory_ / "run").string(),
                                            "--client-uid",
                                            std::to_string(static_cast<int>(GetParam()))};
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const std::string log = (directory_ / "log").string();
    pid_ = fork();
    if (pid_ == 0) {
      const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(fd, 1);
      dup2(fd, 2);
      execv(argv[0], argv.data());
      _exit(127);
    }
    ASSERT_GT(pid_, 1);
  }

  std::string Log() const {
    const auto log = ReadFile((directory_ / "log").string(), 1 << 24);
    return log.ok() ? log->substr(0, 2000) : "";
  }
  bool Logged(const std::string& text) const { return Log().find(text) != std::string::npos; }

  fs::path directory_;
  pid_t pid_ = -1;
};

class BreaksTheProtocolTest : public HostileRpcTest {};

TEST_P(BreaksTheProtocolTest, IsEndedAndReplaced) {
  EXPECT_TRUE(Eventually([&] { return Logged("rpc broke the protocol"); })) << Log();
  EXPECT_TRUE(Eventually([&] { return Logged("odyssey-supervisor-rpc ended"); })) << Log();
}

INSTANTIATE_TEST_SUITE_P(Ways, BreaksTheProtocolTest,
                         ::testing::Values(HostileWay::kRubbish, HostileWay::kUnknownType,
                                           HostileWay::kRootsOwnMessage, HostileWay::kTruncated,
                                           HostileWay::kTrailing, HostileWay::kDescriptors,
                                           HostileWay::kTooLong, HostileWay::kMalformedPlan,
                                           HostileWay::kDoesNotRead));

class AsksForTooMuchTest : public HostileRpcTest {};

TEST_P(AsksForTooMuchTest, IsRefusedAndGetsNoSocket) {
  EXPECT_TRUE(Eventually([&] { return Logged("root answered "); })) << Log();
  EXPECT_TRUE(Logged("_DENIED") || Logged("INVALID_ARGUMENT")) << Log();
  EXPECT_TRUE(Logged("with 0 descriptors")) << Log();
}

INSTANTIATE_TEST_SUITE_P(Ways, AsksForTooMuchTest,
                         ::testing::Values(HostileWay::kForbiddenSource, HostileWay::kOwnState,
                                           HostileWay::kRootAsUser));

}  // namespace
}  // namespace odyssey::testing
