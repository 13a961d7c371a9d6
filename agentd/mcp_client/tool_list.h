#ifndef ODYSSEY_AGENTD_MCP_CLIENT_TOOL_LIST_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_TOOL_LIST_H_

// The tools that a server lists, as far as they may be offered. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "policy/dialect/mcp_server.h"

namespace odyssey::mcp_client {

// Of one server, of those that its `tools` names.
inline constexpr size_t kMaxTools = 128;
inline constexpr size_t kMaxDefinitionBytes = 256 * 1024;  // descriptions and schemas together
// Of all tools that it lists, those that are left out too.
inline constexpr size_t kMaxListedTools = 4096;
// What the protocols of the models' providers take.
inline constexpr size_t kMaxToolName = 64;

struct ToolDefinition {
  std::string server;
  std::string name;          // the server's
  std::string offered_name;  // mcp__SERVER__TOOL
  std::string description;
  std::string input_schema;  // JSON text of an object
  std::string digest;        // "sha256:HEX" of the server's command or URL and of all above
  bool pinned = false;       // the manifest names this digest
  friend bool operator==(const ToolDefinition&, const ToolDefinition&) = default;
};

// One that is not offered, and why.
struct RefusedTool {
  std::string name;
  std::string why;
  std::string digest;  // "" = it has none
  friend bool operator==(const RefusedTool&, const RefusedTool&) = default;
};

class ToolList final {
 public:
  explicit ToolList(const dialect::McpServerSpec& server) : server_(&server) {}

  // One answer to tools/list. Returns the cursor of the next page; "" = it is the last.
  // INVALID_ARGUMENT: it is no such answer. RESOURCE_EXHAUSTED: a bound.
  Result<std::string> AddPage(const Json& result);

  const std::vector<ToolDefinition>& tools() const { return tools_; }
  const std::vector<RefusedTool>& refused() const { return refused_; }

 private:
  Status Add(const Json& tool);
  bool IsWanted(const std::string& name) const;

  const dialect::McpServerSpec* server_;
  std::vector<ToolDefinition> tools_;
  std::vector<RefusedTool> refused_;
  size_t listed_ = 0;
  size_t bytes_ = 0;
};

std::string OfferedName(const std::string& server, const std::string& tool);

// Of a definition without its digest.
std::string DigestOf(const dialect::McpServerSpec& server, const ToolDefinition& tool);

// For a person: name, description and schema, one part a line.
std::string DefinitionText(const ToolDefinition& tool);

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_TOOL_LIST_H_
