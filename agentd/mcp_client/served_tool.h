#ifndef ODYSSEY_AGENTD_MCP_CLIENT_SERVED_TOOL_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_SERVED_TOOL_H_

// One tool of a server, as the turn that calls it sees it.

#include <memory>
#include <optional>
#include <string>

#include "agentd/mcp_client/server.h"
#include "agentd/tool/tool.h"

namespace odyssey::mcp_client {

class ServedTool final : public tools::Tool {
 public:
  // `wall_clock_ms` as in Place.
  ServedTool(std::shared_ptr<Server> server, ToolDefinition definition, uint32_t wall_clock_ms);

  model::ToolSpec Spec() const override;
  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override;
  // How its definition differs from the one that the session has seen first.
  std::string Preview(const std::string& arguments_json,
                      const tools::ToolContext& context) const override;
  Result<tools::ToolResult> Run(const std::string& arguments_json,
                                tools::ToolContext& context) const override;

  const ToolDefinition& definition() const { return definition_; }
  bool has_changed() const { return server_->FirstSeen(definition_).has_value(); }

 private:
  const std::shared_ptr<Server> server_;
  const ToolDefinition definition_;
  const uint32_t wall_clock_ms_;
};

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_SERVED_TOOL_H_
