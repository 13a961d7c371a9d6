#include "mcp/agent/tool_shapes.h"

#include <utility>

#include "ctl/view/approval_view.h"
#include "policy/model/tool_table.h"

namespace odyssey::mcp {
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

Json ToolOf(const agent::v1::Tool& tool) {
  Json input = ParseObject(tool.input_schema());
  AddSessionArgument(&input);
  return {{"name", tool.name()},
          {"description", tool.description()},
          {"inputSchema", std::move(input)},
          {"outputSchema", ParseObject(tool.output_schema())},
          {"annotations", AnnotationsOf(tool.name())}};
}

void AddSessionArgument(Json* schema) {
  (*schema)["properties"][kSessionArgument] = {
      {"type", "string"},
      {"description", "a session of session_open or session_list; without it, this client's own"}};
}

Result<ToolRequest> ReadToolRequest(const Json& params) {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string()) {
    return InvalidArgument("name: expected a string");
  }
  ToolRequest out = {name->get<std::string>(), params.value("arguments", Json::object()), ""};
  if (!out.arguments.is_object()) return InvalidArgument("arguments: expected an object");
  if (const auto session = out.arguments.find(kSessionArgument); session != out.arguments.end()) {
    if (!session->is_string()) return InvalidArgument("arguments.session: expected a string");
    out.session = session->get<std::string>();
    out.arguments.erase(session);
  }
  return out;
}

std::string DirectPrompt(const ToolRequest& request) {
  return Json{{"tool", request.name}, {"arguments", request.arguments}}.dump(
      -1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json ResultOf(const agent::v1::ToolCallFinished& finished) {
  const Json result = ParseObject(finished.result_json());
  if (!finished.success()) {
    const auto error = result.find("error");
    const bool words = error != result.end() && error->is_string();
    return Failure(words ? error->get<std::string>() : finished.result_json());
  }
  return {{"content", TextBlocks(finished.result_json())},
          {"structuredContent", result},
          {"isError", false}};
}

Json Success(const Json& structure) {
  return {{"content", TextBlocks(structure.dump(-1, ' ', /*ensure_ascii=*/false,
                                                Json::error_handler_t::replace))},
          {"structuredContent", structure},
          {"isError", false}};
}

Json Failure(const std::string& why) { return {{"content", TextBlocks(why)}, {"isError", true}}; }

Json ElicitationOf(const agent::v1::PermissionRequested& request) {
  Json words = Json::array({kOnce});
  if (request.has_grants()) {
    words.push_back(kSession);
  } else if (!request.scope().empty()) {
    words.push_back(kAlways);
  }
  words.push_back(kDeny);
  return {
      {"message", ctl::FormatApproval(request, ctl::Extent::kWhole, /*color=*/false)},
      {"requestedSchema",
       {{"type", "object"},
        {"properties",
         {{"decision", {{"type", "string"}, {"title", "Decision"}, {"enum", std::move(words)}}}}},
        {"required", Json::array({"decision"})}}}};
}

agent::v1::ResolveApprovalRequest AnswerOf(const agent::v1::PermissionRequested& request,
                                           const Json& elicited) {
  agent::v1::ResolveApprovalRequest out;
  out.set_request_id(request.request_id());
  out.set_digest(request.digest());
  out.set_decision(agent::v1::DECISION_DENY);
  if (!elicited.is_object() || elicited.value("action", Json()) != "accept") return out;
  const Json content = elicited.value("content", Json());
  const Json decision = content.is_object() ? content.value("decision", Json()) : Json();
  if (decision == kOnce) {
    out.set_decision(agent::v1::DECISION_ALLOW_ONCE);
  } else if (decision == kSession && request.has_grants()) {
    out.set_decision(agent::v1::DECISION_ALLOW_ONCE);
    out.set_grant_scope(agent::v1::GRANT_SCOPE_SESSION);
  } else if (decision == kAlways && !request.has_grants() && !request.scope().empty()) {
    out.set_decision(agent::v1::DECISION_ALLOW_ALWAYS);
  }
  return out;
}

}  // namespace odyssey::mcp
