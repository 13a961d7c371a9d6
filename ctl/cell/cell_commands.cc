// cell list|show|rm|top, and what is said of a cell: cell
// suspend|resume|stop|start|quarantine|release.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/message/enum_name.h"
#include "common/message/message_json.h"
#include "common/os/unique_fd.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/cell/cell_name.h"
#include "ctl/client/client.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::CellInfo;
using supervisor::v1::SupervisorStub;

constexpr int kTopIntervalMs = 1000;
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

// "ses_…/agent/tooling/tools"; an empty session as "-".
std::string KeyText(const supervisor::v1::CellKey& key) {
  const std::string session = key.session_id().empty() ? "-" : key.session_id();
  return Safe(session + "/" + key.agent_id() + "/" + key.kind() + "/" + key.component());
}

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

Status GetCells(const SupervisorStub& stub, supervisor::v1::ListCellsResponse* response) {
  return stub.ListCells({kQuickCallMs}, {}, response);
}

// "suspended since 2026-…Z by uid 0: looking at it".
std::string StandingText(const supervisor::v1::CellStanding& standing) {
  std::string text = message::EnumName(standing.phase()) + " since " + standing.since();
  if (standing.has_by_uid()) text += " by uid " + std::to_string(standing.by_uid());
  if (!standing.reason().empty()) text += ": " + standing.reason();
  return Safe(text);
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

// Busiest first; `before` maps a cell to its CPU time one interval ago.
std::string TopTable(const supervisor::v1::ListCellsResponse& response,
                     const std::map<std::string, uint64_t>& before) {
  std::vector<const CellInfo*> cells;
  for (const CellInfo& cell : response.cells()) cells.push_back(&cell);
  const auto used = [&](const CellInfo& cell) {
    const auto found = before.find(cell.cell_id());
    const uint64_t base = found == before.end() ? cell.cpu_usec() : found->second;
    return cell.cpu_usec() - std::min(base, cell.cpu_usec());
  };
  std::stable_sort(cells.begin(), cells.end(), [&](const CellInfo* a, const CellInfo* b) {
    return std::make_pair(used(*a), a->memory_bytes()) >
           std::make_pair(used(*b), b->memory_bytes());
  });
  std::vector<std::vector<std::string>> rows;
  for (const CellInfo* cell : cells) {
    const std::string percent =
        before.empty() ? "-" : std::to_string(used(*cell) * 100 / (kTopIntervalMs * 1000)) + "%";
    rows.push_back({Safe(cell->cell_id()), percent, FormatDurationMs(cell->cpu_usec() / 1000),
                    FormatSize(cell->memory_bytes()), std::to_string(cell->processes()),
                    std::to_string(cell->running_execs()), KeyText(cell->key())});
  }
  return FormatTable({"ID", "CPU", "TIME", "MEMORY", "PROCS", "EXECS", "KEY"}, rows);
}

// A signalfd that ends the watch, so that the terminal is left at a line start.
UniqueFd InterruptFd() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC));
}

int Top(const Invocation& call) {
  const Console& console = *call.console;
  const bool watch = call.options.Has("watch");
  const UniqueFd interrupt = watch ? InterruptFd() : UniqueFd();
  return WithSupervisor(call, "watch cells", [&](const Client& client, const SupervisorStub& stub) {
    std::map<std::string, uint64_t> before;
    for (;;) {
      supervisor::v1::ListCellsResponse response;
      const Status status = GetCells(stub, &response);
      if (!status.ok()) return console.Fail(client.Explain("watch cells", status));
      if (console.json) {
        console.PrintJson(message::ToJson(response));
      } else {
        if (watch && console.out_is_terminal) console.Print(kClearScreen);
        console.Print(TopTable(response, before));
      }
      if (!watch) return kExitOk;
      before.clear();
      for (const CellInfo& cell : response.cells()) before[cell.cell_id()] = cell.cpu_usec();
      pollfd polled = {interrupt.get(), POLLIN, 0};
      if (poll(&polled, 1, kTopIntervalMs) > 0) return kExitOk;
    }
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
      {.name = "cell top",
       .summary = "show what the cells use, busiest first",
       .options = {{.name = "watch", .help = "again every second, until Ctrl-C"}},
       .run = Top},
  };
}

}  // namespace odyssey::ctl
