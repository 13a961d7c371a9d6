#include "ctl/approval/approval_prompt.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

agent::v1::PermissionRequested Request(int lines = 1) {
  agent::v1::PermissionRequested out;
  out.set_tool_name("Bash");
  out.set_rule("Bash(curl:*)");
  out.set_scope("Bash(curl:*): curl");
  std::string command;
  for (int i = 1; i <= lines; ++i) command += "line" + std::to_string(i) + "\\n";
  out.set_arguments_json("{\"command\":\"" + command + "\"}");
  return out;
}

ApprovalPrompt Prompt(int lines = 1, bool needs_word = false) {
  ApprovalPrompt out(Request(lines), {24, 80}, needs_word, false);
  out.Begin();
  return out;
}

std::optional<agent::v1::Decision> Typed(ApprovalPrompt prompt, std::string_view line) {
  const ApprovalPrompt::Step step = prompt.Type(line);
  if (!step.answer) return std::nullopt;
  return step.answer->decision;
}

TEST(ApprovalPromptTest, OnlyClearAnswersCount) {
  EXPECT_EQ(Typed(Prompt(), "y\n"), agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_EQ(Typed(Prompt(), "  always \r\n"), agent::v1::DECISION_ALLOW_ALWAYS);
  EXPECT_EQ(Typed(Prompt(), "n\n"), agent::v1::DECISION_DENY);
  for (const char* line :
       {"", "\n", "Y\n", "yy\n", "y n\n", "yes please\n", "\x1b[Ay\n", "approve\n", "v\ny\n"}) {
    EXPECT_FALSE(Typed(Prompt(), line)) << line;
  }
}

TEST(ApprovalPromptTest, GrantsAreForTheCallOrTheSessionAndNeverAlways) {
  agent::v1::PermissionRequested request = Request();
  request.mutable_grants()->add_grants()->set_key(supervisor::v1::GRANT_KEY_EXECUTABLE);
  const auto type = [&](std::string_view line, bool needs_word = false) {
    ApprovalPrompt prompt(request, {24, 80}, needs_word, false);
    prompt.Begin();
    return prompt.Type(line);
  };
  ApprovalPrompt::Step step = type("y\n");
  ASSERT_TRUE(step.answer);
  EXPECT_EQ(step.answer->grant_scope, agent::v1::GRANT_SCOPE_UNSPECIFIED) << "this call";
  step = type("s\n");
  ASSERT_TRUE(step.answer);
  EXPECT_EQ(step.answer->decision, agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_EQ(step.answer->grant_scope, agent::v1::GRANT_SCOPE_SESSION);
  step = type("a\n");
  EXPECT_FALSE(step.answer);
  EXPECT_NE(step.text.find("type y for this call, or s for the session"), std::string::npos);
  EXPECT_FALSE(type("s\n", true).answer) << "a word is needed";
  EXPECT_TRUE(type("approve\n", true).answer);
  EXPECT_FALSE(Typed(Prompt(), "s\n")) << "of a request without grants";
  ApprovalPrompt prompt(request, {24, 80}, false, false);
  EXPECT_NE(prompt.PromptText().find("y this call, s session"), std::string::npos);
}

TEST(ApprovalPromptTest, ADestinationIsForTheTurnOrTheSession) {
  agent::v1::PermissionRequested request = Request();
  request.set_rule("Network(*.example.com)");
  request.clear_scope();
  request.mutable_grants()->add_grants()->set_key(supervisor::v1::GRANT_KEY_NETWORK_ENDPOINT);
  ApprovalPrompt prompt(request, {24, 80}, false, false);
  prompt.Begin();
  EXPECT_NE(prompt.PromptText().find("y this turn, s session"), std::string::npos);
  EXPECT_NE(prompt.Type("a\n").text.find("type y for this turn"), std::string::npos);
  EXPECT_NE(prompt.Type("?\n").text.find("until this turn ends"), std::string::npos);
  const ApprovalPrompt::Step once = prompt.Type("y\n");
  ASSERT_TRUE(once.answer);
  EXPECT_EQ(once.answer->grant_scope, agent::v1::GRANT_SCOPE_UNSPECIFIED);
}

TEST(ApprovalPromptTest, ADenialTakesANote) {
  ApprovalPrompt prompt = Prompt();
  const ApprovalPrompt::Step step = prompt.Type("n  use the mirror instead \n");
  ASSERT_TRUE(step.answer);
  EXPECT_EQ(step.answer->decision, agent::v1::DECISION_DENY);
  EXPECT_EQ(step.answer->note, "use the mirror instead");
}

TEST(ApprovalPromptTest, AYesCountsOnlyOnceEverythingWasShown) {
  ApprovalPrompt prompt(Request(50), {24, 80}, false, false);
  std::string shown = prompt.Begin();
  EXPECT_EQ(shown.find("line50"), std::string::npos);
  EXPECT_NE(shown.find("more lines; v to view\n"), std::string::npos) << shown;
  int pages = 1;
  while (shown.find("always means") == std::string::npos) {
    for (const char* yes : {"y\n", "a\n"}) {
      const ApprovalPrompt::Step refused = prompt.Type(yes);
      EXPECT_FALSE(refused.answer) << "after page " << pages;
      EXPECT_NE(refused.text.find("not shown yet"), std::string::npos);
    }
    ASSERT_LT(++pages, 10);
    shown += prompt.Type("v\n").text;
  }
  for (int i = 1; i <= 50; ++i) {
    EXPECT_NE(shown.find("line" + std::to_string(i) + "\n"), std::string::npos) << i;
  }
  EXPECT_TRUE(prompt.Type("y\n").answer);
}

TEST(ApprovalPromptTest, ANoCountsAtOnce) {
  EXPECT_EQ(Typed(Prompt(500), "n\n"), agent::v1::DECISION_DENY);
}

TEST(ApprovalPromptTest, ALineWiderThanTheScreenTakesSeveral) {
  EXPECT_EQ(WrapLines("abc\n\nd", 20), (std::vector<std::string>{"abc", "", "d"}));
  const std::string x(20, 'x');
  EXPECT_EQ(WrapLines(x + x + "y\n", 20), (std::vector<std::string>{x, x, "y"}));
  EXPECT_EQ(WrapLines("\x1b[1m" + x + "\x1b[0m\n", 20).size(), 1u) << "colours take no room";
  EXPECT_EQ(WrapLines("世世世世世世世世世世世\n", 20).size(), 2u) << "wide characters";
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_arguments_json("{\"command\":\"" + std::string(10'000, 'x') + " evil\"}");
  ApprovalPrompt prompt(request, {24, 80}, false, false);
  EXPECT_EQ(prompt.Begin().find("evil"), std::string::npos);
  EXPECT_FALSE(prompt.Type("y\n").answer);
}

TEST(ApprovalPromptTest, HelpExplainsTheKeysAndTheScope) {
  ApprovalPrompt prompt = Prompt();
  const ApprovalPrompt::Step step = prompt.Type("?\n");
  EXPECT_FALSE(step.answer);
  EXPECT_NE(step.text.find("Bash(curl:*): curl"), std::string::npos) << step.text;
}

TEST(ApprovalPromptTest, WhereAWordIsNeededNothingElseAllows) {
  for (const char* line : {"y\n", "a\n", "always\n", "yes\n"}) {
    EXPECT_FALSE(Typed(Prompt(1, true), line)) << line;
  }
  EXPECT_EQ(Typed(Prompt(1, true), "approve\n"), agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_FALSE(Typed(Prompt(500, true), "approve\n")) << "not all of it was shown";
  EXPECT_EQ(Typed(Prompt(1, true), "n\n"), agent::v1::DECISION_DENY);
}

TEST(AllowPaceTest, ThreeOfOneToolInAMinuteNeedAWord) {
  AllowPace pace;
  for (const uint64_t at : {0, 1000, 2000}) {
    EXPECT_FALSE(pace.NeedsWord("Bash", at));
    pace.CountAllow("Bash", at);
  }
  EXPECT_TRUE(pace.NeedsWord("Bash", 59'999));
  EXPECT_FALSE(pace.NeedsWord("Write", 59'999));
  EXPECT_FALSE(pace.NeedsWord("Bash", 60'000)) << "the first is a minute ago";
}

TEST(ApproveModeTest, WithoutATerminalAskingFailsClosed) {
  EXPECT_EQ(AnswerWithoutAsking(ApproveMode::kAsk, false, Request())->answer.decision,
            agent::v1::DECISION_DENY);
  EXPECT_FALSE(AnswerWithoutAsking(ApproveMode::kAsk, true, Request()));
}

TEST(ApproveModeTest, OptionAnswersWithAndWithoutATerminal) {
  for (const bool terminal : {false, true}) {
    // Once, so that the session is not left more open than this run asked for.
    EXPECT_EQ(AnswerWithoutAsking(ApproveMode::kAll, terminal, Request())->answer.decision,
              agent::v1::DECISION_ALLOW_ONCE);
    EXPECT_EQ(AnswerWithoutAsking(ApproveMode::kDeny, terminal, Request())->answer.decision,
              agent::v1::DECISION_DENY);
    const auto strict = AnswerWithoutAsking(ApproveMode::kStrict, terminal, Request());
    EXPECT_EQ(strict->answer.decision, agent::v1::DECISION_DENY);
    EXPECT_EQ(strict->answer.note, "strict mode: Bash(curl:*) requires approval");
  }
}

TEST(ApproveModeTest, HasTheNamesOfLlmDo) {
  EXPECT_EQ(ApproveModeOf("interactive"), ApproveMode::kAsk);
  EXPECT_EQ(ApproveModeOf("approve_all"), ApproveMode::kAll);
  EXPECT_EQ(ApproveModeOf("strict"), ApproveMode::kStrict);
  EXPECT_EQ(ApproveModeOf(""), ApproveMode::kAsk);
}

}  // namespace
}  // namespace odyssey::ctl
