#include "agentd/metrics/metrics.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace odyssey::agent {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Metrics::Time kStart{};

v1::Event EventOf(const std::string& text) {
  v1::Event out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &out)) << text;
  return out;
}

class MetricsTest : public ::testing::Test {
 protected:
  void On(const std::string& text, seconds at = seconds(0)) {
    metrics_.OnEvent(EventOf(text), kStart + at);
  }
  std::string Text() { return metrics_.Text({}); }

  Metrics metrics_{"1.2.3"};
};

TEST_F(MetricsTest, CountsToolCallsByToolAndOutcome) {
  On(R"(tool_call_finished { tool_name: "Bash" success: true })");
  On(R"(tool_call_finished { tool_name: "Bash" success: false })");
  On(R"(tool_call_finished { tool_name: "Bash" success: true })");
  EXPECT_THAT(Text(),
              HasSubstr("odyssey_agentd_tool_calls_total{outcome=\"ok\",tool=\"Bash\"} 2\n"));
  EXPECT_THAT(Text(), HasSubstr("{outcome=\"error\",tool=\"Bash\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("{outcome=\"ok\",tool=\"Read\"} 0\n"));
  EXPECT_THAT(Text(), HasSubstr("odyssey_agentd_events_total 3\n"));
}

// A model may call a tool by any name.
TEST_F(MetricsTest, NamesThatAModelMakesUpAreOneSeries) {
  On(R"(tool_call_finished { tool_name: "t0" })");
  const std::string before = Text();
  for (int i = 1; i < 50; ++i) {
    On("tool_call_finished { tool_name: \"t" + std::to_string(i) + "\" }");
  }
  const std::string after = Text();
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'),
            std::count(after.begin(), after.end(), '\n'));
  EXPECT_THAT(after, HasSubstr("{outcome=\"error\",tool=\"other\"} 50\n"));
}

TEST_F(MetricsTest, CountsModelCallsTokensAndMoney) {
  On(R"(turn_step { step: "model_call" duration_usec: 2500000 provider: "openai"
                    usage { input_tokens: 10 output_tokens: 2 cost_microdollars: 7 } })");
  On(R"(turn_step { step: "model_call" duration_usec: 500000 provider: "openai" failed: true
                    usage { input_tokens: 5 } })");
  On(R"(turn_step { step: "run_executor" duration_usec: 9000000 })");
  const std::string text = Text();
  EXPECT_THAT(
      text, HasSubstr("odyssey_agentd_model_calls_total{outcome=\"ok\",provider=\"openai\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{outcome=\"error\",provider=\"openai\"} 1\n"));
  EXPECT_THAT(
      text, HasSubstr("odyssey_agentd_tokens_total{direction=\"input\",provider=\"openai\"} 15\n"));
  EXPECT_THAT(text, HasSubstr("{direction=\"output\",provider=\"openai\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_agentd_cost_microdollars_total{provider=\"openai\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_agentd_model_call_seconds_count{provider=\"openai\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_agentd_model_call_seconds_sum{provider=\"openai\"} 3\n"));
}

TEST_F(MetricsTest, CountsAnswersAndTheTimeToThem) {
  On(R"(permission_requested { turn_id: "t" request_id: "r" })", seconds(10));
  On(R"(approval_resolved { turn_id: "t" request_id: "r" decision: "deny" by: "client" })",
     seconds(13));
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("odyssey_agentd_approvals_total{answer=\"deny\",by=\"client\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{answer=\"allow_once\",by=\"timeout\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_agentd_approval_wait_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("odyssey_agentd_approval_wait_seconds_sum 3\n"));
}

// The journals of a worker's callers have copies of what it asks and is answered.
TEST_F(MetricsTest, CountsAWorkersQuestionOnce) {
  On(R"(permission_requested { turn_id: "t" request_id: "r" })");
  On(R"(permission_requested { turn_id: "u" request_id: "r" worker_session_id: "s" })", seconds(1));
  On(R"(approval_resolved { turn_id: "t" request_id: "r" decision: "deny" by: "client" })",
     seconds(2));
  On(R"(approval_resolved { turn_id: "u" request_id: "r" decision: "deny" by: "client" })",
     seconds(3));
  EXPECT_THAT(Text(),
              HasSubstr("odyssey_agentd_approvals_total{answer=\"deny\",by=\"client\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("odyssey_agentd_approval_wait_seconds_sum 2\n"));
}

TEST_F(MetricsTest, AQuestionEndsWithItsTurn) {
  On(R"(permission_requested { turn_id: "t" request_id: "r" })");
  metrics_.OnTurnEnd("t", "cancelled", std::chrono::milliseconds(1500));
  On(R"(approval_resolved { turn_id: "t" request_id: "r" decision: "deny" by: "client" })");
  EXPECT_THAT(Text(), HasSubstr("odyssey_agentd_approval_wait_seconds_count 0\n"));
  EXPECT_THAT(Text(), HasSubstr("odyssey_agentd_turns_total{outcome=\"cancelled\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("odyssey_agentd_turn_seconds_sum 1.5\n"));
}

TEST_F(MetricsTest, SaysWhatIsTrueNow) {
  const std::string text = metrics_.Text({.sessions = 1,
                                          .turns_running = 2,
                                          .turns_queued = 3,
                                          .approvals_pending = 4,
                                          .journal_bytes = 5,
                                          .bundles = 6,
                                          .supervisor_up = true});
  for (const char* line :
       {"odyssey_agentd_sessions 1\n", "odyssey_agentd_turns_running 2\n",
        "odyssey_agentd_queue_depth 3\n", "odyssey_agentd_approvals_pending 4\n",
        "odyssey_agentd_journal_bytes 5\n", "odyssey_agentd_bundles 6\n",
        "odyssey_supervisor_up 1\n", "odyssey_agentd_info{version=\"1.2.3\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(Text(), HasSubstr("odyssey_supervisor_up 0\n"));
}

// Prompts, paths, commands and ids are in the events, and in no label.
TEST_F(MetricsTest, NoTextOfAUserIsExported) {
  On(R"(id: "secret" session_id: "secret"
        turn_started { turn_id: "secret" prompt: "secret" sandbox_mode: "read_only" })");
  On(R"(exec_command_begin { turn_id: "secret" command: "secret" cwd: "/secret" })");
  On(R"(turn_step { turn_id: "secret" step: "model_call" detail: "secret" provider: "secret" })");
  On(R"(permission_requested { turn_id: "secret" request_id: "secret" arguments_json: "secret" })");
  On(R"(approval_resolved { request_id: "secret" decision: "secret" by: "secret" note: "secret" })");
  EXPECT_THAT(Text(), Not(HasSubstr("secret")));
  EXPECT_THAT(Text(), HasSubstr("odyssey_agentd_events_total 5\n"));
}

}  // namespace
}  // namespace odyssey::agent
