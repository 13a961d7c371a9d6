// What an MCP server answers, as its tools, as the result of a call, and as what curl prints of it:
// no bytes break a bound or make a name that a model cannot call, and a digest is that of its
// parts.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agentd/mcp_client/call_result.h"
#include "agentd/mcp_client/http_answer.h"
#include "agentd/mcp_client/tool_list.h"
#include "common/base/status.h"
#include "common/base/utf8.h"

namespace odyssey {
namespace {

void List(const Json& result) {
  dialect::McpServerSpec spec;
  spec.name = "s";
  spec.command = {"server"};
  mcp_client::ToolList list(spec);
  if (!list.AddPage(result).ok()) return;
  ODY_CHECK(list.tools().size() <= mcp_client::kMaxTools);
  for (const mcp_client::ToolDefinition& tool : list.tools()) {
    ODY_CHECK(tool.offered_name == mcp_client::OfferedName("s", tool.name));
    ODY_CHECK(tool.offered_name.size() <= mcp_client::kMaxToolName);
    ODY_CHECK(tool.digest == mcp_client::DigestOf(spec, tool));
  }
}

void Call(const Json& result) {
  const tools::ToolResult shown = mcp_client::ToToolResult(result, 1000);
  ODY_CHECK(Json::accept(shown.json) && IsValidUtf8(shown.json));
}

void Read(std::string_view bytes, size_t piece) {
  mcp_client::HttpBody body;
  const mcp_client::HttpBody::Sink sink = [](const std::string& text) {
    const RpcMessage message = ParseRpcMessage(text);
    if (const auto* response = std::get_if<RpcResponse>(&message)) {
      List(response->result);
      Call(response->result);
    }
    return OkStatus();
  };
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!body.Push(bytes.substr(at, piece), sink).ok()) return;
  }
  (void)body.Finish(sink);
}

void ReadLog(std::string_view bytes) {
  const mcp_client::HttpFacts facts = mcp_client::ReadFacts(bytes);
  ODY_CHECK(IsValidUtf8(facts.complaint));
  ODY_CHECK(facts.session_id.find_first_of(" \r\n") == std::string::npos);
}

}  // namespace
}  // namespace odyssey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = size_t{1} + data[0];
  odyssey::Read(bytes, piece);
  odyssey::ReadLog(bytes);
  return 0;
}
