// run: one turn, watched to its end.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/pull_option.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/units.h"
#include "ctl/changes/change_question.h"
#include "ctl/client/client.h"
#include "ctl/file/named_place.h"
#include "ctl/image/image_signals.h"
#include "ctl/session/session_budget.h"
#include "ctl/session/session_calls.h"
#include "ctl/session/turn_watch.h"
#include "ctl/view/confinement_line.h"
#include "odyssey/agent/v1/session.stub.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::SessionServiceStub;

constexpr uint64_t kReadChunk = 4 * 1024 * 1024;
constexpr mode_t kSavedMode = 0644;
constexpr uint64_t kMaxSavedBytes = 256 * 1024 * 1024;

struct Save {
  std::string from;  // in the workspace
  std::string to;    // on the host, absolute
};

struct RunOptions {
  std::string bundle;
  std::string prompt;
  std::string session_id;
  std::string cwd;
  ApproveMode approve = ApproveMode::kAsk;
  std::vector<Save> saves;
  bool allow_danger = false;
  bool review = false;
  uint64_t approval_timeout_ms = 0;
  // Without a terminal, others may answer until the time is over.
  bool wait_for_others = false;
  uint64_t deadline_ms = 0;
  agent::v1::Budget budget;
  PullWhen pull = PullWhen::kMissing;
  bool trace = false;
};

Result<std::vector<Save>> ReadSaves(const std::vector<std::string>& entries) {
  std::vector<Save> saves;
  for (const std::string& entry : entries) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == entry.size()) {
      return InvalidArgument("--save \"" + entry + "\": expected PATH_IN_WORKSPACE=HOST_FILE");
    }
    saves.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
  }
  return saves;
}

Result<RunOptions> ReadRunOptions(const ParsedOptions& options) {
  RunOptions out;
  out.bundle = options.Word(0);
  ODY_ASSIGN_OR_RETURN(out.prompt, ReadPrompt(options.Word(1), options.Text("prompt")));
  out.session_id = options.Text("session");
  out.cwd = options.Text("cwd");
  out.approve = ApproveModeOf(options.Text("approve"));
  ODY_ASSIGN_OR_RETURN(out.saves, ReadSaves(options.All("save")));
  out.allow_danger = options.Has("dangerous-sandbox-mode");
  out.review = options.Has("review");
  out.approval_timeout_ms = options.DurationMs("approval-timeout");
  out.wait_for_others = out.approval_timeout_ms != 0 && !options.Has("approve");
  out.deadline_ms = options.DurationMs("deadline");
  ODY_ASSIGN_OR_RETURN(out.budget, ReadBudget(options));
  out.pull = ReadPullOption(options);
  out.trace = options.Has("trace");
  if (!out.cwd.empty() && !out.session_id.empty()) {
    return InvalidArgument("--cwd: said when a session is made, not later");
  }
  if (out.review && !out.session_id.empty()) {
    return InvalidArgument("--review: said when a session is made, not later");
  }
  for (const OptionSpec& option : BudgetOptions()) {
    if (!options.Has(option.name) || out.session_id.empty()) continue;
    return InvalidArgument("--" + std::string(option.name) +
                           ": said when a session is made, not later");
  }
  if (out.approval_timeout_ms != 0 && !out.session_id.empty()) {
    return InvalidArgument("--approval-timeout: said when a session is made, not later");
  }
  if (out.allow_danger && !out.session_id.empty()) {
    return InvalidArgument("--dangerous-sandbox-mode: said when a session is made, not later");
  }
  return out;
}

// Copies a file of the session's workspace to the host, whole or not at all. Its directory is named
// by a person, and may be one that the turn wrote: no link on the way is followed but the system's.
Status SaveFile(const SessionServiceStub& stub, const std::string& session_id, const Save& save) {
  std::string content;
  agent::v1::ReadFileRequest request;
  request.set_session_id(session_id);
  request.set_path(save.from);
  request.set_max_bytes(kReadChunk);
  do {
    request.set_offset(content.size());
    agent::v1::ReadFileResponse response;
    const Status status = stub.ReadFile({kCellCallMs}, request, &response);
    if (!status.ok()) return status;
    content += response.file().content();
    if (response.file().next_offset() == 0) return ReplaceNamedFile(save.to, content, kSavedMode);
    if (response.file().content().empty()) return Internal("the answer neither ends nor goes on");
  } while (content.size() <= kMaxSavedBytes);
  return ResourceExhausted("larger than " + FormatSize(kMaxSavedBytes));
}

bool SaveFiles(const Console& console, const SessionServiceStub& stub,
               const std::string& session_id, const std::vector<Save>& saves) {
  bool all = true;
  for (const Save& save : saves) {
    const Status status = SaveFile(stub, session_id, save);
    if (!status.ok()) {
      all = false;
      console.Fail({"save " + save.from + " as " + save.to, status.message(), ""});
    } else if (!console.json) {
      console.PrintLine("saved " + Sanitize(save.to, Lines::kOne));
    }
  }
  return all;
}

// Says what confined the session's commands, if the supervisor can be asked and a cell is still
// warm.
void PrintConfinement(const Console& console, const Locations& locations,
                      const std::string& session_id) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, locations);
  if (!client.ok()) return;
  const supervisor::v1::SupervisorStub stub(client->channel());
  supervisor::v1::ListCellsResponse cells;
  if (!stub.ListCells({kQuickCallMs}, {}, &cells).ok()) return;
  for (const supervisor::v1::CellInfo& cell : cells.cells()) {
    if (cell.key().session_id() != session_id) continue;
    supervisor::v1::DescribeCellRequest request;
    request.set_cell_id(cell.cell_id());
    supervisor::v1::DescribeCellResponse described;
    if (!stub.DescribeCell({kQuickCallMs}, request, &described).ok()) return;
    console.PrintLine(Paint(ConfinementLine(described.cell()), Style::kDim, console.color_out));
    return;
  }
}

Result<UniqueFd> InterruptFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);  // the terminal is gone: its turn would wait for an answer for ever
  if (pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, "create signalfd");
  return fd;
}

// The session to run in: the one named, or a new one.
std::optional<std::string> FindOrCreate(const Console& console, const Client& client,
                                        const SessionServiceStub& stub, const RunOptions& options,
                                        const Locations& locations) {
  if (!options.session_id.empty()) return options.session_id;
  const std::optional<agent::v1::Session> session =
      CreateSession(console, client, stub,
                    {.bundle = options.bundle,
                     .cwd = options.cwd,
                     .allow_danger = options.allow_danger,
                     .review = options.review,
                     .approval_timeout_ms = options.approval_timeout_ms,
                     .budget = options.budget,
                     .pull = options.pull,
                     .locations = locations});
  if (!session) return std::nullopt;
  if (!console.json) {
    const std::string writes = session->review() ? "writes are reviewed" : "writes are direct";
    console.PrintLine(
        Paint(Sanitize(session->id() + " · " + session->bundle_ref() + " · " + writes, Lines::kOne),
              Style::kDim, console.color_out));
  }
  return session->id();
}

// What waits for a commit after the turn, if the session works on a copy.
void OfferChanges(const Console& console, const Client& client, const SessionServiceStub& stub,
                  const std::string& session_id) {
  agent::v1::GetSessionRequest request;
  request.set_session_id(session_id);
  agent::v1::GetSessionResponse response;
  const Status status = stub.GetSession({kQuickCallMs}, request, &response);
  if (!status.ok() || !response.session().review()) return;
  supervisor::v1::CellKey key;
  key.set_session_id(session_id);
  (void)DecideChanges(console, ChangesClient(client, std::move(key), session_id));
}

// kExitOk, or the code of what was reported.
int RefuseOtherBundle(const Console& console, const Client& client, const SessionServiceStub& stub,
                      const RunOptions& options) {
  if (options.session_id.empty()) return kExitOk;
  agent::v1::GetSessionRequest request;
  request.set_session_id(options.session_id);
  agent::v1::GetSessionResponse response;
  const Status found = stub.GetSession({kQuickCallMs}, request, &response);
  if (!found.ok()) return console.Fail(client.Explain("run in the session", found));
  const Status same = CheckSameBundle(options.bundle, response.session());
  if (same.ok()) return kExitOk;
  console.Fail({"run", same.message(), ""});
  return kExitUsage;
}

int RunTurn(const Console& console, const Locations& locations, const RunOptions& options,
            int signal_fd) {
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations);
  if (!client.ok()) return console.Fail(ExplainConnect("run", client.status()));
  const SessionServiceStub stub(client->channel());
  if (const int refused = RefuseOtherBundle(console, *client, stub, options)) return refused;
  const std::optional<std::string> session_id =
      FindOrCreate(console, *client, stub, options, locations);
  if (!session_id) {
    const int signal = PendingSignal(ImageSignals());
    return signal == 0 ? kExitFailed : kExitSignalBase + signal;
  }

  const std::optional<agent::v1::SubmitTurnResponse> submitted =
      SubmitTurn(console, *client, stub, *session_id, options.prompt, {options.deadline_ms, ""});
  if (!submitted) return kExitFailed;

  TurnEnd end = TurnEnd::kLost;
  {
    TurnWatch watch(
        console, locations,
        {.session_id = *session_id,
         .turn_id = submitted->turn_id(),
         .after = submitted->after_sequence(),
         .approve = options.approve,
         .trace = options.trace,
         .in_fd = STDIN_FILENO,
         .has_terminal = console.in_is_terminal && console.out_is_terminal && !console.json,
         .wait_for_others = options.wait_for_others},
        signal_fd);
    end = watch.Run();
  }
  const bool saved =
      end != TurnEnd::kCompleted || SaveFiles(console, stub, *session_id, options.saves);
  if (end != TurnEnd::kLost) OfferChanges(console, *client, stub, *session_id);
  if (!console.json && end != TurnEnd::kLost) PrintConfinement(console, locations, *session_id);
  return end == TurnEnd::kCompleted && saved ? kExitOk : kExitFailed;
}

int RunCommand(const Invocation& call) {
  const Console& console = *call.console;
  const Result<RunOptions> options = ReadRunOptions(call.options);
  if (!options.ok()) {
    console.Fail({"run", options.status().message(), "odyssey-ctl run --help lists the options."});
    return kExitUsage;
  }
  // Before gRPC starts its threads: they must not take the signals.
  const Result<UniqueFd> signals = InterruptFd();
  if (!signals.ok()) return console.Fail({"run", signals.status().message(), ""});
  return RunTurn(console, call.locations, *options, signals->get());
}

}  // namespace

std::vector<Command> RunCommands() {
  return {
      {.name = "run",
       .summary = "run one turn of an agent and show it live; asks approvals on the terminal",
       .positionals = {{.name = "BUNDLE", .kind = ValueKind::kDirectory},
                       {.name = "PROMPT", .required = false}},
       .options = {{.name = "prompt",
                    .kind = ValueKind::kText,
                    .value_name = "TEXT",
                    .help = "what the agent is to do, in place of PROMPT; - reads stdin"},
                   {.name = "session",
                    .kind = ValueKind::kText,
                    .value_name = "ID",
                    .help = "go on in this session instead of a new one"},
                   {.name = "approve",
                    .kind = ValueKind::kChoice,
                    .value_name = "HOW",
                    .help = "ask (default; without a terminal that denies), all, deny, or "
                            "strict: deny and name the rule; interactive and approve_all are "
                            "ask and all",
                    .choices = ApproveModeNames()},
                   {.name = "approval-timeout",
                    .kind = ValueKind::kDuration,
                    .value_name = "DURATION",
                    .help = "deny a request for approval that has no answer by then (default: "
                            "the operator's, which it cannot exceed); without a terminal and "
                            "without --approve, approval allow can answer until then"},
                   {.name = "cwd",
                    .kind = ValueKind::kDirectory,
                    .value_name = "DIR",
                    .help = "what \".\" in the bundle's mounts means (default: here)"},
                   {.name = "deadline",
                    .kind = ValueKind::kDuration,
                    .value_name = "DURATION",
                    .help = "the turn fails if it has not ended so long after it was accepted "
                            "(default: none)"},
                   {.name = "save",
                    .kind = ValueKind::kText,
                    .value_name = "PATH=FILE",
                    .help = "copy PATH of the workspace to FILE at the end; FILE is in no "
                            "directory behind a symbolic link",
                    .repeatable = true},
                   {.name = "dangerous-sandbox-mode",
                    .help = "the bundle's danger_full_access is meant: UNCONFINED on the "
                            "host"},
                   {.name = "review",
                    .help = "directories are written on a copy; commit what you like of it"},
                   PullOption(),
                   {.name = "trace", .help = "show the steps of the turn and how long each took"},
                   MaxTokensOption(),
                   MaxCostOption(),
                   MaxToolCallsOption(),
                   MaxTimeOption()},
       .notes = "Exits 0 if the turn completed and every file was saved.\n"
                "BUNDLE is a bundle directory, or an installed bundle: [NS/]ID[@VERSION], "
                "sha256:HEX.",
       .run = RunCommand}};
}

}  // namespace odyssey::ctl
