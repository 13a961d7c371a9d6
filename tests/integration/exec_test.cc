// What Exec, PrepareCell and FileOp promise, through the real supervisor.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/testing/running_exec.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

class ExecTest : public ::testing::Test {
 protected:
  SupervisorHarness supervisor_;
};

TEST_F(ExecTest, RunsACommandAndReportsItsExitCode) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result = supervisor_.Shell(cell, "echo out; echo err >&2; exit 7");
  EXPECT_TRUE(result.Exited(7)) << result.ToString();
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.outcome.stdout_bytes(), 4u);
}

TEST_F(ExecTest, PassesStdinThrough) {
  const std::string cell = supervisor_.Cell();
  const std::string input(3'000'000, 'x');
  const ExecResult result = supervisor_.Exec(cell, {"wc", "-c"}, {.input = input});
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "3000000\n");
}

TEST_F(ExecTest, ReportsACommandThatIsNotThere) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result = supervisor_.Exec(cell, {"no-such-command"});
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_NOT_FOUND) << result.ToString();
}

TEST_F(ExecTest, DeniesExecutingWhatTheAgentWrote) {
  const std::string cell = supervisor_.Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "cp /bin/true mine && chmod +x mine").Exited(0));
  EXPECT_EQ(supervisor_.Exec(cell, {"./mine"}).outcome.kind(), v1::OUTCOME_KIND_DENIED);
}

TEST_F(ExecTest, ReportsTheSignalThatKilledACommand) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result = supervisor_.Shell(cell, "kill -SEGV $$");
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << result.ToString();
  EXPECT_EQ(result.outcome.signal(), 11);
}

// Whatever the process that becomes the command is about when it arrives, or before there is one.
TEST_F(ExecTest, LosesNoSignalThatComesWithTheStart) {
  v1::ExecStart start;
  for (const char* word : {"/bin/sleep", "20"}) start.add_argv(word);
  v1::ExecRequest terminate;
  terminate.set_signal(SIGTERM);
  for (int i = 0; i < 60; ++i) {
    if (i % 6 == 0) {
      start.set_cell_id(supervisor_.Cell(SupervisorHarness::Request("c" + std::to_string(i))));
    }
    RunningExec running(supervisor_.stub(), start);
    ASSERT_TRUE(running.Send(terminate));
    const ExecResult result = running.Finish();
    ASSERT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << result.ToString();
    ASSERT_EQ(result.outcome.signal(), SIGTERM);
  }
}

TEST_F(ExecTest, CutsOutputAtTheCapAndCountsTheRest) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result =
      supervisor_.Shell(cell, "head -c 200000 /dev/zero", {.stdout_cap = 65536});
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out.size(), 65536u);
  EXPECT_EQ(result.outcome.stdout_bytes(), 200000u);
  EXPECT_TRUE(result.outcome.stdout_truncated());
}

TEST_F(ExecTest, CutsNoCharacterInTwo) {
  const std::string cell = supervisor_.Cell();
  const std::string command = "printf '\\342\\202\\254\\342\\202\\254'";
  EXPECT_EQ(supervisor_.Shell(cell, command, {.stdout_cap = 2}).out, "");
  EXPECT_EQ(supervisor_.Shell(cell, command, {.stdout_cap = 5}).out, "\u20ac");
  EXPECT_EQ(supervisor_.Shell(cell, command, {.stdout_cap = 6}).out, "\u20ac\u20ac");
  EXPECT_EQ(supervisor_.Shell(cell, "printf '\\342\\202'", {.stdout_cap = 2}).out, "\xe2\x82");
}

TEST_F(ExecTest, GivesATerminal) {
  const std::string cell = supervisor_.Cell();
  const ExecResult result =
      supervisor_.Shell(cell, "tty; stty size; test -t 0 && test -t 1", {.terminal = true});
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_NE(result.out.find("/dev/pts/"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("24 80"), std::string::npos) << result.out;
}

TEST_F(ExecTest, ReusesTheWarmCellOfAKeyAndRevisesItWhenThePolicyChanges) {
  auto request = SupervisorHarness::Request("same");
  const auto first = supervisor_.Prepare(request);
  const auto again = supervisor_.Prepare(request);
  ASSERT_TRUE(first.ok() && again.ok()) << first.status().ToString();
  EXPECT_EQ(first->cell_id(), again->cell_id());

  request.mutable_sandbox()->mutable_limits()->set_pids(100);
  const auto changed = supervisor_.Prepare(request);
  ASSERT_TRUE(changed.ok()) << changed.status().ToString();
  EXPECT_NE(changed->cell_id(), first->cell_id());
  EXPECT_EQ(changed->revision(), first->revision() + 1);
}

TEST_F(ExecTest, KeepsTheTreeOfACellOnDiskAcrossRevisionsAndGivesANewEnvironmentAtOnce) {
  auto request = SupervisorHarness::Request("kept");
  request.set_ephemeral(false);
  (*request.mutable_sandbox()->mutable_env())["KEY"] = "one";
  std::string cell = supervisor_.Cell(request);
  EXPECT_TRUE(supervisor_.Shell(cell, "echo data > file; test $KEY = one").Exited(0));

  (*request.mutable_sandbox()->mutable_env())["KEY"] = "two";
  EXPECT_EQ(supervisor_.Cell(request), cell);
  EXPECT_TRUE(supervisor_.Shell(cell, "test $KEY = two").Exited(0));

  ASSERT_TRUE(supervisor_.Remove(cell, /*purge=*/false).ok());
  cell = supervisor_.Cell(request);
  EXPECT_EQ(supervisor_.Shell(cell, "cat file").out, "data\n");
  ASSERT_TRUE(supervisor_.Remove(cell, /*purge=*/true).ok());
  cell = supervisor_.Cell(request);
  EXPECT_FALSE(supervisor_.Shell(cell, "cat file").Exited(0));
}

TEST_F(ExecTest, ReadsAndWritesFilesInsideTheCell) {
  const std::string cell = supervisor_.Cell();
  v1::FileOpRequest request;
  request.set_cell_id(cell);
  request.mutable_write()->set_path("notes/a.txt");
  request.mutable_write()->set_content("hello\n");
  v1::FileOpResponse response;
  {
    grpc::ClientContext context;
    const auto status = supervisor_.stub()->FileOp(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message() << supervisor_.Log();
  }
  EXPECT_EQ(supervisor_.Shell(cell, "cat notes/a.txt").out, "hello\n");
  request.mutable_read()->set_path("notes/a.txt");
  {
    grpc::ClientContext context;
    ASSERT_TRUE(supervisor_.stub()->FileOp(&context, request, &response).ok());
  }
  EXPECT_EQ(response.read().content(), "hello\n");
}

}  // namespace
}  // namespace odyssey::testing
