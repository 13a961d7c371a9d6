#include "ctl/json_convert.h"

#include <gtest/gtest.h>

#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {
namespace {

TEST(JsonConvertTest, NumbersAreNumbersAndEnumsAreWords) {
  agent::v1::Turn turn;
  turn.set_id("trn_1");
  turn.set_status(agent::v1::TURN_STATUS_RUNNING);
  turn.add_chat_history()->set_role("user");
  const Json json = ToJson(turn);
  EXPECT_EQ(json["status"], "running");
  EXPECT_EQ(json["chat_history"][0]["role"], "user");
  EXPECT_EQ(json["error"], "");

  supervisor::v1::CellInfo cell;
  cell.set_memory_bytes(uint64_t{1} << 60);
  EXPECT_EQ(ToJson(cell)["memory_bytes"], uint64_t{1} << 60);
}

TEST(JsonConvertTest, MapIsAnObject) {
  agent::v1::CreateSessionRequest request;
  (*request.mutable_env())["A"] = "1";
  EXPECT_EQ(ToJson(request)["env"], (Json{{"A", "1"}}));
}

TEST(JsonConvertTest, EventIsAnEnvelopeWithItsType) {
  agent::v1::Event event;
  event.set_id("evt_1");
  event.set_sequence(7);
  event.mutable_tool_call_started()->set_tool_name("Bash");
  event.mutable_tool_call_started()->set_arguments_json(R"({"command":"ls"})");
  const Json json = EventToJson(event);
  EXPECT_EQ(json["sequence"], 7);
  EXPECT_EQ(json["payload"]["type"], "tool_call_started");
  EXPECT_EQ(json["payload"]["payload"]["arguments"]["command"], "ls");
  EXPECT_FALSE(json["payload"]["payload"].contains("arguments_json"));
}

TEST(JsonConvertTest, ArgumentsThatDoNotParseStayText) {
  agent::v1::Event event;
  event.mutable_tool_call_started()->set_arguments_json("{half");
  EXPECT_EQ(EventToJson(event)["payload"]["payload"]["arguments"], "{half");
}

}  // namespace
}  // namespace odyssey::ctl
