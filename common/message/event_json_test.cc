#include "common/message/event_json.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>

namespace odyssey::message {
namespace {

using agent::v1::Event;

Event EventOf(const std::string& payload) {
  Event out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(payload, &out)) << payload;
  out.set_id("evt_1");
  out.set_session_id("ses_1");
  out.set_sequence(7);
  out.set_created_at("2026-03-24T09:30:00.125Z");
  return out;
}

std::vector<Event> OneOfEach() {
  std::vector<Event> out;
  for (const char* payload :
       {R"(turn_started { turn_id: "t" prompt: "do it" sandbox_mode: "workspace_write" })",
        R"(turn_completed { turn_id: "t" message: "done" })",
        R"(turn_failed { turn_id: "t" message: "why" interrupted: true })",
        R"(turn_cancelled { turn_id: "t" })", R"(agent_message_delta { turn_id: "t" delta: "hé" })",
        R"(reasoning_delta { turn_id: "t" delta: "hm" })",
        R"(reasoning_section_break { turn_id: "t" })",
        R"(tool_call_started { turn_id: "t" tool_call_id: "c" tool_name: "Bash"
                               arguments_json: "{\"command\":\"ls\"}" })",
        R"(tool_call_finished { turn_id: "t" tool_call_id: "c" tool_name: "Bash"
                                result_json: "{\"status_code\":0}" success: true })",
        R"(exec_command_begin { turn_id: "t" exec_id: "e" command: "sh" command: "ls" cwd: "/w" })",
        R"(exec_command_output_delta { turn_id: "t" exec_id: "e" stream: "stdout" delta: "a\nb" })",
        R"(exec_command_end { turn_id: "t" exec_id: "e" exit_code: -1 outcome: "timed_out" })",
        R"(permission_requested { turn_id: "t" request_id: "apr_1" tool_name: "Write" rule: "Write"
                                  arguments_json: "{\"path\":\"a\"}" cwd: "/w" scope: "Write"
                                  diff: "--- a/a\n+++ b/a\n" })",
        R"(approval_resolved { turn_id: "t" request_id: "apr_1" decision: "deny" by_uid: 1000 })",
        R"(error { turn_id: "t" message: "e" })",
        R"(access_denied { turn_id: "t" tool_call_id: "c"
                           denial { kind: "path" resource: "/usr/x" access: "write" rule: "mount"
                                    process: "sh[4]" hint: true exec_id: "e" count: 3 } })",
        R"(workspace_changed { turn_id: "t" counts { added: 1 renamed: 4 conflicts: 7 } })",
        R"(session_forked { from_session_id: "ses_2" at_sequence: 12 turns: 3 })",
        R"(worker_started { turn_id: "t" tool_call_id: "c" worker: "w" session_id: "ses_3" })"}) {
    out.push_back(EventOf(payload));
  }
  return out;
}

TEST(EventJsonTest, EveryPayloadRoundTrips) {
  std::set<std::string> types;
  for (const Event& event : OneOfEach()) {
    types.insert(TypeName(event));
    const std::string line = EncodeEvent(event);
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    Result<Event> back = DecodeEvent(line);
    ASSERT_TRUE(back.ok()) << back.status().ToString() << line;
    EXPECT_EQ(back->DebugString(), event.DebugString()) << line;
  }
  const auto* payload = Event::descriptor()->FindOneofByName("payload");
  EXPECT_EQ(types.size(), static_cast<size_t>(payload->field_count()));
}

TEST(EventJsonTest, HasTheEnvelopeOfTheProtocol) {
  const Event event = EventOf(
      R"(tool_call_started { turn_id: "t" tool_call_id: "c" tool_name: "Read"
                             arguments_json: "{\"path\":\"a\"}" })");
  EXPECT_EQ(nlohmann::json::parse(EncodeEvent(event)), nlohmann::json::parse(R"({
    "id":"evt_1","session_id":"ses_1","sequence":7,"created_at":"2026-03-24T09:30:00.125Z",
    "payload":{"type":"tool_call_started","payload":{
      "turn_id":"t","tool_call_id":"c","tool_name":"Read","arguments":{"path":"a"}}}})"));
}

TEST(EventJsonTest, UnparsableArgumentsBecomeAString) {
  const Event event = EventOf(R"(tool_call_started { arguments_json: "{\"path\":" })");
  EXPECT_EQ(EventToJson(event)["payload"]["payload"]["arguments"], "{\"path\":");
}

TEST(EventJsonTest, ReplacesInvalidUtf8InsteadOfFailing) {
  Event event = EventOf(R"(agent_message_delta { turn_id: "t" })");
  event.mutable_agent_message_delta()->set_delta("a\xFF");
  EXPECT_TRUE(DecodeEvent(EncodeEvent(event)).ok());
}

TEST(EventJsonTest, RefusesDamagedLines) {
  for (
      const char* line :
      {"", "{", "{}", "[]", R"({"id":"a","session_id":"b","sequence":1,"created_at":"t"})",
       R"({"id":"a","session_id":"b","sequence":1,"created_at":"t","payload":{"type":"x","payload":{}}})",
       R"({"id":"a","session_id":"b","sequence":1,"created_at":"t","payload":{"type":"id","payload":{}}})",
       R"({"id":"a","session_id":"b","sequence":1,"created_at":"t","payload":{"type":"error","payload":[]}})",
       R"({"id":"a","session_id":"b","sequence":1,"created_at":"t","payload":{"type":"error","payload":{}}})"}) {
    EXPECT_EQ(DecodeEvent(line).status().code(), Code::kDataLoss) << line;
  }
}

}  // namespace
}  // namespace odyssey::message
