#ifndef ODYSSEY_CTL_MCP_MCP_SERVER_H_
#define ODYSSEY_CTL_MCP_MCP_SERVER_H_

// A server of the Model Context Protocol for the client at the other end of stdin and stdout: the
// tools of one session of agentd.

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <string>

#include "common/upstream/agent_link.h"
#include "ctl/approval/approval_prompt.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/json_rpc/rpc_stdio.h"
#include "mcp/agent/agent_service.h"
#include "mcp/server/peer.h"

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
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  // Until stdin ends or a signal comes; then the calls that run are cancelled.
  void Run();

 private:
  void AwaitInput();
  void ReadInput();
  void AwaitSignal();
  // No further message is read; the loop ends when the sessions are removed.
  void Stop();

  RpcHandlers Handlers();
  std::optional<RpcAnswer> OnRequest(const RpcRequest& request);
  void OnNotification(const RpcNotification& notification);
  void Create(mcp::AgentOptions::OnSession on_session);

  const Console& console_;
  const Locations& locations_;
  const McpOptions options_;
  boost::asio::io_context loop_{1};
  boost::asio::posix::stream_descriptor input_, signals_;
  RpcStdio stdio_;
  upstream::AgentLink link_;
  mcp::AgentService service_;
  std::shared_ptr<mcp::Scope> scope_;
  std::shared_ptr<mcp::Peer> peer_;
  std::map<std::string, std::weak_ptr<mcp::Call>> stateless_;  // by the request's id
  bool stopping_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_MCP_MCP_SERVER_H_
