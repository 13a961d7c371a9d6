#ifndef ODYSSEY_POLICY_DIALECT_MCP_SERVER_H_
#define ODYSSEY_POLICY_DIALECT_MCP_SERVER_H_

// The MCP servers that a manifest names under `mcp_servers`: whose tools the bundle's agents may
// have, beside those of the tool table.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/dialect/origin.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect {

inline constexpr size_t kMaxMcpServers = 16;
inline constexpr size_t kMaxMcpServerName = 32;
inline constexpr uint32_t kMcpTimeoutMs = 60'000;  // where the manifest says nothing

// Of one call; a server has either `command` or `url`.
struct McpServerSpec {
  std::string name;                        // [a-z0-9_-]{1,32}
  std::vector<std::string> command;        // a process of the session's cell that speaks on stdio
  std::map<std::string, std::string> env;  // of that process, beside the cell's
  std::string cwd;                         // of that process; "" = the workspace
  std::string url;                         // called by a process of the session's cell
  // Of the requests to `url`. "${NAME}" is a variable of the cell's.
  std::map<std::string, std::string> headers;
  std::vector<std::string> tools;           // as the server names them: only these; empty: all
  std::map<std::string, std::string> pins;  // the digest that a tool must have: "sha256:HEX"
  uint32_t timeout_ms = kMcpTimeoutMs;
  friend bool operator==(const McpServerSpec&, const McpServerSpec&) = default;
};

// Reads `mcp_servers`, a map of servers by name. Notes where each stands, as "mcp_servers.NAME".
std::vector<McpServerSpec> ReadMcpServers(MapReader* map, Origins* origins);

// One piece of a text with references to variables: plain text, or the name in "${NAME}".
struct HeaderPiece {
  bool is_variable = false;
  std::string text;
  friend bool operator==(const HeaderPiece&, const HeaderPiece&) = default;
};
// Of a header's value. INVALID_ARGUMENT: a "${" that begins no "${NAME}".
Result<std::vector<HeaderPiece>> SplitHeader(std::string_view value);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_MCP_SERVER_H_
