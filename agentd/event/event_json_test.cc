#include "agentd/event/event_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace odyssey::event {
namespace {

std::vector<Payload> OneOfEach() {
  return {
      TurnStarted{"trn_1", "do it", "workspace_write"},
      TurnCompleted{"trn_1", "done"},
      TurnFailed{"trn_1", "why", true},
      TurnCancelled{"trn_1"},
      AgentMessageDelta{"trn_1", "hé"},
      ReasoningDelta{"trn_1", "hm"},
      ReasoningSectionBreak{"trn_1"},
      ToolCallStarted{"trn_1", "tcl_1", "Bash", R"({"command":"ls"})"},
      ToolCallFinished{"trn_1", "tcl_1", "Bash", R"({"status_code":0})", true},
      ExecCommandBegin{"trn_1", "exe_1", {"sh", "-lc", "ls"}, "/workspace"},
      ExecCommandOutputDelta{"trn_1", "exe_1", "stdout", "a\nb"},
      ExecCommandEnd{"trn_1", "exe_1", -1, "timed_out"},
      PermissionRequested{"trn_1", "apr_1", "Write", "Write", R"({"path":"a"})", "/workspace",
                          "Write", "--- a/a\n+++ b/a\n"},
      ApprovalResolved{"trn_1", "apr_1", "allow_once", 1000},
      Error{"trn_1", "e"},
      AccessDenied{
          "trn_1",
          "tcl_1",
          {"path", "/usr/x", "write", "mount /usr read_only", "", "sh[4]", "command", "exe_1"}},
      WorkspaceChanged{"trn_1", {1, 2, 3, 4, 5, 6, 7}},
      SessionForked{"ses_2", 12, 3},
  };
}

TEST(EventJsonTest, EveryPayloadRoundTrips) {
  ASSERT_EQ(OneOfEach().size(), std::variant_size_v<Payload>);
  for (const Payload& payload : OneOfEach()) {
    const Event event{"evt_1", "ses_1", 7, "2026-03-24T09:30:00.125Z", payload};
    const std::string line = EncodeEvent(event);
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    Result<Event> back = DecodeEvent(line);
    ASSERT_TRUE(back.ok()) << back.status().ToString() << line;
    EXPECT_EQ(*back, event) << line;
  }
}

TEST(EventJsonTest, AQuestionOfAnEarlierVersionHasNoDiff) {
  const Result<Event> event = DecodeEvent(
      R"({"id":"evt_1","session_id":"ses_1","sequence":1,"created_at":"t","payload":{)"
      R"("type":"permission_requested","payload":{"turn_id":"trn_1","request_id":"apr_1",)"
      R"("tool_name":"Write","rule":"Write","arguments":{},"cwd":"/workspace","scope":"Write"}}})");
  ASSERT_TRUE(event.ok()) << event.status().ToString();
  EXPECT_EQ(std::get<PermissionRequested>(event->payload).diff, "");
}

TEST(EventJsonTest, HasTheEnvelopeOfTheProtocol) {
  const Event event{"evt_1", "ses_1", 1, "t",
                    ToolCallStarted{"trn_1", "tcl_1", "Read", R"({"path":"a"})"}};
  EXPECT_EQ(nlohmann::json::parse(EncodeEvent(event)), nlohmann::json::parse(R"({
    "id":"evt_1","session_id":"ses_1","sequence":1,"created_at":"t",
    "payload":{"type":"tool_call_started","payload":{
      "turn_id":"trn_1","tool_call_id":"tcl_1","tool_name":"Read","arguments":{"path":"a"}}}})"));
}

TEST(EventJsonTest, UnparsableArgumentsBecomeAString) {
  const Event event{"evt_1", "ses_1", 1, "t",
                    ToolCallStarted{"trn_1", "tcl_1", "Read", "{\"path\":"}};
  EXPECT_EQ(nlohmann::json::parse(EncodeEvent(event))["payload"]["payload"]["arguments"],
            "{\"path\":");
}

TEST(EventJsonTest, ReplacesInvalidUtf8InsteadOfFailing) {
  const Event event{"evt_1", "ses_1", 1, "t", AgentMessageDelta{"trn_1", "a\xFF"}};
  EXPECT_TRUE(DecodeEvent(EncodeEvent(event)).ok());
}

TEST(EventJsonTest, AnEventOfAnEarlierVersionKeepsItsPlace) {
  const auto event = DecodeEvent(
      R"({"id":"a","session_id":"b","sequence":7,"created_at":"t","payload":)"
      R"({"type":"workspace_review","payload":{"turn_id":"trn_1","findings":[{"kind":"name"}]}}})");
  ASSERT_TRUE(event.ok()) << event.status().ToString();
  EXPECT_EQ(event->sequence, 7u);
  EXPECT_EQ(event->payload, Payload(ReasoningSectionBreak{"trn_1"}));
}

TEST(EventJsonTest, RefusesDamagedLines) {
  for (
      const char* line :
      {"", "{", "{}", "[]", R"({"id":"a","session_id":"b","sequence":1,"created_at":"t"})",
       R"({"id":"a","session_id":"b","sequence":1,"created_at":"t","payload":{"type":"x","payload":{}}})",
       R"({"id":"a","session_id":"b","sequence":1,"created_at":"t","payload":{"type":"error","payload":{}}})"}) {
    EXPECT_EQ(DecodeEvent(line).status().code(), Code::kDataLoss) << line;
  }
}

}  // namespace
}  // namespace odyssey::event
