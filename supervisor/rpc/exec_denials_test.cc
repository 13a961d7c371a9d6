#include "supervisor/rpc/exec_denials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "policy/model/default_limits.h"
#include "supervisor/rpc/outcome_fixture.h"

namespace odyssey::supervisor {
namespace {

using explain::Denial;
using plan::EntryKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ExecDenialsTest : public ::testing::Test {
 protected:
  ExecDenialsTest() {
    compiled_.limits = policy::kDefaultLimits;
    compiled_.plan.entries = {
        {.kind = EntryKind::kCellTree, .target = "/workspace", .access = plan::Access::kReadWrite},
        {.kind = EntryKind::kHostTree, .target = "/data", .source = "/srv/data"}};
    compiled_.confinement.rules = {{"/", cell::kRead}, {"/workspace", cell::kRead | cell::kWrite}};
    options_.spec.argv = {"tool"};
    options_.spec.cwd = "/workspace";
    options_.spec.cpu_seconds = 2;
    options_.wall_clock_ms = 500;
    options_.stdout_cap = 10;
  }

  std::vector<Denial> Find(const Outcome& outcome, const std::string& tail = "") {
    return FindDenials({request_, compiled_}, options_, outcome, tail,
                       [this](const std::string&) { return on_host_; });
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
  ExecOptions options_;
  std::string on_host_;  // the file of every program's name
};

constexpr char kComplaint[] = "touch: cannot touch '/data/x': Read-only file system\n";

TEST_F(ExecDenialsTest, SuccessIsNoDenialWhateverItSays) {
  EXPECT_THAT(
      Find({.sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) { s.set_exit_code(0); })},
           kComplaint),
      IsEmpty());
}

TEST_F(ExecDenialsTest, WhatAFailedCommandSaysIsAHint) {
  const auto denials =
      Find({.sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) { s.set_exit_code(1); })},
           kComplaint);
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].resource, "/data/x");
  EXPECT_TRUE(denials[0].hint);
}

TEST_F(ExecDenialsTest, OnTheHostTheWordsOfACommandAreNoDenial) {
  compiled_.unconfined = true;
  EXPECT_THAT(
      Find({.sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) { s.set_exit_code(1); })},
           kComplaint),
      IsEmpty());
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_DENIED)}), IsEmpty());
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_TIMED_OUT)}), SizeIs(1)) << "but limits are ours";
}

TEST_F(ExecDenialsTest, WallClock) {
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_TIMED_OUT)}),
              ElementsAre(Denial{"limit", "wall_clock_ms", "exceed", "policy wall_clock_ms 500",
                                 "sandbox.resources.wall_clock_s: 1", "tool", 1, "kill"}));
}

TEST_F(ExecDenialsTest, Memory) {
  const auto denials = Find(
      {.sent = Sent(v1::OUTCOME_KIND_OOM_KILLED, [](v1::ExecOutcome& s) { s.set_oom_kills(1); })});
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].rule, "cgroup memory_bytes 2147483648");
  EXPECT_FALSE(denials[0].hint);
  EXPECT_EQ(denials[0].verdict, "kill");
}

TEST_F(ExecDenialsTest, MemoryThatOnlyOthersOfTheCommandWereKilledFor) {
  const auto denials =
      Find({.sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) { s.set_oom_kills(3); })});
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].resource, "memory_bytes");
  EXPECT_EQ(denials[0].verdict, "kill");
  EXPECT_EQ(denials[0].count, 3u);
}

TEST_F(ExecDenialsTest, ProcessesThatTheKernelDidNotLetStart) {
  const std::string words = "sh: 1: Cannot fork\n";
  Outcome outcome{
      .sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) { s.set_exit_code(2); })};
  EXPECT_THAT(Find(outcome, words), IsEmpty()) << "words alone are nothing";
  outcome.pids_refused = 3;
  ASSERT_THAT(Find(outcome, words), SizeIs(1));
  EXPECT_EQ(Find(outcome, words)[0].rule, "cgroup pids 512");
  EXPECT_EQ(Find(outcome, words)[0].count, 3u);
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_EXITED), .pids_refused = 1}), SizeIs(1));
}

TEST_F(ExecDenialsTest, CommandForWhichThereWasNoProcess) {
  const auto denials = Find({.sent = Sent(v1::OUTCOME_KIND_SETUP_FAILED), .never_forked = true});
  EXPECT_THAT(denials, ElementsAre(Denial{"limit", "pids", "exceed", "cgroup pids 512",
                                          "sandbox.resources.pids: 1024", "tool"}));
  EXPECT_EQ(DescribeNeverForked({request_, compiled_}),
            "the cell has as many processes as it may: cgroup pids 512");
}

TEST_F(ExecDenialsTest, CallsThatTheKernelToldOf) {
  Outcome outcome{.sent = Sent(v1::OUTCOME_KIND_EXITED)};
  outcome.refused_calls = {{SYS_mount, {}, 2, 7, "mount"},
                           {SYS_socket, {AF_PACKET, SOCK_RAW, 0}, 1, 8, "ping"}};
  EXPECT_THAT(Find(outcome),
              ElementsAre(Denial{"syscall", "mount", "call", "seccomp", "", "mount[7]", 2},
                          Denial{"syscall", "socket(AF_PACKET, SOCK_RAW)", "call", "seccomp", "",
                                 "ping[8]", 1}))
      << "whether the command failed or not";
  outcome.sent.set_exit_code(32);
  EXPECT_THAT(Find(outcome, "mount: Operation not permitted\n"), SizeIs(2))
      << "its words add nothing";
}

TEST_F(ExecDenialsTest, TheCommandItselfIsNamed) {
  options_.spec.argv = {"/usr/bin/a-rather-long-name"};
  const auto denials = Find({.sent = Sent(v1::OUTCOME_KIND_TIMED_OUT), .pid = 2});
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].process, "a-rather-long-n[2]");
  EXPECT_EQ(Find({.sent = Sent(v1::OUTCOME_KIND_DENIED), .pid = 3})[0].process,
            "a-rather-long-n[3]");
  EXPECT_EQ(Find({.sent = Sent(v1::OUTCOME_KIND_OOM_KILLED), .pid = 3})[0].process,
            "a-rather-long-n[3]");
}

TEST_F(ExecDenialsTest, CpuTimeCountsOnlyIfItWasUsed) {
  Outcome outcome{
      .sent = Sent(v1::OUTCOME_KIND_SIGNALLED, [](v1::ExecOutcome& s) { s.set_signal(SIGXCPU); })};
  outcome.sent.set_user_usec(1'000'000);
  EXPECT_THAT(Find(outcome), IsEmpty()) << "a signal that anybody may send";
  outcome.sent.set_system_usec(1'100'000);
  ASSERT_THAT(Find(outcome), SizeIs(1));
  EXPECT_EQ(Find(outcome)[0].rule, "rlimit cpu_seconds 2");
  outcome.sent.set_kind(v1::OUTCOME_KIND_EXITED);
  outcome.sent.set_exit_code(128 + SIGXCPU);
  EXPECT_THAT(Find(outcome), SizeIs(1)) << "as a shell tells it";
}

TEST_F(ExecDenialsTest, FullFileSystemsOfTheCellsOwn) {
  const Outcome outcome{.sent = Sent(v1::OUTCOME_KIND_EXITED),
                        .full = {"/data", "/workspace", "/cell/data"}};
  EXPECT_THAT(Find(outcome), IsEmpty()) << "no limit bounds them";
  compiled_.limits.disk_bytes = uint64_t{64} << 20;
  ASSERT_THAT(Find(outcome), SizeIs(1)) << "one disk";
  EXPECT_EQ(Find(outcome)[0].rule, "mount disk_bytes 67108864");
  request_.ephemeral = true;
  EXPECT_EQ(Find(outcome)[0].resource, "tmp_bytes");
}

TEST_F(ExecDenialsTest, CutOutput) {
  Outcome outcome{.sent = Sent(v1::OUTCOME_KIND_EXITED, [](v1::ExecOutcome& s) {
                    s.set_stdout_bytes(33);
                    s.set_stdout_truncated(true);
                  })};
  EXPECT_THAT(Find(outcome),
              ElementsAre(Denial{"limit", "stdout", "exceed", "policy output_bytes 10",
                                 "sandbox.resources.output_bytes: 33", "tool", 1, "cut"}));
  outcome.sent.set_stdout_bytes(policy::kMaxOutputBytes + 1);
  EXPECT_EQ(Find(outcome)[0].grant, "") << "no policy may say so";
}

TEST_F(ExecDenialsTest, CommandThatMayNotBeExecuted) {
  options_.spec.argv = {"./tool"};
  const auto denials = Find({.sent = Sent(v1::OUTCOME_KIND_DENIED, [](v1::ExecOutcome& s) {
                               s.set_message("./tool: Permission denied");
                             })});
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].resource, "/workspace/tool");
  EXPECT_EQ(denials[0].rule, "mount /workspace noexec");
  EXPECT_FALSE(denials[0].hint);
}

TEST_F(ExecDenialsTest, MissingCommandIsRefusedOnlyWhereCommandsAreNamed) {
  on_host_ = "/usr/bin/tool";
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_NOT_FOUND)}), IsEmpty());
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  const auto denials = Find({.sent = Sent(v1::OUTCOME_KIND_NOT_FOUND)});
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(denials[0].grant, "sandbox.system_tools: [\"tool\"]");
  ASSERT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_DENIED)}), SizeIs(1));
  EXPECT_EQ(Find({.sent = Sent(v1::OUTCOME_KIND_DENIED)})[0], denials[0]);
}

TEST_F(ExecDenialsTest, NothingMakesACommandRunThatNobodyHas) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_NOT_FOUND)}), IsEmpty());
  ASSERT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_DENIED)}), SizeIs(1)) << "the kernel refused it";
  EXPECT_EQ(Find({.sent = Sent(v1::OUTCOME_KIND_DENIED)})[0].grant, "");
  EXPECT_THAT(Find({.sent = Sent(v1::OUTCOME_KIND_EXITED,
                                 [](v1::ExecOutcome& s) { s.set_exit_code(127); })},
                   "tool: 1: x: not found"),
              IsEmpty());
}

TEST_F(ExecDenialsTest, DestinationsAreToldWhetherTheCommandFailedOrNot) {
  Outcome outcome{.sent = Sent(v1::OUTCOME_KIND_EXITED), .pid = 2};
  outcome.refused_calls = {{SYS_connect, {}, 2, 7, "curl", "192.0.2.1:443"},
                           {.count = 1, .destination = "example.org"}};
  const std::string grant = "sandbox.permissions.network: [\"*\"]";
  EXPECT_THAT(
      Find(outcome),
      ElementsAre(
          Denial{"network", "192.0.2.1:443", "connect", "network none", grant, "curl[7]", 2},
          Denial{"network", "example.org", "resolve", "network none", grant, "tool[2]"}));
}

TEST_F(ExecDenialsTest, WhatIsKnownForCertainComesFirstAndOnce) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  const auto denials = Find({.sent = Sent(v1::OUTCOME_KIND_EXITED,
                                          [](v1::ExecOutcome& s) {
                                            s.set_exit_code(1);
                                            s.set_stderr_truncated(true);
                                          })},
                            kComplaint);
  ASSERT_THAT(denials, SizeIs(2));
  EXPECT_FALSE(denials[0].hint);
  EXPECT_TRUE(denials[1].hint);
}

TEST_F(ExecDenialsTest, FileOperation) {
  const tool::Request request{.op = tool::Op::kWrite, .path = "/data/x"};
  const tool::Response response{.code = Code::kPermissionDenied,
                                .error = "sandbox policy blocks Write access to /data/x"};
  const Denial denial = FindFileDenial({request_, compiled_}, request, response);
  EXPECT_EQ(denial.rule, "mount /data read_only");
  EXPECT_EQ(denial.process, "file worker");
  EXPECT_EQ(DescribeFileError(response, denial),
            "sandbox policy blocks Write access to /data/x (mount /data read_only); to allow: "
            "sandbox.permissions.filesystem.mounts.write: [\"/srv/data\"]");
}

TEST_F(ExecDenialsTest, NoPolicyGrantsAPathThatLeadsUpwards) {
  for (const char* path : {"../x", "a/../../srv/x", ".."}) {
    const tool::Response response{.code = Code::kPermissionDenied, .error = "path traversal"};
    const Denial denial = FindFileDenial({request_, compiled_}, {.path = path}, response);
    EXPECT_EQ(denial.grant, "") << path;
    EXPECT_EQ(DescribeFileError(response, denial), "path traversal");
  }
}

TEST_F(ExecDenialsTest, FileOperationThatThePlanDoesNotExplainKeepsItsWords) {
  const tool::Request request{.op = tool::Op::kRead, .path = "a.txt"};
  const tool::Response response{.code = Code::kPermissionDenied, .error = "suffix '.txt'"};
  const Denial denial = FindFileDenial({request_, compiled_}, request, response);
  EXPECT_EQ(denial.rule, "policy: suffix '.txt'");
  EXPECT_EQ(DescribeFileError(response, denial), "suffix '.txt'");
}

}  // namespace
}  // namespace odyssey::supervisor
