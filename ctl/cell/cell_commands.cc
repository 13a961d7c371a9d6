// cell list|show|rm, and what is said of a cell: cell
// suspend|resume|stop|start|quarantine|release.
#include <algorithm>
#include <string>
#include <vector>

#include "common/message/enum_name.h"
#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/cell/cell_name.h"
#include "ctl/cell/cell_top.h"
#include "ctl/cell/standing_text.h"
#include "ctl/client/client.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::CellInfo;
using supervisor::v1::SupervisorStub;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

template <typename Body>
int WithSupervisor(const Invocation& call, const std::string& what, Body body) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return call.console->Fail(ExplainConnect(what, client.status()));
  const SupervisorStub stub(client->channel());
  return body(*client, stub);
}

struct FoundCell {
  const Client& client;
  const SupervisorStub& stub;
  std::string id;
};

// With the cell that the first word means.
template <typename Body>
int WithCell(const Invocation& call, const std::string& what, Body body) {
  const auto with_stub = [&](const Client& client, const SupervisorStub& stub) -> int {
    FoundCell cell = {client, stub, ""};
    const Status status = FindCell(stub, call.options.Word(0), &cell.id);
    if (status.ok()) return body(cell);
    return call.console->Fail(client.Explain(what + " cell " + call.options.Word(0), status));
  };
  return WithSupervisor(call, what + " a cell", with_stub);
}

bool HasEnded(const CellInfo& cell) {
  return cell.standing().phase() == supervisor::v1::CELL_PHASE_ENDED;
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  return WithSupervisor(call, "list cells", [&](const Client& client, const SupervisorStub& stub) {
    supervisor::v1::ListCellsRequest request;
    request.set_all(true);
    supervisor::v1::ListCellsResponse response;
    const Status status = stub.ListCells({kQuickCallMs}, request, &response);
    if (!status.ok()) return console.Fail(client.Explain("list cells", status));
    if (!call.options.Has("all")) {
      auto* cells = response.mutable_cells();
      cells->erase(std::remove_if(cells->begin(), cells->end(), HasEnded), cells->end());
    }
    if (console.json) {
      console.PrintJson(message::ToJson(response));
      return kExitOk;
    }
    std::vector<std::vector<std::string>> rows;
    for (const CellInfo& cell : response.cells()) {
      rows.push_back({Safe(cell.cell_id()), KeyText(cell.key()),
                      message::EnumName(cell.standing().phase()), std::to_string(cell.revision()),
                      std::to_string(cell.host_uid()), Safe(cell.policy_digest().substr(0, 12)),
                      std::to_string(cell.running_execs()), Safe(cell.created_at())});
    }
    if (rows.empty()) {
      console.PrintLine("no cells");
    } else {
      console.Print(
          FormatTable({"ID", "KEY", "PHASE", "REV", "UID", "POLICY", "EXECS", "CREATED"}, rows));
    }
    return kExitOk;
  });
}

int Show(const Invocation& call) {
  const Console& console = *call.console;
  return WithCell(call, "show", [&](const FoundCell& cell) {
    supervisor::v1::DescribeCellRequest request;
    request.set_cell_id(cell.id);
    supervisor::v1::DescribeCellResponse response;
    const Status status = cell.stub.DescribeCell({kQuickCallMs}, request, &response);
    if (!status.ok())
      return console.Fail(cell.client.Explain("show cell " + request.cell_id(), status));
    if (console.json) {
      console.PrintJson(message::ToJson(response));
      return kExitOk;
    }
    const CellInfo& info = response.cell();
    std::vector<std::vector<std::string>> rows = {
        {"key", KeyText(info.key())},
        {"phase", StandingText(info.standing())},
        {"revision", std::to_string(info.revision())},
        {"uid", std::to_string(info.host_uid())},
        {"policy", Safe(info.policy_digest())},
        {"running", std::to_string(info.running_execs()) + " execs, " +
                        std::to_string(info.processes()) + " processes, " +
                        FormatSize(info.memory_bytes())},
        {"created", Safe(info.created_at())}};
    if (!info.workspace_path().empty()) rows.push_back({"workspace", Safe(info.workspace_path())});
    console.Print(FormatTable({"id", Safe(info.cell_id())}, rows));
    for (const auto& layer : info.layers()) {
      console.PrintLine((layer.in_force() ? "✓ " : "✗ ") + Safe(layer.name()) + "  " +
                        Safe(layer.detail()));
    }
    for (const std::string& line : response.plan()) console.PrintLine(Safe(line));
    return kExitOk;
  });
}

template <supervisor::v1::CellChange kChange>
int Change(const Invocation& call) {
  const Console& console = *call.console;
  const std::string verb = message::EnumName(kChange);
  return WithCell(call, verb, [&](const FoundCell& cell) {
    supervisor::v1::ChangeCellRequest request;
    request.set_cell_id(cell.id);
    request.set_change(kChange);
    request.set_reason(call.options.Text("reason"));
    supervisor::v1::ChangeCellResponse response;
    const Status status = cell.stub.ChangeCell({kCellCallMs}, request, &response);
    if (!status.ok()) return console.Fail(cell.client.Explain(verb + " cell " + cell.id, status));
    const CellInfo& info = response.cell();
    if (console.json) {
      console.PrintJson(message::ToJson(response));
    } else if (info.standing().phase() == supervisor::v1::CELL_PHASE_UNSPECIFIED) {
      console.PrintLine(Safe(cell.id) + ": its next command makes it again");
    } else {
      console.PrintLine(Safe(cell.id) + " " + StandingText(info.standing()));
    }
    return kExitOk;
  });
}

int Remove(const Invocation& call) {
  const Console& console = *call.console;
  return WithCell(call, "remove", [&](const FoundCell& cell) {
    supervisor::v1::RemoveCellRequest request;
    request.set_cell_id(cell.id);
    request.set_purge(call.options.Has("purge"));
    supervisor::v1::RemoveCellResponse response;
    const Status status = cell.stub.RemoveCell({kCellCallMs}, request, &response);
    if (!status.ok())
      return console.Fail(cell.client.Explain("remove cell " + request.cell_id(), status));
    console.json ? console.PrintJson({{"removed", request.cell_id()}})
                 : console.PrintLine("removed " + Safe(request.cell_id()));
    return kExitOk;
  });
}

constexpr PositionalSpec kCell = {.name = "CELL"};  // its id, or what exec --cell called it

template <supervisor::v1::CellChange kChange>
Command ChangeCommand(std::string_view name, std::string_view summary) {
  const OptionSpec reason = {
      .name = "reason",
      .kind = ValueKind::kText,
      .value_name = "TEXT",
      .help = "one line, for the audit log and for clients that the phase refuses"};
  return {.name = name,
          .summary = summary,
          .positionals = {kCell},
          .options = {reason},
          .run = Change<kChange>};
}

}  // namespace

std::vector<Command> CellCommands() {
  return {
      {.name = "cell list",
       .summary = "list cells, those that are stopped or quarantined included",
       .options = {{.name = "all", .help = "the last that ended too"}},
       .run = List},
      {.name = "cell show",
       .summary = "show a cell: uid, layers in force, the compiled plan",
       .positionals = {kCell},
       .run = Show},
      ChangeCommand<supervisor::v1::CELL_CHANGE_SUSPEND>("cell suspend",
                                                         "freeze a cell's processes"),
      ChangeCommand<supervisor::v1::CELL_CHANGE_RESUME>("cell resume",
                                                        "let a suspended cell go on"),
      ChangeCommand<supervisor::v1::CELL_CHANGE_STOP>(
          "cell stop", "end a cell's processes, and let none start until cell start"),
      ChangeCommand<supervisor::v1::CELL_CHANGE_START>("cell start",
                                                       "let a stopped cell be used again"),
      ChangeCommand<supervisor::v1::CELL_CHANGE_QUARANTINE>("cell quarantine",
                                                            "freeze a cell until root releases it"),
      ChangeCommand<supervisor::v1::CELL_CHANGE_RELEASE>("cell release",
                                                         "let a quarantined cell go on"),
      {.name = "cell rm",
       .summary = "kill a cell's processes and remove it",
       .positionals = {kCell},
       .options = {{.name = "purge", .help = "its directories on disk too"}},
       .run = Remove},
      CellTopCommand(),
  };
}

}  // namespace odyssey::ctl
