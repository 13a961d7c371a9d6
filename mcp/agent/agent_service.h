#ifndef ODYSSEY_MCP_AGENT_AGENT_SERVICE_H_
#define ODYSSEY_MCP_AGENT_AGENT_SERVICE_H_

// The tools of sessions of odyssey-agentd, for clients that have their own model: bundles whose
// provider is "direct". A call is a turn (ADR 0086).

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/upstream/agent_link.h"
#include "mcp/agent/agent_calls.h"
#include "mcp/protocol/request_state.h"
#include "mcp/server/call.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::mcp {

inline constexpr char kDirectProvider[] = "direct";

struct AgentOptions {
  boost::asio::io_context* loop = nullptr;
  upstream::AgentLink* link = nullptr;
  std::string version;  // of the program

  // Makes a session for a caller.
  using OnSession = std::function<void(const Status&, const agent::v1::Session&)>;
  std::function<void(const Caller&, AgentCalls*, OnSession)> create = {};
  // The answer to a request for approval that needs no person; nothing: a person is asked.
  // `asks`: the client can do that.
  std::function<std::optional<agent::v1::ResolveApprovalRequest>(
      const agent::v1::PermissionRequested&, bool asks)>
      decide = {};
  // Its sessions stay when the client has gone; `told` of each.
  bool keep = false;
  std::function<void(const std::string& session_id)> told = {};
};

// By CreateSession, as the caller's bundle, cwd and review say.
void CreateSession(const Caller& caller, AgentCalls* calls, AgentOptions::OnSession on_session);
// Denies where the client cannot ask.
std::optional<agent::v1::ResolveApprovalRequest> DenyWithoutAsking(
    const agent::v1::PermissionRequested& request, bool asks);

class AgentService final : public Service {
 public:
  explicit AgentService(AgentOptions options);
  ~AgentService() override;

  const ServerFacts& facts() const override { return facts_; }
  std::shared_ptr<Scope> NewScope(const Caller& caller) override;

  void WhenClosed(std::function<void()> closed) override;
  // Waits for none of them any more.
  void Abandon() { closing_.clear(); }

 private:
  friend class AgentScope;

  // Removes sessions and cancels turns, whether or not the scope lives on.
  struct Leftovers {
    std::set<std::string> sessions;
    std::set<std::pair<std::string, std::string>> turns;  // a session's id, and the turn's
  };
  void Remove(const std::string& token, const Leftovers& leftovers);
  void OnRemoved(uint64_t key);

  const AgentOptions options_;
  ServerFacts facts_;
  RequestStates states_;
  std::map<uint64_t, std::shared_ptr<AgentCalls>> closing_;
  uint64_t last_closing_ = 0;
  std::function<void()> closed_;
};

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_AGENT_AGENT_SERVICE_H_
