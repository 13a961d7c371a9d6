#ifndef ODYSSEY_MCP_AGENT_OWN_TOOLS_H_
#define ODYSSEY_MCP_AGENT_OWN_TOOLS_H_

// The tools that a client has beside those of the bundle: what waits for a commit, what was or
// would be refused, and sessions. None of them runs in a cell.

#include <memory>
#include <string>
#include <vector>

#include "mcp/agent/agent_scope.h"

namespace odyssey::mcp {

class OwnTools final {
 public:
  static std::vector<Json> List();
  static bool Has(const std::string& name);
  static void Start(AgentScope* scope, const std::shared_ptr<Call>& call, ToolRequest tool);

 private:
  class Run;
  struct Row;
  static const std::vector<Row>& Table();
  static const Row* Find(const std::string& name);
};

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_AGENT_OWN_TOOLS_H_
