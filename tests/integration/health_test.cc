// Both daemons: health of each service by its name, and the list of services that reflection gives.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fakes/temporary_directory.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

using ::testing::IsSupersetOf;

std::shared_ptr<grpc::Channel> Channel(const std::string& socket) {
  return grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials());
}

// odyssey-agentd, whose supervisor does not answer.
class Agentd final {
 public:
  Agentd() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    std::vector<std::string> words = {ProgramDirectory() + "/odyssey-agentd",
                                      "--state",
                                      directory_.path() + "/state",
                                      "--socket",
                                      socket(),
                                      "--supervisor-socket",
                                      directory_.path() + "/none",
                                      "--policy",
                                      directory_.path() + "/policy.d"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    writer.reset();
    char ready = 0;
    EXPECT_EQ(read(reader.get(), &ready, 1), 1) << "odyssey-agentd did not start";
  }
  ~Agentd() {
    SignalProcess(pid_, SIGTERM);
    int status = -1;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
  }

  std::string socket() const { return directory_.path() + "/agentd.sock"; }

 private:
  const fakes::TemporaryDirectory directory_;
  pid_t pid_ = -1;
};

// Every service that is ours is listed, and serves; nothing else does.
void ExpectServes(const std::shared_ptr<grpc::Channel>& channel,
                  const std::vector<std::string>& expected) {
  const std::vector<std::string> listed = ListServices(channel);
  EXPECT_THAT(listed, IsSupersetOf(expected));
  EXPECT_EQ(AskHealth(channel, ""), "SERVING");
  size_t ours = 0;
  for (const std::string& name : listed) {
    if (name.rfind("odyssey.", 0) != 0) continue;
    ++ours;
    EXPECT_EQ(AskHealth(channel, name), "SERVING") << name;
  }
  EXPECT_EQ(ours, expected.size());
  for (const char* name : {"odyssey", "odyssey.v1.None", "Supervisor"}) {
    EXPECT_EQ(AskHealth(channel, name), "NOT_FOUND") << name;
  }
}

TEST(HealthTest, TheSupervisorAnswersForEachService) {
  const SupervisorHarness supervisor;
  ExpectServes(
      Channel(supervisor.socket()),
      {"odyssey.supervisor.v1.Supervisor", "odyssey.supervisor.v1.Changes",
       "odyssey.supervisor.v1.Images", "odyssey.supervisor.v1.Egress", "odyssey.ops.v1.Metrics"});
}

TEST(HealthTest, AgentdAnswersForEachService) {
  const Agentd agentd;
  ExpectServes(Channel(agentd.socket()),
               {"odyssey.agent.v1.SessionService", "odyssey.agent.v1.ApprovalService",
                "odyssey.agent.v1.BundleService", "odyssey.agent.v1.CellService",
                "odyssey.agent.v1.TokenService", "odyssey.agent.v1.McpServerService",
                "odyssey.supervisor.v1.Changes", "odyssey.ops.v1.Metrics"});
}

}  // namespace
}  // namespace odyssey::testing
