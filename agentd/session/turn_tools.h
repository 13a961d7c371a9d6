#ifndef ODYSSEY_AGENTD_SESSION_TURN_TOOLS_H_
#define ODYSSEY_AGENTD_SESSION_TURN_TOOLS_H_

// The tools that one turn's model is offered: those of its setup, and those that the MCP servers of
// its bundle list. One thread at a time.

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agentd/mcp_client/served_tool.h"
#include "agentd/session/runtime.h"
#include "agentd/session/turn_setup.h"
#include "agentd/tool/tool.h"
#include "common/base/status.h"

namespace odyssey::session {

class TurnTools final {
 public:
  // `runtime` is borrowed.
  TurnTools(std::string session_id, const Runtime* runtime)
      : session_id_(std::move(session_id)), runtime_(runtime) {}

  // Before everything else: whose rules.
  void Use(std::shared_ptr<const TurnSetup> setup) { setup_ = std::move(setup); }

  // Has the servers' tools listed, in the turn's cell. A server that fails has none, and the turn
  // goes on without them.
  void List(const mcp_client::Place& place, mcp_client::Freshness freshness,
            const std::stop_token& stop);
  bool has_servers() const { return !setup_->bundle->spec.mcp_servers.empty(); }
  // For people: which servers there are, with how many tools, or why without any.
  std::string Note() const;

  // Null: the model is offered none of that name.
  const tools::Tool* Find(const std::string& name) const;
  // Null: it is no server's.
  const mcp_client::ServedTool* FindServed(const std::string& name) const;
  // Why Find returned null, for the model.
  Status WhyMissing(const std::string& name) const;
  // Sorted.
  std::vector<std::string> Names() const;

 private:
  bool IsOffered(const std::string& name) const;
  std::vector<mcp_client::ServerPtr> Servers() const;

  const std::string session_id_;
  const Runtime* const runtime_;
  std::shared_ptr<const TurnSetup> setup_;
  std::map<std::string, std::unique_ptr<mcp_client::ServedTool>> served_;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_TOOLS_H_
