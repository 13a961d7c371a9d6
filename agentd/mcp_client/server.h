#ifndef ODYSSEY_AGENTD_MCP_CLIENT_SERVER_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_SERVER_H_

// One server of one session. Thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agentd/mcp_client/connection.h"
#include "agentd/mcp_client/tool_list.h"
#include "agentd/sandbox/sandbox.h"
#include "policy/dialect/mcp_server.h"

namespace odyssey::mcp_client {

// The programs of the host that reach such a server, beside its own command.
std::vector<std::string> ProgramsFor(const dialect::McpServerSpec& server);

// The cell that the server is used in now.
struct Place {
  std::string cell_id;
  uint32_t wall_clock_ms = 0;  // of a server's process, if the cell's policy has no bound; 0: none
};

// kKnown: what was listed before, unless the server has said that it is no more so. kLatest: of a
// URL what it lists now, and where there was a problem, once more.
enum class Freshness { kKnown, kLatest };

class Server final {
 public:
  // `sandbox` is borrowed.
  Server(sandbox::Sandbox* sandbox, dialect::McpServerSpec spec);

  // Has its tools listed, and starts it for that where it was not listed before. The error is that
  // of Exchange, and the server has no tools then.
  Status List(const Place& place, Freshness freshness, std::stop_token stop);

  // Calls the tool, unless the server's is not the one that was judged: FAILED_PRECONDITION.
  Exchange CallTool(const ToolDefinition& judged, const Json& arguments, const Place& place,
                    std::stop_token stop);

  // As they were listed last.
  std::vector<ToolDefinition> tools() const;
  std::vector<RefusedTool> refused() const;
  Status problem() const;  // why there are none

  // The tool of this name as the session has seen it first, if this one is another.
  std::optional<ToolDefinition> FirstSeen(const ToolDefinition& tool) const;

  // Whether a process of it runs in the cell.
  bool RunsIn(const std::string& cell_id) const;
  // Ends its process. The next call starts it again.
  void End();

  const dialect::McpServerSpec& spec() const { return spec_; }

 private:
  Exchange Connect(const Place& place, const CallTerms& terms);
  Exchange Initialize(const CallTerms& terms);
  Exchange ListAll(const CallTerms& terms);
  std::shared_ptr<Connection> Open(const Place& place) const;
  // With `starting_` held. `again`: lists the tools whatever is known of them.
  Exchange Ready(const Place& place, bool again, const CallTerms& terms);
  std::shared_ptr<Connection> connection() const;
  CallTerms TermsOf(std::stop_token stop) const;

  sandbox::Sandbox* const sandbox_;
  const dialect::McpServerSpec spec_;

  std::mutex starting_;  // held while it is started and listed; taken before mutex_
  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  std::shared_ptr<Connection> connection_;
  std::string cell_id_;  // of the connection
  bool listed_ = false;  // by the connection, which may have ended since
  std::vector<ToolDefinition> tools_;
  std::vector<RefusedTool> refused_;
  Status problem_;
  std::map<std::string, ToolDefinition> first_;  // by name
};

using ServerPtr = std::shared_ptr<Server>;

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_SERVER_H_
