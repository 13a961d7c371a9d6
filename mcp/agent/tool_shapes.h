#ifndef ODYSSEY_MCP_AGENT_TOOL_SHAPES_H_
#define ODYSSEY_MCP_AGENT_TOOL_SHAPES_H_

// A session's tools, calls and questions as the Model Context Protocol has them. Pure.

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/event.pb.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::mcp {

// The argument that every tool has: in which session it works.
inline constexpr char kSessionArgument[] = "session";

Json ToolOf(const agent::v1::Tool& tool);
// Adds kSessionArgument to a schema of arguments.
void AddSessionArgument(Json* schema);

// What tools/call asks for. INVALID_ARGUMENT: params are none of it.
struct ToolRequest {
  std::string name;
  Json arguments;       // without kSessionArgument
  std::string session;  // empty: the client's own
};
Result<ToolRequest> ReadToolRequest(const Json& params);
// The prompt of a turn of the provider "direct".
std::string DirectPrompt(const ToolRequest& request);

// The result of tools/call: the tool's result as structure and as text.
Json ResultOf(const agent::v1::ToolCallFinished& finished);
Json Success(const Json& structure);
// Of a call that came to no result.
Json Failure(const std::string& why);

// The parameters of elicitation/create, and the answer to it, with the digest of what was shown.
// What is no acceptance denies.
Json ElicitationOf(const agent::v1::PermissionRequested& request);
agent::v1::ResolveApprovalRequest AnswerOf(const agent::v1::PermissionRequested& request,
                                           const Json& elicited);

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_AGENT_TOOL_SHAPES_H_
