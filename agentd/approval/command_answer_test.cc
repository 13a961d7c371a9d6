#include "agentd/approval/command_answer.h"

#include <gtest/gtest.h>

namespace odyssey::approval {
namespace {

TEST(CommandAnswerTest, ReadsTheThreeDecisions) {
  const auto once = ParseCommandAnswer("{\"decision\":\"allow_once\"}\n");
  ASSERT_TRUE(once.ok()) << once.status().message();
  EXPECT_EQ(once->decision, Decision::kAllowOnce);
  EXPECT_EQ(ParseCommandAnswer("{\"decision\":\"allow_always\"}")->decision,
            Decision::kAllowAlways);
  const auto deny = ParseCommandAnswer("{\"note\":\"no\",\"decision\":\"deny\"}");
  EXPECT_EQ(deny->decision, Decision::kDeny);
  EXPECT_EQ(deny->note, "no");
}

TEST(CommandAnswerTest, AnythingElseIsNoAnswer) {
  const std::string long_note =
      "{\"decision\":\"allow_once\",\"note\":\"" + std::string(kMaxCommandAnswer, 'n') + "\"}";
  for (const std::string& output :
       {std::string(), std::string("yes"), std::string("{}"), std::string("[\"allow_once\"]"),
        std::string("{\"decision\":\"allow\"}"), std::string("{\"decision\":true}"),
        std::string("{\"decision\":\"ALLOW_ONCE\"}"), std::string("{\"note\":\"allow_once\"}"),
        std::string("{\"decision\":\"allow_once\",\"note\":1}"),
        std::string("{\"decision\":\"allow_once\",\"scope\":\"all\"}"),
        std::string("{\"decision\":\"allow_once\"} {}"),
        std::string("{\"decision\":\"allow_once\",\"note\":\"\xff\"}"), long_note}) {
    EXPECT_EQ(ParseCommandAnswer(output).status().code(), Code::kInvalidArgument) << output;
  }
}

TEST(CommandAnswerTest, AQuestionIsOneLine) {
  Question question;
  question.set_session_id("ses_1");
  question.mutable_request()->set_diff("a\nb\n");
  const std::string line = QuestionLine(question);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find("\"session_id\":\"ses_1\""), std::string::npos) << line;
  EXPECT_NE(line.find("\"diff\":\"a\\nb\\n\""), std::string::npos) << line;
}

}  // namespace
}  // namespace odyssey::approval
