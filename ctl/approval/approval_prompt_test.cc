#include "ctl/approval/approval_prompt.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(ApprovalPromptTest, OnlyClearAnswersCount) {
  EXPECT_EQ(ParseAnswer("y\n"), agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_EQ(ParseAnswer("  always \r\n"), agent::v1::DECISION_ALLOW_ALWAYS);
  EXPECT_EQ(ParseAnswer("n\n"), agent::v1::DECISION_DENY);
  for (const char* line : {"", "\n", "Y\n", "yy\n", "y n\n", "yes please\n", "\x1b[Ay\n"}) {
    EXPECT_FALSE(ParseAnswer(line)) << line;
  }
}

TEST(ApprovalPromptTest, WithoutATerminalAskingFailsClosed) {
  EXPECT_EQ(AnswerWithoutAsking(ApproveMode::kAsk, false)->decision, agent::v1::DECISION_DENY);
  EXPECT_FALSE(AnswerWithoutAsking(ApproveMode::kAsk, true));
}

TEST(ApprovalPromptTest, OptionAnswersWithAndWithoutATerminal) {
  for (const bool terminal : {false, true}) {
    // Once, so that the session is not left more open than this run asked for.
    EXPECT_EQ(AnswerWithoutAsking(ApproveMode::kAll, terminal)->decision,
              agent::v1::DECISION_ALLOW_ONCE);
    EXPECT_EQ(AnswerWithoutAsking(ApproveMode::kDeny, terminal)->decision,
              agent::v1::DECISION_DENY);
  }
}

}  // namespace
}  // namespace odyssey::ctl
