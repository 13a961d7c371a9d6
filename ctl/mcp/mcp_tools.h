#ifndef ODYSSEY_CTL_MCP_MCP_TOOLS_H_
#define ODYSSEY_CTL_MCP_MCP_TOOLS_H_

// A session's tools, calls and questions as the Model Context Protocol has them. Pure.

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "ctl/approval/approval_prompt.h"
#include "odyssey/agent/v1/event.pb.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::ctl {

// The newest first: what a client is answered that asks for one that is not here.
inline constexpr const char* kMcpVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                               "2024-11-05"};
// Of a version, or of the newest.
std::string ChooseMcpVersion(const std::string& asked);

Json McpTool(const agent::v1::Tool& tool);

// The prompt of a turn of the provider "direct". INVALID_ARGUMENT: params are none of tools/call.
Result<std::string> DirectPrompt(const Json& params);

// The result of tools/call: the tool's result as structure and as text.
Json McpResult(const agent::v1::ToolCallFinished& finished);
// Of a call that came to no result.
Json McpFailure(const std::string& why);

// The parameters of elicitation/create, and the answer to it. What is no acceptance denies.
Json ElicitationOf(const agent::v1::PermissionRequested& request);
Answered ElicitedAnswer(const agent::v1::PermissionRequested& request, const RpcResponse& response);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_MCP_MCP_TOOLS_H_
