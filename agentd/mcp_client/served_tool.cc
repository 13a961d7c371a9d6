#include "agentd/mcp_client/served_tool.h"

#include <utility>

#include "agentd/event/command_events.h"
#include "agentd/mcp_client/call_result.h"
#include "agentd/tool/refused_destinations.h"
#include "agentd/tool/tool_result.h"
#include "common/base/utf8.h"
#include "common/diff/diff.h"

namespace odyssey::mcp_client {
namespace {

constexpr size_t kMaxPreviewBytes = 64 * 1024;
constexpr size_t kShownText = 300;

Result<Json> ParseArguments(const std::string& arguments_json) {
  Json arguments = Json::parse(arguments_json, nullptr, /*allow_exceptions=*/false);
  if (!arguments.is_object()) return InvalidArgument("expected an object");
  return arguments;
}

}  // namespace

ServedTool::ServedTool(std::shared_ptr<Server> server, ToolDefinition definition,
                       uint32_t wall_clock_ms)
    : server_(std::move(server)),
      definition_(std::move(definition)),
      wall_clock_ms_(wall_clock_ms) {}

model::ToolSpec ServedTool::Spec() const {
  return {definition_.offered_name, definition_.description, definition_.input_schema};
}

Result<rules::ToolCall> ServedTool::ForRules(const std::string& arguments_json) const {
  ODY_RETURN_IF_ERROR(ParseArguments(arguments_json).status());
  return rules::ToolCall{definition_.offered_name, "", {}, ""};
}

std::string ServedTool::Preview(const std::string&, const tools::ToolContext&) const {
  const std::optional<ToolDefinition> first = server_->FirstSeen(definition_);
  if (!first) return "";
  const std::string before = DefinitionText(*first), now = DefinitionText(definition_);
  std::string out = "--- " + definition_.offered_name + " " + first->digest + "\n+++ " +
                    definition_.offered_name + " " + definition_.digest + "\n";
  for (const diff::Hunk& hunk : diff::Compare(before, now)) out += diff::Format(hunk);
  if (out.size() <= kMaxPreviewBytes) return out;
  out.resize(out.rfind('\n', kMaxPreviewBytes) + 1);
  return out + "\\ more of the definition differs\n";
}

Result<tools::ToolResult> ServedTool::Run(const std::string& arguments_json,
                                          tools::ToolContext& context) const {
  ODY_ASSIGN_OR_RETURN(const Json arguments, ParseArguments(arguments_json));
  const Exchange called =
      server_->CallTool(definition_, arguments, {context.cell_id, wall_clock_ms_}, context.stop);
  for (const auto& denial : called.denials) {
    ODY_RETURN_IF_ERROR(
        context.emit(event::AccessIsDenied(context.turn_id, context.tool_call_id, denial)));
  }
  for (const auto& decision : called.decisions) {
    ODY_RETURN_IF_ERROR(
        context.emit(event::EgressIsDecided(context.turn_id, context.tool_call_id, decision)));
  }
  tools::ToolResult out;
  if (tools::EndsTurn(called.status)) return called.status;
  if (!called.status.ok()) {
    out = tools::Failure(called.status);
  } else if (called.error) {
    out = tools::Failure(
        {Code::kAborted, "MCP server " + definition_.server + ": " +
                             SanitizeUtf8(called.error->message.substr(0, kShownText))});
  } else {
    out = ToToolResult(called.result, context.output_cap_bytes);
  }
  supervisor::v1::ExecOutcome ended;
  ended.mutable_egress()->Assign(called.decisions.begin(), called.decisions.end());
  out.refused = tools::RefusedDestinations(ended);
  return out;
}

}  // namespace odyssey::mcp_client
