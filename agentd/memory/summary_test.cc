#include "agentd/memory/summary.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::memory {
namespace {

using model::Message;
using model::MessageKind;

std::vector<Message> Exchanges(size_t count) {
  std::vector<Message> out;
  for (size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    out.push_back({MessageKind::kUser, "question " + n, {}});
    out.push_back({MessageKind::kToolUse, "", {{"c" + n, "Read", R"({"path":"a"})"}}});
    out.push_back({MessageKind::kToolResult, "", {{"c" + n, "Read", "content " + n}}});
    out.push_back({MessageKind::kAssistant, "answer " + n, {}});
  }
  return out;
}

TEST(SummaryTest, IsAskedForWhenMessagesLeaveTheWindowAndThenNotForAWhile) {
  WindowBounds bounds;
  bounds.messages = 16;  // four exchanges
  Summary summary;
  size_t asked = 0;
  for (size_t turns = 1; turns <= 20; ++turns) {
    const std::vector<Message> history = Exchanges(turns);
    const WindowPlan plan = PlanWindow(history, summary, bounds);
    if (plan.summarise_to == 0) {
      EXPECT_EQ(plan.begin, summary.messages) << "nothing is between summary and window";
    } else {
      ++asked;
      EXPECT_GT(plan.summarise_to, summary.messages);
      EXPECT_GE(plan.summarise_to, plan.begin);
      EXPECT_EQ(history[plan.summarise_to].kind, MessageKind::kUser);
      summary = {plan.summarise_to, "s"};
    }
    EXPECT_LE(history.size() - summary.messages, bounds.messages);
    EXPECT_LT(summary.messages, history.size()) << "the latest exchange is sent as it is";
  }
  EXPECT_EQ(asked, 6u) << "each time half a window becomes free";
}

TEST(SummaryTest, TheRequestHasTheEarlierSummaryAndWhatFollowsItAsData) {
  const std::vector<Message> history = Exchanges(3);
  const model::ModelRequest request = SummaryRequest(history, 8, {4, "the old one"}, 100, {});
  EXPECT_NE(request.earlier.find("the old one"), std::string::npos);
  EXPECT_EQ(request.earlier.find("question 0"), std::string::npos) << "it is in the old one";
  EXPECT_NE(request.earlier.find("user: question 1\ncall of Read: {\"path\":\"a\"}\n"
                                 "result of Read: content 1\nassistant: answer 1\n"),
            std::string::npos)
      << request.earlier;
  EXPECT_EQ(request.earlier.find("question 2"), std::string::npos) << "it stays in the window";
  ASSERT_EQ(request.messages.size(), 1u);
  EXPECT_EQ(request.messages[0].content.rfind("Summarise the earlier messages", 0), 0u);
  EXPECT_TRUE(request.tools.empty());
  EXPECT_GE(request.max_answer_tokens, 100u);
}

TEST(SummaryTest, WhatItIsMadeOfIsBounded) {
  std::vector<Message> history = Exchanges(400);
  history[2].tools[0].json = std::string(1 << 20, 'x');
  WindowBounds bounds;
  bounds.tokens = 500;
  const model::ModelRequest request = SummaryRequest(history, 1600, {}, 100, bounds);
  EXPECT_LE(EstimateTokens(request.earlier), 520u);
  EXPECT_NE(request.earlier.find("older messages are left out"), std::string::npos);
  EXPECT_NE(request.earlier.find("answer 399"), std::string::npos) << "the latest are kept";
  EXPECT_LT(SummaryRequest(history, 4, {}, 100, {}).earlier.size(), 4096u) << "a long result";
}

TEST(SummaryTest, ALongAnswerIsCutAtACharacter) {
  const TokenScale scale;
  EXPECT_EQ(CutToTokens("short", 10, scale), "short");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "世";
  const std::string cut = CutToTokens(text, 50, scale);
  EXPECT_LE(EstimateTokens(cut), 50u);
  EXPECT_FALSE(cut.empty());
  EXPECT_EQ(cut.size() % 3, 0u);
}

}  // namespace
}  // namespace odyssey::memory
