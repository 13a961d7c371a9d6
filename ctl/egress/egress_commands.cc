// egress tail|top|learn.
#include <poll.h>
#include <signal.h>

#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "common/os/unique_fd.h"
#include "ctl/audit/log_tail.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/cell/cell_name.h"
#include "ctl/client/client.h"
#include "ctl/egress/egress_learn.h"
#include "ctl/egress/egress_view.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "policy/convert/egress_proto.h"
#include "policy/egress/policy_text.h"

namespace odyssey::ctl {
namespace {

constexpr int kTopIntervalMs = 1000;
constexpr size_t kTopRows = 40;
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

// A cell that has ended is known by its id alone.
std::string CellOf(const Invocation& call) {
  std::string id = call.options.Word(0);
  if (id.empty()) return id;
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return id;
  const supervisor::v1::SupervisorStub stub(client->channel());
  std::string found = id;
  return FindCell(stub, id, &found).ok() ? found : id;
}

int Tail(const Invocation& call) {
  const Console& console = *call.console;
  const EgressFilter filter{.cell = CellOf(call), .denied = call.options.Has("denied")};
  TailRequest request{
      .wanted = [&](const std::string& line) { return !EgressRecordOf(line, filter).is_null(); },
      .print =
          [&](const std::string& line) {
            const Json record = EgressRecordOf(line, filter);
            console.json ? console.PrintJson(record)
                         : console.PrintLine(FormatEgress(record, console.color_out));
          }};
  ReadTailOptions(call.options, &request);
  Result<LogTail> log =
      LogTail::Open(LogDirectoryOf(call, call.options.Text("log")), WatchingFor(request));
  const Status status = log.ok() ? TailLog(&*log, request) : log.status();
  return status.ok() ? kExitOk : console.Fail({"read the audit log", status.message(), kLogNext});
}

// Of those that are in the log now.
template <typename F>
Status ForEach(LogTail* log, const EgressFilter& filter, F take) {
  for (;;) {
    ODY_ASSIGN_OR_RETURN(const std::optional<std::string> line, log->Next());
    if (!line) return OkStatus();
    const Json record = EgressRecordOf(*line, filter);
    if (!record.is_null()) take(record);
  }
}

int Top(const Invocation& call) {
  const Console& console = *call.console;
  const EgressFilter filter{.cell = CellOf(call), .denied = call.options.Has("denied")};
  const bool watch = call.options.Has("watch");
  const UniqueFd interrupt = watch ? MakeSignalFd({SIGINT, SIGTERM}) : UniqueFd();
  EgressTotals totals;
  Result<LogTail> log =
      LogTail::Open(LogDirectoryOf(call, call.options.Text("log")), Watching::kNone);
  for (;;) {
    const Status status =
        log.ok() ? ForEach(&*log, filter, [&](const Json& record) { totals.Add(record); })
                 : log.status();
    if (!status.ok()) return console.Fail({"read the audit log", status.message(), kLogNext});
    if (console.json) {
      console.PrintJson(totals.ToJson());
    } else {
      if (watch && console.out_is_terminal) console.Print(kClearScreen);
      console.Print(totals.Table(kTopRows));
    }
    if (!watch) return kExitOk;
    pollfd polled = {interrupt.get(), POLLIN, 0};
    if (poll(&polled, 1, kTopIntervalMs) > 0) return kExitOk;
  }
}

int Learn(const Invocation& call) {
  const Console& console = *call.console;
  const EgressFilter filter{.cell = CellOf(call), .denied = call.options.Has("denied")};
  LearnedPolicy learned(call.options.Has("requests"));
  Result<LogTail> log =
      LogTail::Open(LogDirectoryOf(call, call.options.Text("log")), Watching::kNone);
  const Status status =
      log.ok() ? ForEach(&*log, filter, [&](const Json& record) { learned.Add(record); })
               : log.status();
  if (!status.ok()) return console.Fail({"read the audit log", status.message(), kLogNext});
  if (console.json) {
    Json out = message::ToJson(policy::ToProto(learned.Policy()));
    out["left_out"] = learned.left_out();
    console.PrintJson(out);
    return kExitOk;
  }
  console.Print(Sanitize(egress::PolicyText(learned.Policy()), Lines::kMany));
  if (learned.left_out() > 0) {
    console.Warn("left out: " + std::to_string(learned.left_out()) +
                 " decisions that no policy allows, or whose program is not known");
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> EgressCommands() {
  const PositionalSpec cell = {.name = "CELL", .required = false};
  const OptionSpec denied = {.name = "denied", .help = "what was refused alone"};
  const OptionSpec log = {
      .name = "log",
      .kind = ValueKind::kDirectory,
      .value_name = "DIR",
      .help = "the audit log (default: supervisor/audit in the state directory)"};
  std::vector<OptionSpec> tail = TailOptions();
  tail.insert(tail.end(), {denied, log});
  return {
      {.name = "egress tail",
       .summary = "print what cells connected to, and what was refused",
       .positionals = {cell},
       .options = tail,
       .notes = "CELL is an id, or what exec --cell called it; of a cell that has ended, its id.",
       .run = Tail},
      {.name = "egress top",
       .summary = "count what cells connect to, the busiest destination first",
       .positionals = {cell},
       .options = {{.name = "watch", .help = "again every second, until Ctrl-C"}, denied, log},
       .run = Top},
      {.name = "egress learn",
       .summary = "print the smallest policy that allows what cells connected to",
       .positionals = {cell},
       .options = {denied, {.name = "requests", .help = "requests of HTTP one by one"}, log},
       .notes = "What was refused is in it too. Run the work once with exec --network public, read "
                "what is\nprinted, and give it to exec --policy.",
       .run = Learn}};
}

}  // namespace odyssey::ctl
