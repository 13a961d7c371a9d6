// metrics.
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
#include "odyssey/ops/v1/metrics.stub.h"

namespace odyssey::ctl {
namespace {

constexpr char kWhat[] = "get the metrics";

int MetricsCommand(const Invocation& call) {
  const Console& console = *call.console;
  const bool of_supervisor = call.options.Text("daemon") == "supervisor";
  const Result<Client> client =
      Client::Connect(of_supervisor ? Daemon::kSupervisor : Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(kWhat, client.status()));
  const ops::v1::MetricsStub stub(client->channel());
  ops::v1::GetMetricsResponse response;
  const Status status = stub.GetMetrics({kQuickCallMs}, {}, &response);
  if (!status.ok()) return console.Fail(client->Explain(kWhat, status));
  if (console.json) {
    console.PrintJson({{"text", response.text()}});
  } else {
    console.Print(Sanitize(response.text(), Lines::kMany));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> MetricsCommands() {
  return {
      {.name = "metrics",
       .summary = "print what the daemons count, in Prometheus's text format",
       .options = {{.name = "daemon",
                    .kind = ValueKind::kChoice,
                    .value_name = "DAEMON",
                    .help = "agentd (default), with what the supervisor counts if it answers, or "
                            "supervisor alone",
                    .choices = {"agentd", "supervisor"}}},
       .notes = "For root and members of agentd's --admin-group. Prometheus itself reads them by "
                "HTTP: agentd's\n--metrics-listen.",
       .run = MetricsCommand},
  };
}

}  // namespace odyssey::ctl
