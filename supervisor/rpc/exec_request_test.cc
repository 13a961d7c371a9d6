#include "supervisor/rpc/exec_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/model/policy_keys.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {
namespace {

class ExecRequestTest : public ::testing::Test {
 protected:
  ExecRequestTest() {
    compiled_.base_env = {"HOME=/cell/data/home", "PATH=/usr/bin"};
    compiled_.limits.cpu_seconds = 7;
    compiled_.limits.open_files = 99;
    compiled_.limits.file_bytes = uint64_t{1} << 33;
    compiled_.limits.wall_clock_ms = 5000;
    SetArgv({"true"});
  }

  Result<ExecOptions> Make() { return MakeExecOptions(compiled_, cell_env_, start_); }
  void ExpectRefused(Code code, const std::string& words) {
    const auto options = Make();
    ASSERT_FALSE(options.ok());
    EXPECT_EQ(options.status().code(), code);
    EXPECT_NE(options.status().message().find(words), std::string::npos)
        << options.status().message();
  }
  bool HasEnv(const std::string& entry) {
    const auto options = Make();
    EXPECT_TRUE(options.ok()) << options.status().ToString();
    const auto& env = options->spec.env;
    return std::count(env.begin(), env.end(), entry) == 1;
  }

  void SetArgv(const std::vector<std::string>& argv) {
    start_.mutable_argv()->Assign(argv.begin(), argv.end());
  }
  void SetEnv(const std::map<std::string, std::string>& env) {
    *start_.mutable_env() = {env.begin(), env.end()};
  }

  compile::Compiled compiled_;
  std::map<std::string, std::string> cell_env_ = {{"TOKEN", "one"}, {"PATH", "/cell/bin"}};
  v1::ExecStart start_;
};

TEST_F(ExecRequestTest, APortOfTheCellsOwnNetworkRunsNoProgram) {
  start_.clear_argv();
  start_.set_port(8000);
  const auto options = Make();
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->spec.port, 8000);
  EXPECT_TRUE(options->open_stdin);
  EXPECT_EQ(options->wall_clock_ms, 0u) << "no limit of commands";
  start_.set_port(65536);
  ExpectRefused(Code::kInvalidArgument, "at most 65535");
  start_.set_port(8000);
  SetArgv({"true"});
  ExpectRefused(Code::kInvalidArgument, "without argv");
}

TEST_F(ExecRequestTest, NoPortOfTheHostIsReached) {
  start_.clear_argv();
  start_.set_port(8000);
  compiled_.confinement.own_network = false;
  ExpectRefused(Code::kFailedPrecondition, "host's network");
  compiled_.confinement.own_network = true;
  compiled_.unconfined = true;
  ExpectRefused(Code::kFailedPrecondition, "host's network");
}

TEST_F(ExecRequestTest, TakesTheLimitsOfTheCell) {
  const auto options = Make();
  EXPECT_EQ(options->spec.cpu_seconds, 7u);
  EXPECT_EQ(options->spec.open_files, 99u);
  EXPECT_EQ(options->spec.file_bytes, uint64_t{1} << 33);
  EXPECT_EQ(options->wall_clock_ms, 5000u);
  start_.set_wall_clock_ms(10);
  EXPECT_EQ(Make()->wall_clock_ms, 10u);
}

TEST_F(ExecRequestTest, EachLimitOfACommandIsCarried) {
  size_t wanted = 0;
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    key.set(&compiled_.limits, key.least + 1);
    if (key.scope == policy::Scope::kCommand) ++wanted;
  }
  const auto options = Make();
  ASSERT_TRUE(options.ok());
  for (const cell::ExecLimit& limit : cell::kExecLimits) {
    EXPECT_NE(options->spec.*limit.member, 0u) << limit.name;
  }
  EXPECT_NE(options->wall_clock_ms, 0u);
  EXPECT_EQ(std::size(cell::kExecLimits) + 1, wanted) << "wall_clock_ms is the one besides";
}

TEST_F(ExecRequestTest, RunsInTheWorkspaceUnlessToldOtherwise) {
  EXPECT_EQ(Make()->spec.cwd, "/workspace");
  start_.set_cwd("src");
  EXPECT_EQ(Make()->spec.cwd, "/workspace/src");
  start_.set_cwd("/tmp");
  EXPECT_EQ(Make()->spec.cwd, "/tmp");
  start_.set_cwd("..a/b..");
  EXPECT_EQ(Make()->spec.cwd, "/workspace/..a/b..");
  for (const std::string up : {"..", "a/..", "../a", "/workspace/../etc", "a/../b"}) {
    start_.set_cwd(up);
    ExpectRefused(Code::kPermissionDenied, "path traversal is not allowed: ");
  }
}

TEST_F(ExecRequestTest, TheBaseThenTheCellThenTheCommandDecideTheEnvironment) {
  EXPECT_TRUE(HasEnv("HOME=/cell/data/home"));
  EXPECT_TRUE(HasEnv("PATH=/cell/bin"));
  EXPECT_FALSE(HasEnv("PATH=/usr/bin"));
  EXPECT_TRUE(HasEnv("TOKEN=one"));
  SetEnv({{"TOKEN", "two"}, {"TERM", "xterm"}, {"TZ", "Asia/Tokyo"}, {"HOME", "/tmp"}});
  EXPECT_TRUE(HasEnv("TOKEN=two"));
  EXPECT_TRUE(HasEnv("TERM=xterm"));
  EXPECT_TRUE(HasEnv("TZ=Asia/Tokyo"));
  EXPECT_TRUE(HasEnv("HOME=/tmp"));
}

TEST_F(ExecRequestTest, RefusesWhatThePolicyDoesNotExport) {
  for (const std::string name : {"LD_PRELOAD", "", "TOKE", "TOKEN2", "PAT"}) {
    SetEnv({{name, "secret-value"}});
    ExpectRefused(Code::kPermissionDenied,
                  "environment variable is not allowed by sandbox policy: " + name);
    EXPECT_EQ(Make().status().message().find("secret-value"), std::string::npos);
  }
}

TEST_F(ExecRequestTest, RefusesNoCommandAndBytesThatNoProgramCanTake) {
  SetArgv({});
  ExpectRefused(Code::kInvalidArgument, "start.argv: command cannot be empty");
  SetArgv({"", "x"});
  ExpectRefused(Code::kInvalidArgument, "start.argv: command cannot be empty");
  SetArgv({std::string("a\0b", 3)});
  ExpectRefused(Code::kInvalidArgument, "NUL");
  SetArgv({"true"});
  SetEnv({{"TERM", std::string("\0", 1)}});
  ExpectRefused(Code::kInvalidArgument, "NUL");
  SetEnv({});
  start_.set_cwd(std::string("/a\0b", 4));
  ExpectRefused(Code::kInvalidArgument, "start.cwd: contains a NUL");
  start_.set_cwd("/" + std::string(4095, 'a'));
  ExpectRefused(Code::kInvalidArgument, "start.cwd: 4096 bytes; at most 4095");
}

TEST_F(ExecRequestTest, BoundsTheArgumentsAndTheEnvironmentTogether) {
  cell_env_ = {};
  compiled_.base_env = {};
  SetArgv({std::string(cell::kMaxExecBytes - 1, 'x')});
  EXPECT_TRUE(Make().ok());
  cell_env_ = {{"A", ""}};
  ExpectRefused(Code::kInvalidArgument, "start.argv and start.env");
  cell_env_ = {};
  SetArgv(std::vector<std::string>(cell::kMaxArgv));
  start_.set_argv(0, "a");
  EXPECT_TRUE(Make().ok());
  start_.add_argv("");
  ExpectRefused(Code::kInvalidArgument, "4097 words");
}

TEST_F(ExecRequestTest, HoldsABoundedBeginningOfWhatItKeeps) {
  start_.set_stderr_cap_bytes(kMaxCapToKeep + 1);
  EXPECT_TRUE(Make().ok());
  start_.set_keep_output(true);
  ExpectRefused(Code::kInvalidArgument, "start.stderr_cap_bytes: 0 and 67108865; at most 67108864");
  start_.set_stderr_cap_bytes(kMaxCapToKeep);
  EXPECT_TRUE(Make()->keep_output);
}

}  // namespace
}  // namespace odyssey::supervisor
