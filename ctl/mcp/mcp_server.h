#ifndef ODYSSEY_CTL_MCP_MCP_SERVER_H_
#define ODYSSEY_CTL_MCP_MCP_SERVER_H_

// A server of the Model Context Protocol for the client at the other end of stdin and stdout: the
// tools of one session of agentd, whose bundle has the provider "direct". A call is a turn.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ctl/approval/approval_prompt.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/json_rpc/rpc_stdio.h"
#include "ctl/session/event_feed.h"
#include "ctl/session/turn_canceller.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::ctl {

struct McpOptions {
  std::string bundle;  // as typed
  std::string cwd;     // as typed; "": here
  ApproveMode approve = ApproveMode::kAsk;
  bool review = false;
  bool keep = false;  // the session, when the client has gone
};

class McpServer final {
 public:
  // `signal_fd`: a non-blocking signalfd of SIGINT, SIGTERM and SIGHUP. `console` and `locations`
  // outlive the server.
  McpServer(const Console& console, const Locations& locations, McpOptions options, int signal_fd);
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  // Until stdin ends or a signal comes; then the calls that run are cancelled.
  void Run();

 private:
  // A turn that runs.
  struct Call {
    Json request_id;        // of tools/call
    Json progress_token;    // null: none
    uint64_t progress = 0;  // output events that were sent
    std::optional<Json> result;
    bool cancelled = false;  // by the client, which then gets no answer
    std::unique_ptr<TurnCanceller> canceller;
  };

  void OnNotification(const RpcNotification& notification);
  void OnResponse(const RpcResponse& response);
  // Nothing: its turn has begun, whose end is the answer.
  std::optional<RpcAnswer> Dispatch(const RpcRequest& request);

  RpcAnswer Initialize(const Json& params);
  RpcAnswer ListTools();
  std::optional<RpcAnswer> CallTool(const RpcRequest& request);

  // Makes the session if there is none. Nothing: there is one.
  std::optional<RpcError> OpenSession();
  void OnItem();
  void OnEvent(const agent::v1::Event& event);
  void OnOutput(const agent::v1::ExecCommandOutputDelta& delta);
  void OnPermission(const agent::v1::PermissionRequested& request);
  void End(const std::string& turn_id, const Json& otherwise);
  void Cancel(const std::string& turn_id, Call* call);
  void CloseSession();

  const Console& console_;
  const Locations& locations_;
  const McpOptions options_;
  const int signal_fd_;
  RpcStdio peer_;
  bool initialized_ = false;
  bool elicits_ = false;    // the client can ask a person
  std::string session_id_;  // empty: there is none yet
  std::unique_ptr<EventFeed> feed_;
  std::map<std::string, Call> calls_;                            // by turn id
  std::map<std::string, agent::v1::PermissionRequested> asked_;  // by our request's id
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_MCP_MCP_SERVER_H_
