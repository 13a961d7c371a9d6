// session create|list|show|revoke|rm|fork|events|exec|cancel.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/message/event_json.h"
#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/line_reader.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/units.h"
#include "ctl/changes/change_choice.h"
#include "ctl/changes/change_question.h"
#include "ctl/changes/changes_client.h"
#include "ctl/client/client.h"
#include "ctl/client/message_text.h"
#include "ctl/exec/exec_call.h"
#include "ctl/exec/exec_policy.h"
#include "ctl/image/image_signals.h"
#include "ctl/session/event_feed.h"
#include "ctl/session/session_budget.h"
#include "ctl/session/session_calls.h"
#include "ctl/view/approval_view.h"
#include "ctl/view/change_view.h"
#include "ctl/view/event_view.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Session;
using agent::v1::SessionServiceStub;

// A cell's directories are copied.
constexpr int kForkMs = 600'000;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

// Runs `body` with a stub, or reports why there is none.
template <typename Body>
int WithAgentd(const Invocation& call, const std::string& what, Body body) {
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return call.console->Fail(ExplainConnect(what, client.status()));
  const SessionServiceStub stub(client->channel());
  return body(*client, stub);
}

int Create(const Invocation& call) {
  const Console& console = *call.console;
  const Result<agent::v1::Budget> budget = ReadBudget(call.options);
  if (!budget.ok()) {
    console.Fail({"session create", budget.status().message(),
                  "odyssey-ctl session create --help lists the options."});
    return kExitUsage;
  }
  return WithAgentd(
      call, "create a session", [&](const Client& client, const SessionServiceStub& stub) {
        const std::optional<Session> session =
            CreateSession(console, client, stub,
                          {.bundle = call.options.Word(0),
                           .cwd = call.options.Text("cwd"),
                           .agent_id = call.options.Text("agent"),
                           .allow_danger = call.options.Has("dangerous-sandbox-mode"),
                           .review = call.options.Has("review"),
                           .approval_timeout_ms = call.options.DurationMs("approval-timeout"),
                           .budget = *budget,
                           .pull = ReadPullOption(call.options),
                           .locations = call.locations});
        if (!session) {
          const int signal = PendingSignal(ImageSignals());
          return signal == 0 ? kExitFailed : kExitSignalBase + signal;
        }
        console.json ? console.PrintJson(message::ToJson(*session))
                     : console.PrintLine(Safe(session->id()));
        return kExitOk;
      });
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(
      call, "list sessions", [&](const Client& client, const SessionServiceStub& stub) {
        agent::v1::ListSessionsResponse response;
        const Status status = stub.ListSessions({kQuickCallMs}, {}, &response);
        if (!status.ok()) return console.Fail(client.Explain("list sessions", status));
        if (console.json) {
          console.PrintJson(message::ToJson(response));
        } else if (response.sessions().empty()) {
          console.PrintLine("no sessions");
        } else {
          std::vector<std::vector<std::string>> rows;
          for (const Session& session : response.sessions()) {
            rows.push_back({Safe(session.id()), Safe(session.agent_id()),
                            Safe(session.bundle_ref()), std::to_string(session.message_count()),
                            Safe(session.created_at())});
          }
          console.Print(FormatTable({"ID", "AGENT", "BUNDLE", "MESSAGES", "CREATED"}, rows));
        }
        return kExitOk;
      });
}

void PrintTurn(const Console& console, const agent::v1::Turn& turn) {
  const Json json = message::ToJson(turn);
  console.PrintLine("\n" + Paint(Safe(turn.id()) + " · " + json["status"].get<std::string>(),
                                 Style::kBold, console.color_out));
  console.PrintLine("prompt: " + Sanitize(turn.prompt()));
  if (!turn.response().empty()) console.PrintLine(Sanitize(turn.response()));
  if (!turn.error().empty()) console.PrintLine("error: " + Safe(turn.error()));
}

void PrintGrant(const Console& console, const agent::v1::SessionGrant& grant) {
  console.PrintLine("granted " + Safe(grant.id()) + " by uid " + std::to_string(grant.by_uid()) +
                    (grant.expires_at().empty() ? "" : " until " + Safe(grant.expires_at())));
  for (const agent::v1::Grant& one : grant.grants()) console.PrintLine("  " + DescribeGrant(one));
}

int Show(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(
      call, "show a session", [&](const Client& client, const SessionServiceStub& stub) {
        agent::v1::GetSessionRequest request;
        request.set_session_id(call.options.Word(0));
        agent::v1::GetSessionResponse response;
        const Status status = stub.GetSession({kQuickCallMs}, request, &response);
        if (!status.ok())
          return console.Fail(client.Explain("show session " + request.session_id(), status));
        const Session& session = response.session();
        const Result<std::vector<agent::v1::Turn>> turns = ListTurns(stub, session.id());
        if (!turns.ok()) {
          return console.Fail(client.Explain("show session " + session.id(), turns.status()));
        }
        if (console.json) {
          Json shown = message::ToJson(session);
          shown["turns"] = Json::array();
          for (const agent::v1::Turn& turn : *turns) {
            shown["turns"].push_back(message::ToJson(turn));
          }
          console.PrintJson(shown);
          return kExitOk;
        }
        console.Print(FormatTable(
            {"id", Safe(session.id())},
            {{"bundle", Safe(session.bundle_ref()) + " sha256:" + Safe(session.bundle_digest())},
             {"agent", Safe(session.agent_id())},
             {"model", Safe(session.model_provider() + "/" + session.model_id())},
             {"cwd", Safe(session.cwd())},
             {"writes",
              session.review() ? "reviewed: odyssey-ctl changes " + Safe(session.id()) : "direct"},
             {"approvals", session.approval_timeout_ms() == 0
                               ? "wait without end"
                               : "denied without an answer in " +
                                     FormatDurationMs(session.approval_timeout_ms())},
             {"created", Safe(session.created_at())},
             {"used", BudgetText(session.used(), session.budget())},
             {"events", std::to_string(session.last_sequence())}}));
        if (!session.forked_from().empty()) {
          console.PrintLine("forked from " + Safe(session.forked_from()));
        }
        for (const agent::v1::SessionGrant& grant : session.grants()) PrintGrant(console, grant);
        for (const agent::v1::Turn& turn : *turns) PrintTurn(console, turn);
        return kExitOk;
      });
}

bool IsReviewed(const SessionServiceStub& stub, const std::string& id) {
  agent::v1::GetSessionRequest request;
  request.set_session_id(id);
  agent::v1::GetSessionResponse response;
  return stub.GetSession({kQuickCallMs}, request, &response).ok() && response.session().review();
}

// Whether the session may go with the changes that wait in it: there are none, or a person says so.
// `*code` is what to exit with otherwise.
bool MayRemove(const Console& console, const Client& client, const std::string& id, int* code) {
  supervisor::v1::CellKey key;
  key.set_session_id(id);
  ChangeSet set;
  const Status status = ChangesClient(client, std::move(key), id).List({}, &set);
  if (status.code() == Code::kNotFound) return true;
  if (!status.ok()) {
    *code = console.Fail({"remove session " + id,
                          "what waits for a commit is not known: " + status.message(),
                          "With --discard it goes with whatever there is."});
    return false;
  }
  if (IsEmpty(set.end.counts())) return true;
  if (!console.in_is_terminal || !console.out_is_terminal || console.json) {
    *code = console.Fail(
        {"remove session " + id,
         CountsText(set.end.counts()) + ", not in the host's directory yet, would be lost",
         CommandText({"odyssey-ctl", "changes", id}) + " shows it, " +
             CommandText({"odyssey-ctl", "commit", id}) + " takes it, " +
             CommandText({"odyssey-ctl", "session", "rm", id, "--discard"}) + " forgets it."});
    return false;
  }
  LineReader reader(STDIN_FILENO);
  console.Print(SummaryText(set, id, console.color_out));
  console.Print(Paint("  forget them with the session? y, n: ", Style::kBold, console.color_out));
  const std::optional<std::string> line = reader.Read();
  if (line && ParseChoice(*line) == Answer::kYes) return true;
  console.PrintLine("kept");
  *code = kExitOk;
  return false;
}

int Remove(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(
      call, "remove a session", [&](const Client& client, const SessionServiceStub& stub) {
        agent::v1::DeleteSessionRequest request;
        request.set_session_id(call.options.Word(0));
        int code = kExitOk;
        const bool asks = !call.options.Has("discard") && IsReviewed(stub, request.session_id());
        if (asks && !MayRemove(console, client, request.session_id(), &code)) return code;
        agent::v1::DeleteSessionResponse response;
        const Status status = stub.DeleteSession({kCellCallMs}, request, &response);
        if (!status.ok()) {
          return console.Fail(client.Explain("remove session " + request.session_id(), status));
        }
        console.json ? console.PrintJson({{"removed", request.session_id()}})
                     : console.PrintLine("removed " + Safe(request.session_id()));
        return kExitOk;
      });
}

int Fork(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(
      call, "fork a session", [&](const Client& client, const SessionServiceStub& stub) {
        agent::v1::ForkSessionRequest request;
        request.set_session_id(call.options.Word(0));
        agent::v1::ForkSessionResponse response;
        const Status status = stub.ForkSession({kForkMs}, request, &response);
        if (!status.ok()) {
          return console.Fail(client.Explain("fork session " + request.session_id(), status));
        }
        console.json ? console.PrintJson(message::ToJson(response.session()))
                     : console.PrintLine(Safe(response.session().id()));
        return kExitOk;
      });
}

int Events(const Invocation& call) {
  const Console& console = *call.console;
  EventFeed feed(call.locations, call.options.Word(0), call.options.Number("after"),
                 call.options.Has("follow"));
  EventView view({.color = console.color_out, .steps = true});
  for (;;) {
    const EventFeed::Item item = feed.Take();
    if (item.event && console.json) console.PrintJson(message::EventToJson(*item.event));
    if (item.event && !console.json) console.Print(view.Show(*item.event));
    if (!item.notice.empty()) console.Warn(item.notice);
    if (item.failure) return console.Fail(*item.failure);
    if (item.ended) return kExitOk;
  }
}

// Has agentd check the policy. `*cell_id`: what SessionExec is to name.
Status PrepareExec(const ExecCall& exec, const SessionServiceStub& stub,
                   const std::string& session_id, const policy::v1::Sandbox& policy,
                   std::string* cell_id) {
  agent::v1::PrepareSessionExecRequest request;
  request.set_session_id(session_id);
  *request.mutable_policy() = policy;
  ODY_RETURN_IF_ERROR(CheckText(request));
  agent::v1::PrepareSessionExecResponse response;
  ODY_RETURN_IF_ERROR(stub.PrepareSessionExec(exec.Interruptible(kCellCallMs), request, &response));
  *cell_id = response.cell_id();
  return OkStatus();
}

int Exec(const Invocation& call) {
  const Console& console = *call.console;
  if (const Status status = CheckTerminal(console, call.options.Has("tty")); !status.ok()) {
    return CannotExec(console, {"session exec", status.message(), ""});
  }
  const ExecInputs inputs = MakeExecInputs();  // keeps open what the policy names
  std::optional<OwnPolicy> policy;
  if (call.options.Has("policy")) {
    const int refused =
        ReadOwnPolicy(console, call.options, inputs, call.locations, &policy.emplace());
    if (refused != kExitOk) return refused;
  }
  ExecCall exec(call.options.Has("tty"), ReadDenialsOption(call.options));
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) {
    return CannotExec(console, ExplainConnect("session exec", client.status()));
  }
  const SessionServiceStub stub(client->channel());
  supervisor::v1::ExecStart start;
  start.set_cell_id(call.options.Word(0));
  dialect::Origins origins;
  if (policy) {
    origins = policy->origins;
    const Status status =
        PrepareExec(exec, stub, call.options.Word(0), policy->sandbox, start.mutable_cell_id());
    if (exec.interrupted_by() != 0 && !status.ok()) return kExitSignalBase + exec.interrupted_by();
    if (!status.ok()) return CannotExec(console, client->Explain("session exec", status, origins));
  }
  for (size_t i = 1; i < call.options.words().size(); ++i) start.add_argv(call.options.Word(i));
  start.set_cwd(call.options.Text("cwd"));
  start.set_wall_clock_ms(call.options.DurationMs("timeout"));
  origins.Add("start.wall_clock_ms", {.key = "--timeout", .written = call.options.Text("timeout")});
  return exec.Run(console, std::move(start), *client, origins,
                  [&] { return stub.SessionExec({}); });
}

int Cancel(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(
      call, "cancel a turn", [&](const Client& client, const SessionServiceStub& stub) {
        agent::v1::CancelTurnRequest request;
        request.set_session_id(call.options.Word(0));
        agent::v1::CancelTurnResponse response;
        const Status status = stub.CancelTurn({kCellCallMs}, request, &response);
        if (!status.ok()) return console.Fail(client.Explain("cancel the running turn", status));
        console.json
            ? console.PrintJson(message::ToJson(response))
            : console.PrintLine(response.cancelled() ? "cancelled" : "no turn was running");
        return kExitOk;
      });
}

int Revoke(const Invocation& call) {
  const Console& console = *call.console;
  return WithAgentd(
      call, "revoke a grant", [&](const Client& client, const SessionServiceStub& stub) {
        agent::v1::RevokeGrantRequest request;
        request.set_session_id(call.options.Word(0));
        request.set_grant_id(call.options.Word(1));
        agent::v1::RevokeGrantResponse response;
        const Status status = stub.RevokeGrant({kQuickCallMs}, request, &response);
        if (!status.ok()) {
          return console.Fail(client.Explain("revoke grant " + request.grant_id(), status));
        }
        console.json ? console.PrintJson({{"revoked", request.grant_id()}})
                     : console.PrintLine("revoked " + Safe(request.grant_id()));
        return kExitOk;
      });
}

}  // namespace

std::vector<Command> SessionCommands() {
  const PositionalSpec id = {.name = "ID"};
  return {
      {.name = "session create",
       .summary = "make a session of a bundle; prints its id",
       .positionals = {{.name = "BUNDLE", .kind = ValueKind::kDirectory}},
       .options = {MaxTokensOption(),
                   MaxCostOption(),
                   MaxToolCallsOption(),
                   MaxTimeOption(),
                   {.name = "cwd",
                    .kind = ValueKind::kDirectory,
                    .value_name = "DIR",
                    .help = "what \".\" in the bundle's mounts means (default: here)"},
                   {.name = "agent",
                    .kind = ValueKind::kText,
                    .value_name = "ID",
                    .help = "one of the bundle's agents (default: its default)"},
                   {.name = "dangerous-sandbox-mode",
                    .help = "the bundle's danger_full_access is meant: UNCONFINED on the host"},
                   {.name = "review",
                    .help = "directories are written on a copy; commit what you like of it"},
                   PullOption(),
                   {.name = "approval-timeout",
                    .kind = ValueKind::kDuration,
                    .value_name = "DURATION",
                    .help = "deny a request for approval that has no answer by then (default: the "
                            "operator's, which it cannot exceed)"}},
       .notes = "BUNDLE is a bundle directory, or an installed bundle: [NS/]ID[@VERSION], "
                "sha256:HEX.",
       .run = Create},
      {.name = "session list", .summary = "list sessions, newest first", .run = List},
      {.name = "session show",
       .summary = "show a session and its turns",
       .positionals = {id},
       .run = Show},
      {.name = "session revoke",
       .summary = "take back what an approval added to a session's cell",
       .positionals = {id, {.name = "GRANT"}},
       .notes = "From the next call on. session show lists grants; a call that runs goes on.",
       .run = Revoke},
      {.name = "session rm",
       .summary = "end a session's turn; remove the session, its journal and its cells",
       .positionals = {id},
       .options = {{.name = "discard", .help = "and with the changes that wait in it"}},
       .notes = "Asks on a terminal if changes wait for a commit; without one it needs --discard.",
       .run = Remove},
      {.name = "session fork",
       .summary = "copy a session with its changes; prints the new id",
       .positionals = {id},
       .notes = "Both can be committed; what one commits, the other sees as changed by the host.",
       .run = Fork},
      {.name = "session events",
       .summary = "print the events of a session",
       .positionals = {id},
       .options = {{.name = "follow", .help = "and what happens from now on"},
                   {.name = "after",
                    .kind = ValueKind::kNumber,
                    .value_name = "SEQ",
                    .help = "only events with a higher sequence number"}},
       .run = Events},
      {.name = "session exec",
       .summary = "run an operator's command in the session's cell, outside any turn",
       .positionals = {id, {.name = "CMD", .rest = true}},
       .options = {{.name = "tty", .help = "give the command a terminal"},
                   {.name = "policy",
                    .kind = ValueKind::kFile,
                    .value_name = "FILE",
                    .help =
                        "a policy of any kind (see policy check), in place of the bundle's; the "
                        "workspace stays the session's"},
                   {.name = "cwd",
                    .kind = ValueKind::kText,
                    .value_name = "PATH",
                    .help = "directory in the cell to start in (default /workspace)"},
                   {.name = "timeout",
                    .kind = ValueKind::kDuration,
                    .value_name = "TIME",
                    .help = "then everything is killed, such as 60s"},
                   PullOption(),
                   DenialsOption()},
       .notes =
           "Waits until no turn of the session runs or waits for an approval; Ctrl-C gives up. "
           "Exit codes as those\nof exec. The session's events tell the command and the first "
           "64 KiB of its stdout and of its stderr.",
       .usage_exit = kExitCannot,
       .run = Exec},
      {.name = "session cancel",
       .summary = "cancel the session's running turn",
       .positionals = {id},
       .run = Cancel},
  };
}

}  // namespace odyssey::ctl
