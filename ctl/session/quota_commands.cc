// quota.
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/session.stub.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

std::string Bound(uint64_t bound, const std::string& text) { return bound == 0 ? "none" : text; }

std::vector<std::string> Row(const char* name, uint64_t used, uint64_t bound) {
  return {name, std::to_string(used), Bound(bound, std::to_string(bound))};
}

int Quota(const Invocation& call) {
  const Console& console = *call.console;
  agent::v1::GetQuotaRequest request;
  if (call.options.Has("user")) {
    const auto owner = dialect::FindOwner("--user", call.options.Text("user"));
    if (!owner.ok()) return console.Fail({"show a quota", owner.status().message(), ""});
    request.set_uid(owner->uid);
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("show a quota", client.status()));
  const agent::v1::SessionServiceStub stub(client->channel());
  agent::v1::GetQuotaResponse response;
  const Status status = stub.GetQuota({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("show a quota", status));
  if (console.json) {
    console.PrintJson(message::ToJson(response));
    return kExitOk;
  }
  const agent::v1::Quota& used = response.used();
  const agent::v1::Quota& bounds = response.bounds();
  console.Print(FormatTable({"", "USED", "BOUND"},
                            {Row("sessions", used.sessions(), bounds.sessions()),
                             Row("cells", used.cells(), bounds.cells()),
                             Row("turns", used.turns(), bounds.turns()),
                             {"disk", FormatSize(used.disk_bytes()),
                              Bound(bounds.disk_bytes(), FormatSize(bounds.disk_bytes()))}}));
  return kExitOk;
}

}  // namespace

std::vector<Command> QuotaCommands() {
  return {
      {.name = "quota",
       .summary = "print what a user has in use, and the operator's bounds for it",
       .options = {{.name = "user",
                    .kind = ValueKind::kText,
                    .value_name = "USER",
                    .help = "a name or a uid (default: your own); another's is for root and the "
                            "admin group"}},
       .notes = "Bounds are `quotas` of the operator's ceiling. turns: queued and running. disk: "
                "records, journals and\nbundles; a cell's directories are bounded by disk_mb.",
       .run = Quota}};
}

}  // namespace odyssey::ctl
