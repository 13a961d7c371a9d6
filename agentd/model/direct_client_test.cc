#include "agentd/model/direct_client.h"

#include <gtest/gtest.h>

namespace odyssey::model {
namespace {

Status Stream(const std::vector<Message>& messages, std::vector<ModelEvent>* events) {
  ModelRequest request;
  request.messages = messages;
  return NewDirectClient()->Stream(request,
                                   [&](ModelEvent event) {
                                     events->push_back(std::move(event));
                                     return OkStatus();
                                   },
                                   {});
}

Message User(std::string text) { return {MessageKind::kUser, std::move(text), {}}; }

TEST(DirectClientTest, ThePromptIsTheCall) {
  std::vector<ModelEvent> events;
  ASSERT_TRUE(
      Stream({User("earlier"), User(R"({"tool":"LS","arguments":{"path":"."}})")}, &events).ok());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<ToolUse>(events[0]), (ToolUse{"call", "LS", R"({"path":"."})"}));
  EXPECT_EQ(std::get<ModelEnd>(events[1]).reason, agent::v1::END_REASON_TOOL_CALLS);
}

TEST(DirectClientTest, EndsAfterTheResult) {
  std::vector<ModelEvent> events;
  ASSERT_TRUE(
      Stream({User("x"), {MessageKind::kToolResult, "", {{"call", "LS", "{}"}}}}, &events).ok());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ModelEnd>(events[0]).reason, agent::v1::END_REASON_STOP);
}

TEST(DirectClientTest, NestedDeeplyItFailsTheCall) {
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  std::vector<ModelEvent> events;
  EXPECT_EQ(Stream({User(R"({"tool":"LS","arguments":{"path":)" + deep + "}}")}, &events).code(),
            Code::kInvalidArgument);
}

TEST(DirectClientTest, AnotherPromptFailsTheCall) {
  for (const char* prompt :
       {"list the files", "[]", R"({"tool":"LS"})", R"({"tool":7,"arguments":{}})",
        R"({"tool":"LS","arguments":[]})", R"({"tool":"LS","arguments":{},"then":1})"}) {
    std::vector<ModelEvent> events;
    EXPECT_EQ(Stream({User(prompt)}, &events).code(), Code::kInvalidArgument) << prompt;
    EXPECT_TRUE(events.empty());
  }
}

}  // namespace
}  // namespace odyssey::model
