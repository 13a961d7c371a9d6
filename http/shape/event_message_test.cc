#include "http/shape/event_message.h"

#include <gtest/gtest.h>

namespace odyssey::shape {
namespace {

using agent::v1::Event;
using message::Json;

constexpr char kDigits[] = "70dfe3e2e671a2678c0bf1ff0219d1b7";
constexpr char kUuid[] = "70dfe3e2-e671-a267-8c0b-f1ff0219d1b7";

Event EventOf(const std::string& kind) {
  Event event;
  event.set_id("evt_" + std::string(kDigits));
  event.set_session_id("ses_" + std::string(kDigits));
  event.set_sequence(4);
  event.set_created_at("2026-11-26T03:16:04.094Z");
  if (kind == "started") {
    event.mutable_turn_started()->set_turn_id("trn_" + std::string(kDigits));
    event.mutable_turn_started()->set_prompt("p");
    event.mutable_turn_started()->set_sandbox_mode("read_only");
  }
  return event;
}

Json RequestFor(const std::string& tool, const std::string& arguments) {
  Event event = EventOf("asked");
  event.mutable_permission_requested()->set_tool_name(tool);
  event.mutable_permission_requested()->set_rule(tool + "(x:*)");
  event.mutable_permission_requested()->set_arguments_json(arguments);
  const Json payload = EventMessage(event)["payload"]["payload"];
  EXPECT_EQ(payload["action"], "ask");
  return payload["request"];
}

TEST(EventMessageTest, HasOurFieldsAndTheOriginals) {
  const Json out = EventMessage(EventOf("started"));
  EXPECT_EQ(out["id"], kUuid);
  EXPECT_EQ(out["session_id"], kUuid);
  EXPECT_EQ(out["sequence"], 4);
  EXPECT_EQ(out["payload"]["type"], "turn_started");
  const Json& payload = out["payload"]["payload"];
  EXPECT_EQ(payload["turn_id"], kUuid);
  EXPECT_EQ(payload["prompt"], "p");
  EXPECT_EQ(
      payload["context"].dump(),
      R"({"cwd":null,"model":null,"sandbox_mode":"read_only","approval_policy":null,"metadata":{}})");
}

TEST(EventMessageTest, ARequestIsACommandAPathOrATool) {
  EXPECT_EQ(RequestFor("Bash", R"({"command":"rm -r x"})").dump(),
            R"({"type":"command","payload":{"argv":["sh","-lc","rm -r x"]}})");
  EXPECT_EQ(RequestFor("Edit", R"({"path":"a"})").dump(),
            R"({"type":"path","payload":{"path":"a","mode":"write"}})");
  EXPECT_EQ(RequestFor("Read", R"({"path":"a"})")["payload"]["mode"], "read");
  EXPECT_EQ(RequestFor("Skill", R"({"name":"a"})").dump(),
            R"json({"type":"tool","payload":{"name":"Skill(x:*)"}})json");
  EXPECT_EQ(RequestFor("Bash", "\"no object\"")["type"], "tool");
}

TEST(EventFrameTest, NoDataEndsItsFrame) {
  EXPECT_EQ(EventFrame("7", "{}"), "id: 7\ndata: {}\n\n");
  EXPECT_EQ(EventFrame("", "a"), "data: a\n\n");
  EXPECT_EQ(EventFrame("", "a\nid: 9\n\nb\rc\r\nd"),
            "data: a\ndata: id: 9\ndata: \ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(EventFrame("", ""), "data: \n\n");
}

TEST(EventFrameTest, SequenceNumbersAreDigitsAlone) {
  EXPECT_EQ(*ParseSequence("after", "18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616", "1.0"}) {
    EXPECT_EQ(ParseSequence("after", text).status().detail().field, "after") << text;
  }
}

}  // namespace
}  // namespace odyssey::shape
