#ifndef ODYSSEY_AGENTD_MCP_CLIENT_SERVERS_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_SERVERS_H_

// The servers of all sessions: each has its own. Thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentd/mcp_client/server.h"
#include "agentd/sandbox/sandbox.h"
#include "policy/dialect/mcp_server.h"

namespace odyssey::mcp_client {

class Servers final {
 public:
  // Borrowed.
  explicit Servers(sandbox::Sandbox* sandbox) : sandbox_(sandbox) {}

  // Those of the session, in the order of the specs. What its bundle names does not change.
  std::vector<ServerPtr> Of(const std::string& session_id,
                            const std::vector<dialect::McpServerSpec>& specs);

  // How many processes of them run in the cell.
  uint32_t CountIn(const std::string& session_id, const std::string& cell_id) const;

  // Ends the session's processes, and keeps what was seen of their tools. They are started again
  // when they are needed.
  void EndProcesses(const std::string& session_id);
  // The session is deleted.
  void Forget(const std::string& session_id);
  // EndProcesses of all. No session has servers afterwards.
  void Stop();

 private:
  std::vector<ServerPtr> Known(const std::string& session_id) const;

  sandbox::Sandbox* const sandbox_;
  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  std::map<std::string, std::vector<ServerPtr>> sessions_;
  bool stopped_ = false;
};

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_SERVERS_H_
