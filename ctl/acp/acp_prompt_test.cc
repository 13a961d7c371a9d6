#include "ctl/acp/acp_prompt.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

Json Parse(const char* text) { return Json::parse(text); }

TEST(AcpPromptTest, JoinsBlocksAndPutsWhatIsEmbeddedLast) {
  const Result<std::string> prompt = PromptText(Parse(R"([
      {"type":"text","text":"look at "},
      {"type":"resource_link","uri":"file:///p/a.c","name":"a.c"},
      {"type":"text","text":" and "},
      {"type":"resource","resource":{"uri":"file:///p/b.c","text":"int b;"}},
      {"type":"text","text":", please"}])"));
  ASSERT_TRUE(prompt.ok()) << prompt.status().message();
  EXPECT_EQ(*prompt, "look at file:///p/a.c and file:///p/b.c, please\n\nfile:///p/b.c:\nint b;");
}

TEST(AcpPromptTest, NamesTheBlockThatItCannotTake) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"("text")", "prompt: expected a list of content blocks"},
      {R"([])", "prompt: expected a text"},
      {R"([{"type":"text","text":"x"},{"type":"image","data":"","mimeType":"image/png"}])",
       "prompt[1].type \"image\": expected text, resource_link or resource"},
      {R"([7])", "prompt[0].type \"\": expected text, resource_link or resource"},
      {R"([{"type":"resource","resource":{"uri":"u","blob":"AA=="}}])",
       "prompt[0].resource: expected one with a text"}};
  for (const auto& [blocks, why] : kCases) {
    EXPECT_EQ(PromptText(Parse(blocks)).status().message(), why);
  }
}

agent::v1::Decision Decide(const agent::v1::PermissionRequested& request, const char* result) {
  return AnswerOf(request, RpcResponse{"x", Parse(result), std::nullopt}).decision;
}

TEST(AcpPromptTest, OnlyAnOptionThatWasOfferedAllows) {
  agent::v1::PermissionRequested request;
  request.set_scope("Bash(ls:*)");
  const auto selected = [](const char* option) {
    return std::string(R"({"outcome":{"outcome":"selected","optionId":")") + option + "\"}}";
  };
  EXPECT_EQ(Decide(request, selected("allow_once").c_str()), agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_EQ(Decide(request, selected("allow_always").c_str()), agent::v1::DECISION_ALLOW_ALWAYS);
  for (const char* option : {"deny", "allow_session", "Allow once", ""}) {
    EXPECT_EQ(Decide(request, selected(option).c_str()), agent::v1::DECISION_DENY) << option;
  }
  for (const char* result :
       {R"({"outcome":{"outcome":"cancelled"}})", "{}", "null", R"({"outcome":"selected"})",
        R"({"outcome":{"outcome":"cancelled","optionId":"allow_once"}})"}) {
    EXPECT_EQ(Decide(request, result), agent::v1::DECISION_DENY) << result;
  }
  RpcResponse failed{"x", Parse(selected("allow_once").c_str()), RpcError{}};
  EXPECT_EQ(AnswerOf(request, failed).decision, agent::v1::DECISION_DENY);
}

TEST(AcpPromptTest, GrantsAreForTheCallOrTheSession) {
  agent::v1::PermissionRequested request;
  request.mutable_grants()->add_grants();
  const Answered session = AnswerOf(
      request,
      RpcResponse{"x", Parse(R"({"outcome":{"outcome":"selected","optionId":"allow_session"}})"),
                  std::nullopt});
  EXPECT_EQ(session.decision, agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_EQ(session.grant_scope, agent::v1::GRANT_SCOPE_SESSION);
  EXPECT_EQ(Decide(request, R"({"outcome":{"outcome":"selected","optionId":"allow_always"}})"),
            agent::v1::DECISION_DENY);
}

}  // namespace
}  // namespace odyssey::ctl
