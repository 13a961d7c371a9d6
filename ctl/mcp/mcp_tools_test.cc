#include "ctl/mcp/mcp_tools.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

Json Parse(const char* text) { return Json::parse(text); }

TEST(McpToolsTest, AnUnknownVersionGetsTheNewest) {
  EXPECT_EQ(ChooseMcpVersion("2025-03-26"), "2025-03-26");
  EXPECT_EQ(ChooseMcpVersion("2031-01-01"), "2025-11-25");
}

TEST(McpToolsTest, AToolHasItsSchemasAndHints) {
  agent::v1::Tool tool;
  tool.set_name("Read");
  tool.set_description("Read a text file");
  tool.set_input_schema(R"({"type":"object"})");
  tool.set_output_schema(R"({"type":"object"})");
  const Json read = McpTool(tool);
  EXPECT_EQ(read["inputSchema"], Parse(R"({"type":"object"})"));
  EXPECT_EQ(read["annotations"]["readOnlyHint"], true);
  tool.set_name("Bash");
  EXPECT_EQ(McpTool(tool)["annotations"]["destructiveHint"], true);
}

TEST(McpToolsTest, ACallIsAPromptOfTheDirectProvider) {
  EXPECT_EQ(*DirectPrompt(Parse(R"({"name":"LS","arguments":{"path":"."},"_meta":{}})")),
            R"({"tool":"LS","arguments":{"path":"."}})");
  EXPECT_EQ(*DirectPrompt(Parse(R"({"name":"LS"})")), R"({"tool":"LS","arguments":{}})");
  EXPECT_EQ(DirectPrompt(Parse(R"({"arguments":{}})")).status().message(),
            "name: expected a string");
  EXPECT_EQ(DirectPrompt(Parse(R"({"name":"LS","arguments":"x"})")).status().message(),
            "arguments: expected an object");
}

TEST(McpToolsTest, AResultIsStructureAndTextAnErrorIsText) {
  agent::v1::ToolCallFinished finished;
  finished.set_success(true);
  finished.set_result_json(R"({"status_code":0})");
  EXPECT_EQ(McpResult(finished), Parse(R"({"content":[{"type":"text","text":"{\"status_code\":0}"}],
                                           "structuredContent":{"status_code":0},"isError":false})"));
  finished.set_success(false);
  finished.set_result_json(R"({"error":"no such file"})");
  EXPECT_EQ(McpResult(finished),
            Parse(R"({"content":[{"type":"text","text":"no such file"}],"isError":true})"));
}

TEST(McpToolsTest, OnlyAnAcceptedDecisionThatWasOfferedAllows) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_arguments_json(R"({"command":"rm -r x"})");
  request.set_scope("Bash(rm:*): rm");
  const Json asked = ElicitationOf(request);
  EXPECT_NE(asked["message"].get<std::string>().find("rm -r x"), std::string::npos);
  EXPECT_EQ(asked["requestedSchema"]["properties"]["decision"]["enum"],
            Parse(R"(["allow once","always allow in this session","deny"])"));
  const auto decide = [&](const char* result) {
    return ElicitedAnswer(request, {"x", Parse(result), std::nullopt}).decision;
  };
  EXPECT_EQ(decide(R"({"action":"accept","content":{"decision":"allow once"}})"),
            agent::v1::DECISION_ALLOW_ONCE);
  EXPECT_EQ(decide(R"({"action":"accept","content":{"decision":"always allow in this session"}})"),
            agent::v1::DECISION_ALLOW_ALWAYS);
  for (
      const char* result :
      {R"({"action":"accept","content":{"decision":"deny"}})",
       R"({"action":"decline","content":{"decision":"allow once"}})", R"({"action":"cancel"})",
       R"({"action":"accept"})", R"({"action":"accept","content":"allow once"})", "{}", "null",
       R"({"action":"accept","content":{"decision":"allow, with its additions for this session"}})"}) {
    EXPECT_EQ(decide(result), agent::v1::DECISION_DENY) << result;
  }
  request.mutable_grants()->add_grants();
  EXPECT_EQ(ElicitedAnswer(request, {"x", Parse(R"({"action":"accept","content":{"decision":
                                      "allow, with its additions for this session"}})"),
                                     std::nullopt})
                .grant_scope,
            agent::v1::GRANT_SCOPE_SESSION);
}

}  // namespace
}  // namespace odyssey::ctl
