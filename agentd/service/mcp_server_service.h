#ifndef ODYSSEY_AGENTD_SERVICE_MCP_SERVER_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_MCP_SERVER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include "agentd/session/sessions.h"
#include "odyssey/agent/v1/mcp_server.grpc.pb.h"

namespace odyssey::service {

class McpServerService final : public agent::v1::McpServerService::Service {
 public:
  // `sessions` is borrowed and outlives the service.
  explicit McpServerService(session::Sessions* sessions) : sessions_(sessions) {}

  grpc::Status ListMcpServers(grpc::ServerContext* context,
                              const agent::v1::ListMcpServersRequest* request,
                              agent::v1::ListMcpServersResponse* response) override;

 private:
  session::Sessions* const sessions_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_MCP_SERVER_SERVICE_H_
