// tool list.
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/mcp_server.stub.h"
#include "odyssey/agent/v1/session.stub.h"
#include "policy/model/tool_table.h"

namespace odyssey::ctl {
namespace {

// Its schemas as JSON, not as text of JSON.
Json ToolToJson(const google::protobuf::Message& tool) {
  Json out = message::ToJson(tool);
  for (const char* key : {"input_schema", "output_schema"}) {
    if (!out.contains(key)) continue;
    Json schema = Json::parse(out[key].get<std::string>(), nullptr, false);
    if (!schema.is_discarded()) out[key] = std::move(schema);
  }
  return out;
}

// What a server may say, on one line.
std::string ServedLine(const agent::v1::McpTool& tool) {
  if (!tool.refused().empty()) {
    return "  " + tool.name() + "  refused: " + tool.refused();
  }
  return "  " + tool.offered_name() + "  " + tool.digest() + (tool.pinned() ? "  pinned" : "") +
         (tool.changed() ? "  changed since the session first saw it" : "") + "  " +
         tool.description();
}

void PrintServers(const Console& console, const agent::v1::ListMcpServersResponse& response) {
  for (const agent::v1::McpServer& server : response.servers()) {
    console.PrintLine(Sanitize(
        "MCP server " + server.name() + (server.problem().empty() ? "" : ": " + server.problem()),
        Lines::kOne));
    for (const agent::v1::McpTool& tool : server.tools()) {
      console.PrintLine(Sanitize(ServedLine(tool), Lines::kOne));
    }
  }
}

Json ServersToJson(const agent::v1::ListMcpServersResponse& response) {
  Json out = Json::array();
  for (const agent::v1::McpServer& server : response.servers()) {
    Json tools = Json::array();
    for (const agent::v1::McpTool& tool : server.tools()) tools.push_back(ToolToJson(tool));
    Json added = {{"name", server.name()}, {"tools", std::move(tools)}};
    if (!server.problem().empty()) added["problem"] = server.problem();
    out.push_back(std::move(added));
  }
  return out;
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list tools", client.status()));
  agent::v1::ListToolsRequest request;
  agent::v1::ListMcpServersResponse servers;
  if (const std::string session_id = call.options.Word(0); !session_id.empty()) {
    request.set_session_id(session_id);
    agent::v1::ListMcpServersRequest of;
    of.set_session_id(session_id);
    const Status listed = agent::v1::McpServerServiceStub(client->channel())
                              .ListMcpServers({kCellCallMs}, of, &servers);
    if (!listed.ok()) return console.Fail(client->Explain("list tools", listed));
  }
  const agent::v1::SessionServiceStub stub(client->channel());
  agent::v1::ListToolsResponse response;
  const Status status = stub.ListTools({kCellCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("list tools", status));
  if (console.json) {
    Json list = Json::array();
    for (const agent::v1::Tool& tool : response.tools()) list.push_back(ToolToJson(tool));
    Json out = {{"tools", std::move(list)}};
    if (!servers.servers().empty()) out["mcp_servers"] = ServersToJson(servers);
    console.PrintJson(out);
    return kExitOk;
  }
  for (const agent::v1::Tool& tool : response.tools()) {
    if (policy::IsServedTool(tool.name())) continue;  // with its server, below
    console.PrintLine(Sanitize(tool.name() + "  " + tool.description(), Lines::kOne));
  }
  PrintServers(console, servers);
  return kExitOk;
}

}  // namespace

std::vector<Command> ToolCommands() {
  return {{.name = "tool list",
           .summary = "list the tools that a bundle may name, or that a session's agent is offered",
           .positionals = {{.name = "SESSION", .required = false}},
           .notes = "Schemas with -o json. Of a session also what its MCP servers list, with the "
                    "digests that "
                    "mcp_servers.NAME.pins takes; starts the servers.",
           .run = List}};
}

}  // namespace odyssey::ctl
