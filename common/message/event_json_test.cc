#include "common/message/event_json.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

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
  for (
      const char* payload :
      {R"(turn_started { turn_id: "t" prompt: "do it" sandbox_mode: "workspace_write" })",
       R"(turn_completed { turn_id: "t" message: "done" })",
       R"(turn_failed { turn_id: "t" message: "why" interrupted: true })",
       R"(turn_cancelled { turn_id: "t" })",
       R"(agent_message_delta { turn_id: "t" delta: "hé" })",
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
       R"(permission_requested { turn_id: "t" request_id: "apr_2" reason: "why" arguments_json: "{}"
                                  grants { grants { key: GRANT_KEY_LIMIT limit: "pids" value: "9"
                                                    present: "8" } } })",
       R"(approval_resolved { turn_id: "t" request_id: "apr_2" decision: "allow_once"
                               grant_scope: GRANT_SCOPE_SESSION grants_expire_at: "later" })",
       R"(grant_ended { turn_id: "" request_id: "apr_2" reason: "revoked" by_uid: 7 })",
       R"(error { turn_id: "t" message: "e" })",
       R"(access_denied { turn_id: "t" tool_call_id: "c"
                           denial { kind: "path" resource: "/usr/x" access: "write" rule: "mount"
                                    process: "sh[4]" hint: true exec_id: "e" count: 3 } })",
       R"(egress_decided { turn_id: "t" tool_call_id: "c"
                            decision { verdict: EGRESS_VERDICT_AUDITED way: "request" host: "h" port: 443
                                       rule: "r" method: "GET" path: "/a" status: 200 } })",
       R"(workspace_changed { turn_id: "t" counts { added: 1 renamed: 4 conflicts: 7 } })",
       R"(session_forked { from_session_id: "ses_2" at_sequence: 12 turns: 3 })",
       R"(worker_started { turn_id: "t" tool_call_id: "c" worker: "w" session_id: "ses_3" })",
       R"(turn_step { turn_id: "t" step: "model_call" duration_usec: 7 detail: "d"
                       provider: "p" failed: true
                       usage { input_tokens: 1 output_tokens: 2 estimated: true } })",
       R"(history_summarized { turn_id: "t" messages: 4 summary: "s"
                                usage { input_tokens: 3 cost_microdollars: 5 } })",
       R"(events_removed { first_sequence: 1 last_sequence: 9 reason: "retention" })"}) {
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

// The section of a page below the heading `## \`title\``; empty: there is none.
std::string Section(const std::string& page, const std::string& title) {
  const std::string heading = "\n## `" + title + "`\n";
  const size_t begin = page.find(heading);
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("\n## ", begin + heading.size()) - begin);
}

// The key of a line that has this field.
std::string KeyOf(const google::protobuf::FieldDescriptor& field) {
  const std::string name = field.name();
  const size_t suffix = name.rfind("_json");
  return suffix == std::string::npos ? name : name.substr(0, suffix);
}

TEST(EventsPageTest, HasASectionForEachEventAndARowForEachField) {
  std::ifstream file(ODYSSEY_EVENTS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const auto* payload = Event::descriptor()->FindOneofByName("payload");
  for (int i = 0; i < payload->field_count(); ++i) {
    const std::string type = payload->field(i)->name();
    const std::string section = Section(page.str(), type);
    ASSERT_FALSE(section.empty()) << type;
    EXPECT_NE(section.find("\"type\":\"" + type + "\""), std::string::npos) << type;
    const auto* message = payload->field(i)->message_type();
    for (int k = 0; k < message->field_count(); ++k) {
      const std::string key = KeyOf(*message->field(k));
      EXPECT_NE(section.find("\n| `" + key + "` |"), std::string::npos) << type << "." << key;
    }
  }
}

}  // namespace
}  // namespace odyssey::message
