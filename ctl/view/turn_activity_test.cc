#include "ctl/view/turn_activity.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

Event Started() {
  Event event;
  event.mutable_turn_started()->set_turn_id("trn_1");
  return event;
}
Event Call(const std::string& id, const std::string& command) {
  Event event;
  event.mutable_tool_call_started()->set_tool_call_id(id);
  event.mutable_tool_call_started()->set_tool_name("Bash");
  event.mutable_tool_call_started()->set_arguments_json(R"({"command": ")" + command + R"("})");
  return event;
}
Event Finished(const std::string& id) {
  Event event;
  event.mutable_tool_call_finished()->set_tool_call_id(id);
  return event;
}
Event Output(const std::string& text) {
  Event event;
  event.mutable_exec_command_output_delta()->set_delta(text);
  return event;
}

TEST(TurnActivityTest, SaysWhatATurnWaitsForAndHowLong) {
  TurnActivity activity(1'000);
  EXPECT_EQ(activity.Text(4'200), "3 s  the turn waits to begin");
  activity.See(Started(), 5'000);
  EXPECT_EQ(activity.Text(7'000), "2 s  the model works  2 s");
  activity.See(Call("tool_1", "npm test"), 8'000);
  EXPECT_EQ(activity.Text(70'000), "1 m 05 s  Bash npm test  1 m 02 s  (1 tool call)");
  activity.See(Output(std::string(2048, 'x')), 71'000);
  EXPECT_EQ(activity.Text(70'000),
            "1 m 05 s  Bash npm test  1 m 02 s, 2 KiB of output  (1 tool call)");
  activity.See(Finished("tool_1"), 72'000);
  EXPECT_EQ(activity.Text(73'000), "1 m 08 s  the model works  1 s  (1 tool call)");
}

TEST(TurnActivityTest, OfCallsThatRunTogetherOneIsNamed) {
  TurnActivity activity(0);
  activity.See(Started(), 0);
  activity.See(Call("tool_1", "a"), 0);
  activity.See(Call("tool_2", "b"), 0);
  EXPECT_EQ(activity.Text(0), "0 s  Bash b and 1 more  0 s  (2 tool calls)");
  activity.See(Finished("tool_2"), 0);
  EXPECT_EQ(activity.Text(0), "0 s  Bash a  0 s  (2 tool calls)");
}

TEST(TurnActivityTest, ATurnCountsItsOwnCalls) {
  TurnActivity activity(0);
  activity.See(Started(), 0);
  activity.See(Call("tool_1", "a"), 0);
  activity.See(Started(), 9'000);
  EXPECT_EQ(activity.Text(11'000), "2 s  the model works  2 s");
}

}  // namespace
}  // namespace odyssey::ctl
