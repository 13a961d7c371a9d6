#ifndef ODYSSEY_MCP_AGENT_AGENT_SCOPE_H_
#define ODYSSEY_MCP_AGENT_AGENT_SCOPE_H_

// One client's requests: its session, and the turns that its calls are.

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mcp/agent/agent_calls.h"
#include "mcp/agent/agent_service.h"
#include "mcp/agent/tool_shapes.h"
#include "mcp/server/call.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::mcp {

class AgentScope final : public Scope, public std::enable_shared_from_this<AgentScope> {
 public:
  // `service` outlives it.
  AgentScope(AgentService* service, Caller caller);
  ~AgentScope() override;

  void Open(std::function<void(const Status&)> on_open) override;
  void Handle(std::shared_ptr<Call> call) override;
  void Close() override;

 private:
  friend class OwnTools;
  friend class AgentService;

  // A turn that runs.
  struct Turn {
    std::shared_ptr<Call> call;
    std::string session_id, id;
    ToolRequest tool;
    uint64_t stream = 0;    // the key of its Subscribe
    uint64_t sequence = 0;  // of the last event
    Json progress_token;    // null: none
    uint64_t progress = 0;  // output events that were sent
    std::optional<Json> result;
  };
  using TurnPtr = std::shared_ptr<Turn>;
  using OnId = std::function<void(const Status&, const std::string& session_id)>;

  // The session that a call names, else the scope's own, which is made if there is none.
  void WithSession(const std::string& named, OnId on_id);
  void OnCreated(const Status& status, const agent::v1::Session& session);
  static void Remove(AgentCalls* calls, const std::string& session_id,
                     std::function<void(const Status&)> done);

  void ListTools(const std::shared_ptr<Call>& call);
  void CallTool(const std::shared_ptr<Call>& call);
  void Submit(const TurnPtr& turn);
  void Follow(const TurnPtr& turn);
  void OnEvent(const TurnPtr& turn, const agent::v1::Event& event);
  void OnOutput(const TurnPtr& turn, const agent::v1::ExecCommandOutputDelta& delta);
  void OnPermission(const TurnPtr& turn, const agent::v1::PermissionRequested& request);
  void Resolve(const TurnPtr& turn, const agent::v1::ResolveApprovalRequest& answer);
  void End(const TurnPtr& turn, Json otherwise);
  void CancelTurn(const std::string& session_id, const std::string& turn_id);
  static void CancelTurn(AgentCalls* calls, const std::string& session_id,
                         const std::string& turn_id, std::function<void(const Status&)> done);

  // The stateless era: a turn waits for its client to come back with an answer.
  void Park(const TurnPtr& turn, const agent::v1::PermissionRequested& request);
  void Resume(const std::shared_ptr<Call>& call, ToolRequest tool);
  void AskAgain(const TurnPtr& turn, const std::string& request_id);
  std::string PurposeOf(const ToolRequest& tool) const;
  RequestStates& states() { return service_->states_; }

  AgentService* const service_;
  const AgentOptions& options_;
  const Caller caller_;
  AgentCalls calls_;
  std::string session_id_;        // the own one; empty: there is none yet
  std::vector<OnId> waiting_;     // for the own one; not empty: it is being made
  std::set<std::string> known_;   // sessions of "direct" that calls have named
  std::set<std::string> opened_;  // by session_open
  std::map<const Turn*, TurnPtr> turns_;
  // Turns that are cancelled then, by their id.
  std::map<std::string, std::unique_ptr<boost::asio::steady_timer>> parked_;
};

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_AGENT_AGENT_SCOPE_H_
