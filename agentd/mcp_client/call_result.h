#ifndef ODYSSEY_AGENTD_MCP_CLIENT_CALL_RESULT_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_CALL_RESULT_H_

#include <cstdint>

#include "agentd/tool/tool.h"
#include "common/json_rpc/json_rpc.h"

namespace odyssey::mcp_client {

// Of what ToToolResult makes, as a JSON schema.
inline constexpr char kOutputSchema[] =
    R"({"type":"object","properties":{"content":{"type":"string"},"truncated":{"type":"boolean"},)"
    R"("total_bytes":{"type":"integer"},"structured":{"type":"object"},)"
    R"("omitted":{"type":"array","items":{"type":"object"}},"error":{"type":"string"}}})";

// What the model gets of the answer to tools/call: {content, truncated?, total_bytes?, structured?,
// omitted?}, or {error}. `content` is the text, at most `most_bytes` of it; `structured` is there
// where no text is. What is neither is named in `omitted`. Pure.
tools::ToolResult ToToolResult(const Json& result, uint64_t most_bytes);

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_CALL_RESULT_H_
