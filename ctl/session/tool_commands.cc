// tool list.
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

// Its schemas as JSON, not as text of JSON.
Json ToolToJson(const agent::v1::Tool& tool) {
  Json out = message::ToJson(tool);
  for (const char* key : {"input_schema", "output_schema"}) {
    Json schema = Json::parse(out[key].get<std::string>(), nullptr, false);
    if (!schema.is_discarded()) out[key] = std::move(schema);
  }
  return out;
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list tools", client.status()));
  const agent::v1::SessionServiceStub stub(client->channel());
  agent::v1::ListToolsResponse response;
  const Status status = stub.ListTools({kQuickCallMs}, agent::v1::ListToolsRequest(), &response);
  if (!status.ok()) return console.Fail(client->Explain("list tools", status));
  if (console.json) {
    Json list = Json::array();
    for (const agent::v1::Tool& tool : response.tools()) list.push_back(ToolToJson(tool));
    console.PrintJson({{"tools", std::move(list)}});
    return kExitOk;
  }
  for (const agent::v1::Tool& tool : response.tools()) {
    console.PrintLine(Sanitize(tool.name() + "  " + tool.description(), Lines::kOne));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> ToolCommands() {
  return {{.name = "tool list",
           .summary = "list the tools that a bundle may name; their schemas with -o json",
           .run = List}};
}

}  // namespace odyssey::ctl
