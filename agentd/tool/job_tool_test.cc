#include "agentd/tool/job_tool.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agentd/tool/bash_tool.h"
#include "policy/model/tool_table.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/fed_command.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

class NoRecords final : public job::JobRecords {
 public:
  Result<uint64_t> Begun(const std::string&) override { return begun_; }
  Status OnBegun(const std::string&, const job::BegunJob&) override {
    ++begun_;
    return OkStatus();
  }
  void OnEnded(const std::string&, const std::string&) override {}

 private:
  uint64_t begun_ = 0;
};

class JobToolTest : public ::testing::Test {
 protected:
  JobToolTest() {
    sandbox_.on_exec = [this](const fakes::pb::ExecStart& start, const sandbox::ExecSink& sink,
                              std::stop_token stop) {
      start_ = start;
      return fakes::FedCommand(start, sink, stop);
    };
  }

  Json Call(const Tool& tool, const std::string& arguments, bool expect_success = true) {
    ToolContext context;
    context.sandbox = &sandbox_;
    context.cell_id = "cel_s";
    context.turn_id = "trn_1";
    context.jobs = &scope_;
    EXPECT_TRUE(tool.ForRules(arguments).ok()) << tool.ForRules(arguments).status().message();
    const Result<ToolResult> result = tool.Run(arguments, context);
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) return {};
    EXPECT_EQ(result->success, expect_success) << result->json;
    return Json::parse(result->json);
  }
  Json Start() { return Call(*bash_, R"({"command":"cat","background":true,"cwd":"d"})"); }
  std::string Refusal(const std::string& arguments) const {
    return job_->ForRules(arguments).status().message();
  }

  fakes::FakeSandbox sandbox_;
  fakes::pb::ExecStart start_;
  fakes::FakeClock clock_;
  fakes::FakeIds ids_;
  const fakes::TemporaryDirectory directory_;
  NoRecords records_;
  job::Jobs jobs_{&sandbox_, &clock_, &records_};
  const job::JobScope scope_{
      &jobs_,
      "ses_1",
      *event::Journal::Open(directory_.path() + "/j.jsonl", "ses_1", {&clock_, &ids_}),
      {},
      7000};
  const std::unique_ptr<Tool> bash_ = NewBashTool();
  const std::unique_ptr<Tool> job_ = NewJobTool();
};

TEST_F(JobToolTest, BashInTheBackgroundReturnsAJobThatIsFedAndEnds) {
  const Json started = Start();
  EXPECT_EQ(started["job_id"], "job_1");
  EXPECT_EQ(started["state"], "running");
  EXPECT_EQ(start_.argv(2), "cat");
  EXPECT_EQ(start_.cwd(), "d");
  EXPECT_TRUE(start_.open_stdin());
  EXPECT_EQ(start_.default_wall_clock_ms(), 7000u);

  const Json fed =
      Call(*job_, R"({"action":"input","job_id":"job_1","text":"hello","wait_ms":10000})");
  EXPECT_EQ(fed, Json::parse(R"({"job_id":"job_1","state":"running","stdout":"hello",
                                 "stdout_offset":0,"stderr":"","stderr_offset":0})"));
  EXPECT_EQ(Call(*job_, R"({"action":"poll","job_id":"job_1"})")["stdout"], "");
  EXPECT_EQ(Call(*job_, R"({"action":"poll","job_id":"job_1","stdout_offset":1})")["stdout"],
            "ello");
  const Json listed = Call(*job_, R"({"action":"list"})")["jobs"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["command"], "cat");
  EXPECT_EQ(listed[0]["cwd"], "/workspace/d");

  const Json stopped = Call(*job_, R"({"action":"stop","job_id":"job_1"})");
  EXPECT_EQ(stopped["state"], "ended");
  EXPECT_EQ(stopped["outcome"], "signalled");
  EXPECT_EQ(stopped["signal"], 15);
  EXPECT_EQ(Call(*job_, R"({"action":"input","job_id":"job_1","text":"x"})", false)["error"],
            "execution failed: job_1: it has ended");
}

TEST_F(JobToolTest, ArgumentsGoWithTheirAction) {
  EXPECT_EQ(Refusal(R"({"action":"kill"})"),
            "action is \"kill\"; allowed: poll, input, stop, list");
  EXPECT_EQ(Refusal(R"({"action":"poll"})"), "missing argument \"job_id\"");
  EXPECT_EQ(Refusal(R"({"action":"list","job_id":"job_1"})"),
            "job_id does not go with action list");
  EXPECT_EQ(Refusal(R"({"action":"poll","job_id":"job_1","text":"x"})"),
            "text does not go with action poll");
  EXPECT_EQ(Refusal(R"({"action":"input","job_id":"job_1"})"),
            "action input needs text, or close_stdin: true");
  EXPECT_EQ(Refusal(R"({"action":"poll","job_id":"job_1","wait_ms":60001})"),
            "wait_ms is 60001; at most 60000");
  EXPECT_EQ(Call(*job_, R"({"action":"poll","job_id":"job_7"})", false)["error"],
            "execution failed: job_id: job_7: the session has no job; jobs are forgotten when its "
            "cell ends");
}

TEST_F(JobToolTest, ACommandThatFailsAtOnceSaysSoAtOnce) {
  sandbox_.on_exec = [](const fakes::pb::ExecStart&, const sandbox::ExecSink& sink,
                        std::stop_token) -> Result<fakes::pb::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    ODY_RETURN_IF_ERROR(fakes::Print(sink, "in use", fakes::pb::OUTPUT_STREAM_STDERR));
    return fakes::Exited(1);
  };
  const Json started = Start();
  EXPECT_EQ(started["state"], "ended");
  EXPECT_EQ(started["status_code"], 1);
  EXPECT_EQ(started["stderr"], "in use");
}

rules::ToolRules Rules(const std::vector<std::string>& allow, const std::vector<std::string>& ask,
                       const std::vector<std::string>& deny) {
  return *rules::Parse(allow, ask, deny);
}

// "ask Bash(python3:*)".
std::string Verdict(const rules::ToolRules& rules, const std::string& action,
                    const std::optional<std::string>& fed = std::nullopt) {
  std::optional<rules::ToolCall> command;
  if (fed) command = rules::ToolCall{policy::kBash, *fed, {}, ""};
  const rules::Decision decision = *DecideJobCall(rules, {policy::kJob, "", {action}, ""}, command);
  return std::string(rules::VerdictName(decision.verdict)) + " " + decision.rule;
}

TEST(DecideJobCallTest, InputIsJudgedAsTheCommandUnlessARuleForJobDecides) {
  const rules::ToolRules asks = Rules({}, {"Bash(python3:*)"}, {});
  EXPECT_EQ(Verdict(asks, "poll"), "allow ");
  EXPECT_EQ(Verdict(asks, "stop"), "allow ");
  EXPECT_EQ(Verdict(asks, "input", "python3 -i"), "ask Bash(python3:*)");
  EXPECT_EQ(Verdict(asks, "input", "cat"), "allow ");
  EXPECT_EQ(Verdict(Rules({"Job(input)"}, {"Bash(python3:*)"}, {}), "input", "python3 -i"),
            "allow Job(input)");
  EXPECT_EQ(Verdict(Rules({}, {"Job"}, {"Job(input)"}), "input", "cat"), "deny Job(input)");
  EXPECT_EQ(Verdict(Rules({}, {"Job"}, {"Job(input)"}), "poll"), "ask Job");
  EXPECT_EQ(Verdict(Rules({"*"}, {"Bash(python3:*)"}, {}), "input", "python3 -i"),
            "ask Bash(python3:*)")
      << "a rule for every tool is none for Job";
}

// A shell reads commands from its input, which no rule sees.
TEST(DecideJobCallTest, InputOfAShellIsAskedAboutWhereRulesRestrictCommands) {
  EXPECT_EQ(Verdict(Rules({}, {}, {"Bash(curl:*)"}), "input", "bash"), "ask ");
  EXPECT_EQ(Verdict(Rules({}, {}, {}), "input", "bash"), "allow ");
}

}  // namespace
}  // namespace odyssey::tools
