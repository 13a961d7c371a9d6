#ifndef ODYSSEY_CTL_ACP_ACP_SERVER_H_
#define ODYSSEY_CTL_ACP_ACP_SERVER_H_

// An agent of the Agent Client Protocol, version 1, for the editor at the other end of stdin and
// stdout: sessions, turns and approvals of agentd. The editor's file system and terminals are not
// used: the agent's work is done in its cell.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ctl/acp/acp_updates.h"
#include "ctl/approval/approval_prompt.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/json_rpc/rpc_stdio.h"
#include "ctl/session/event_feed.h"
#include "ctl/session/turn_canceller.h"

namespace odyssey::ctl {

struct AcpOptions {
  std::string bundle;  // of new sessions, as typed
  ApproveMode approve = ApproveMode::kAsk;
  bool allow_danger = false;
  bool review = false;
};

class AcpServer final {
 public:
  // `signal_fd`: a non-blocking signalfd of SIGINT, SIGTERM and SIGHUP. `console` and `locations`
  // outlive the server.
  AcpServer(const Console& console, const Locations& locations, AcpOptions options, int signal_fd);
  AcpServer(const AcpServer&) = delete;
  AcpServer& operator=(const AcpServer&) = delete;

  // Until stdin ends or a signal comes; then the turns that it started are cancelled.
  void Run();

 private:
  struct Turn {
    Json request_id;  // of session/prompt, which its end answers
    std::string id;
    std::unique_ptr<EventFeed> feed;
    std::map<std::string, agent::v1::PermissionRequested> asked;  // by our request's id
    std::unique_ptr<TurnCanceller> canceller;
  };
  struct Session {
    AcpUpdates updates;
    ApproveMode approve;
    std::unique_ptr<Turn> turn;  // that runs for this client
  };

  void OnRequest(const RpcRequest& request);
  void OnNotification(const RpcNotification& notification);
  void OnResponse(const RpcResponse& response);
  std::optional<RpcAnswer> Dispatch(const RpcRequest& request);

  RpcAnswer Initialize(const Json& params);
  RpcAnswer NewSession(const Json& params);
  RpcAnswer OpenSession(const Json& params, bool replay);
  RpcAnswer ListSessions(const Json& params);
  RpcAnswer DeleteSession(const Json& params);
  RpcAnswer SetMode(const Json& params);
  // Nothing: its turn has begun, whose end is the answer.
  std::optional<RpcAnswer> Prompt(const RpcRequest& request);

  // The session of params.sessionId that this client has opened.
  Session* FindSession(const Json& params, RpcError* error);
  Json Opened(const std::string& id, const std::string& cwd);
  void Replay(const std::string& id);
  void OnItem(const std::string& id, Session* session);
  void OnPermission(const std::string& id, Session* session,
                    const agent::v1::PermissionRequested& request);
  void SendUpdates(const std::string& id, const std::vector<Json>& updates);
  void EndTurn(Session* session, const RpcAnswer& answer);
  void Cancel(const std::string& id, Turn* turn);

  const Console& console_;
  const Locations& locations_;
  const AcpOptions options_;
  const int signal_fd_;
  RpcStdio peer_;
  bool initialized_ = false;
  std::map<std::string, Session> sessions_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACP_ACP_SERVER_H_
