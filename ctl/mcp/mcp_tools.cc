#include "ctl/mcp/mcp_tools.h"

#include <utility>

#include "ctl/base/sanitize.h"
#include "ctl/view/approval_view.h"
#include "policy/model/tool_table.h"

namespace odyssey::ctl {
namespace {

// The words of an answer, each with its decision.
constexpr char kOnce[] = "allow once";
constexpr char kAlways[] = "always allow in this session";
constexpr char kSession[] = "allow, with its additions for this session";
constexpr char kDeny[] = "deny";

Json ParseObject(const std::string& json) {
  Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  return value.is_object() ? value : Json::object();
}

// Hints, which a client must not trust for safety; the rules decide.
Json AnnotationsOf(const std::string& name) {
  const policy::ToolRow* row = policy::FindTool(name);
  const auto kind = row == nullptr ? policy::ToolKind::kCommand : row->kind;
  const bool reads = kind == policy::ToolKind::kReadsFile || kind == policy::ToolKind::kSearches ||
                     kind == policy::ToolKind::kSkill;
  return {{"readOnlyHint", reads},
          {"destructiveHint", !reads},
          {"openWorldHint", kind == policy::ToolKind::kCommand}};
}

Json TextBlocks(const std::string& text) {
  return Json::array({{{"type", "text"}, {"text", text}}});
}

}  // namespace

std::string ChooseMcpVersion(const std::string& asked) {
  for (const char* version : kMcpVersions) {
    if (asked == version) return asked;
  }
  return kMcpVersions[0];
}

Json McpTool(const agent::v1::Tool& tool) {
  return {{"name", tool.name()},
          {"description", tool.description()},
          {"inputSchema", ParseObject(tool.input_schema())},
          {"outputSchema", ParseObject(tool.output_schema())},
          {"annotations", AnnotationsOf(tool.name())}};
}

Result<std::string> DirectPrompt(const Json& params) {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string()) {
    return InvalidArgument("name: expected a string");
  }
  const Json arguments = params.value("arguments", Json::object());
  if (!arguments.is_object()) return InvalidArgument("arguments: expected an object");
  return Json{{"tool", *name}, {"arguments", arguments}}.dump();
}

Json McpResult(const agent::v1::ToolCallFinished& finished) {
  const Json result = ParseObject(finished.result_json());
  if (!finished.success()) {
    const auto error = result.find("error");
    const bool words = error != result.end() && error->is_string();
    return McpFailure(words ? error->get<std::string>() : finished.result_json());
  }
  return {{"content", TextBlocks(finished.result_json())},
          {"structuredContent", result},
          {"isError", false}};
}

Json McpFailure(const std::string& why) {
  return {{"content", TextBlocks(why)}, {"isError", true}};
}

Json ElicitationOf(const agent::v1::PermissionRequested& request) {
  Json words = Json::array({kOnce});
  if (request.has_grants()) {
    words.push_back(kSession);
  } else if (!request.scope().empty()) {
    words.push_back(kAlways);
  }
  words.push_back(kDeny);
  return {
      {"message", FormatApproval(request, Extent::kWhole, /*color=*/false)},
      {"requestedSchema",
       {{"type", "object"},
        {"properties",
         {{"decision", {{"type", "string"}, {"title", "Decision"}, {"enum", std::move(words)}}}}},
        {"required", Json::array({"decision"})}}}};
}

Answered ElicitedAnswer(const agent::v1::PermissionRequested& request,
                        const RpcResponse& response) {
  const Answered denied = {.decision = agent::v1::DECISION_DENY};
  if (response.error || !response.result.is_object()) return denied;
  if (response.result.value("action", Json()) != "accept") return denied;
  const Json content = response.result.value("content", Json());
  const Json decision = content.is_object() ? content.value("decision", Json()) : Json();
  if (decision == kOnce) return {.decision = agent::v1::DECISION_ALLOW_ONCE};
  if (decision == kSession && request.has_grants()) {
    return {.decision = agent::v1::DECISION_ALLOW_ONCE,
            .grant_scope = agent::v1::GRANT_SCOPE_SESSION};
  }
  if (decision == kAlways && !request.has_grants() && !request.scope().empty()) {
    return {.decision = agent::v1::DECISION_ALLOW_ALWAYS};
  }
  return denied;
}

}  // namespace odyssey::ctl
