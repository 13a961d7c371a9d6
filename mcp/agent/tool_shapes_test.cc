#include "mcp/agent/tool_shapes.h"

#include <gtest/gtest.h>

namespace odyssey::mcp {
namespace {

Json Parse(const char* text) { return Json::parse(text); }

TEST(ToolShapesTest, AToolHasItsSchemasAndHints) {
  agent::v1::Tool tool;
  tool.set_name("Read");
  tool.set_description("Read a text file");
  tool.set_input_schema(R"({"type":"object"})");
  tool.set_output_schema(R"({"type":"object"})");
  const Json read = ToolOf(tool);
  EXPECT_EQ(read["inputSchema"]["type"], "object");
  EXPECT_EQ(read["inputSchema"]["properties"]["session"]["type"], "string");
  EXPECT_EQ(read["annotations"]["readOnlyHint"], true);
  tool.set_name("Bash");
  EXPECT_EQ(ToolOf(tool)["annotations"]["destructiveHint"], true);
}

TEST(ToolShapesTest, ACallIsAPromptOfTheDirectProvider) {
  const auto prompt = [](const char* params) {
    return DirectPrompt(*ReadToolRequest(Parse(params)));
  };
  EXPECT_EQ(prompt(R"({"name":"LS","arguments":{"path":"."},"_meta":{}})"),
            R"({"tool":"LS","arguments":{"path":"."}})");
  EXPECT_EQ(prompt(R"({"name":"LS"})"), R"({"tool":"LS","arguments":{}})");
  EXPECT_EQ(prompt(R"({"name":"LS","arguments":{"session":"ses_1"}})"),
            R"({"tool":"LS","arguments":{}})");
  const auto error = [](const char* params) {
    return ReadToolRequest(Parse(params)).status().message();
  };
  EXPECT_EQ(error(R"({"arguments":{}})"), "name: expected a string");
  EXPECT_EQ(error(R"({"name":"LS","arguments":"x"})"), "arguments: expected an object");
  EXPECT_EQ(error(R"({"name":"LS","arguments":{"session":1}})"),
            "arguments.session: expected a string");
}

TEST(ToolShapesTest, AResultIsStructureAndTextAnErrorIsText) {
  agent::v1::ToolCallFinished finished;
  finished.set_success(true);
  finished.set_result_json(R"({"status_code":0})");
  EXPECT_EQ(ResultOf(finished), Parse(R"({"content":[{"type":"text","text":"{\"status_code\":0}"}],
                                           "structuredContent":{"status_code":0},"isError":false})"));
  finished.set_success(false);
  finished.set_result_json(R"({"error":"no such file"})");
  EXPECT_EQ(ResultOf(finished),
            Parse(R"({"content":[{"type":"text","text":"no such file"}],"isError":true})"));
}

TEST(ToolShapesTest, OnlyAnAcceptedDecisionThatWasOfferedAllows) {
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_arguments_json(R"({"command":"rm -r x"})");
  request.set_scope("Bash(rm:*): rm");
  const Json asked = ElicitationOf(request);
  EXPECT_NE(asked["message"].get<std::string>().find("rm -r x"), std::string::npos);
  EXPECT_EQ(asked["requestedSchema"]["properties"]["decision"]["enum"],
            Parse(R"(["allow once","always allow in this session","deny"])"));
  const auto decide = [&](const char* result) {
    return AnswerOf(request, Parse(result)).decision();
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
  EXPECT_EQ(AnswerOf(request, Parse(R"({"action":"accept","content":{"decision":
                                     "allow, with its additions for this session"}})"))
                .grant_scope(),
            agent::v1::GRANT_SCOPE_SESSION);
}

}  // namespace
}  // namespace odyssey::mcp
