#include "agentd/service/mcp_server_service.h"

#include "agentd/service/session_access.h"
#include "common/message/message_utf8.h"
#include "common/rpc/status_map.h"

namespace odyssey::service {
namespace {

namespace pb = agent::v1;

pb::McpServer ToProto(const mcp_client::Server& server) {
  pb::McpServer out;
  out.set_name(server.spec().name);
  out.set_problem(server.problem().message());
  for (const mcp_client::ToolDefinition& tool : server.tools()) {
    pb::McpTool& added = *out.add_tools();
    added.set_name(tool.name);
    added.set_offered_name(tool.offered_name);
    added.set_description(tool.description);
    added.set_input_schema(tool.input_schema);
    added.set_digest(tool.digest);
    added.set_pinned(tool.pinned);
    added.set_changed(server.FirstSeen(tool).has_value());
  }
  for (const mcp_client::RefusedTool& tool : server.refused()) {
    pb::McpTool& added = *out.add_tools();
    added.set_name(tool.name);
    added.set_digest(tool.digest);
    added.set_refused(tool.why);
  }
  message::SanitizeStrings(&out);
  return out;
}

}  // namespace

grpc::Status McpServerService::ListMcpServers(grpc::ServerContext* context,
                                              const pb::ListMcpServersRequest* request,
                                              pb::ListMcpServersResponse* response) {
  const Status may = CheckCaller(*sessions_, request->session_id(), *context);
  if (!may.ok()) return rpc::ToGrpc(may);
  const auto servers = sessions_->ListServers(request->session_id());
  if (!servers.ok()) return rpc::ToGrpc(servers.status());
  for (const mcp_client::ServerPtr& server : *servers) *response->add_servers() = ToProto(*server);
  return grpc::Status::OK;
}

}  // namespace odyssey::service
