// turn submit|status|trace|cancel.
#include <memory>
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "ctl/session/event_feed.h"
#include "ctl/session/session_calls.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::SessionServiceStub;

// One unary call of agentd, its answer handed to `print`.
template <typename Response, typename Request, typename Method, typename Print>
int Call(const Invocation& call, const std::string& what, const Request& request, int deadline_ms,
         Method method, Print print) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  const SessionServiceStub stub(client->channel());
  Response response;
  const Status status = (stub.*method)({deadline_ms}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain(what, status));
  console.json ? console.PrintJson(message::ToJson(response)) : print(response);
  return kExitOk;
}

int Submit(const Invocation& call) {
  const Console& console = *call.console;
  const Result<std::string> prompt = ReadPrompt(call.options.Word(1), call.options.Text("prompt"));
  if (!prompt.ok()) {
    console.Fail({"turn submit", prompt.status().message(),
                  "usage: odyssey-ctl turn submit SESSION PROMPT"});
    return kExitUsage;
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("submit the turn", client.status()));
  const SessionServiceStub stub(client->channel());
  const auto submitted =
      SubmitTurn(console, *client, stub, call.options.Word(0), *prompt,
                 {call.options.DurationMs("deadline"), call.options.Text("idempotency-key")});
  if (!submitted) return kExitFailed;
  if (console.json) {
    console.PrintJson(message::ToJson(*submitted));
  } else {
    console.PrintLine(Sanitize(submitted->turn_id(), Lines::kOne));
  }
  return kExitOk;
}

int Status(const Invocation& call) {
  agent::v1::GetTurnRequest request;
  request.set_session_id(call.options.Word(0));
  request.set_turn_id(call.options.Word(1));
  return Call<agent::v1::GetTurnResponse>(
      call, "show a turn", request, kQuickCallMs, &SessionServiceStub::GetTurn,
      [&](const agent::v1::GetTurnResponse& response) {
        const agent::v1::Turn& turn = response.turn();
        call.console->PrintLine(message::ToJson(turn)["status"].get<std::string>());
        if (!turn.response().empty()) call.console->PrintLine(Sanitize(turn.response()));
        if (!turn.error().empty()) call.console->PrintLine(Sanitize(turn.error(), Lines::kOne));
      });
}

// The steps of one turn, or of the session's latest one, as its journal has them.
int Trace(const Invocation& call) {
  const Console& console = *call.console;
  const std::string turn = call.options.Word(1);
  std::vector<agent::v1::TurnStep> steps;
  bool found = false;
  EventFeed feed(call.locations, call.options.Word(0), 0, /*follow=*/false);
  for (;;) {
    const EventFeed::Item item = feed.Take();
    if (item.failure) return console.Fail(*item.failure);
    if (item.event && item.event->has_turn_started()) {
      if (turn.empty()) steps.clear();
      found = found || turn.empty() || item.event->turn_started().turn_id() == turn;
    }
    if (item.event && item.event->has_turn_step()) {
      const agent::v1::TurnStep& step = item.event->turn_step();
      if (turn.empty() || step.turn_id() == turn) steps.push_back(step);
    }
    if (item.ended) break;
  }
  if (!found) {
    return console.Fail({"trace a turn",
                         turn.empty() ? "the session has none that has begun"
                                      : "turn " + turn +
                                            ": it has not begun, or "
                                            "session " +
                                            call.options.Word(0) + " has no such turn",
                         "odyssey-ctl session show SESSION lists the turns of a session."});
  }
  if (console.json) {
    for (const agent::v1::TurnStep& step : steps) console.PrintJson(message::ToJson(step));
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const agent::v1::TurnStep& step : steps) {
    rows.push_back({Sanitize(step.step(), Lines::kOne), FormatDurationUsec(step.duration_usec()),
                    Sanitize(step.detail(), Lines::kOne)});
  }
  console.Print(FormatTable({"STEP", "TOOK", "DETAIL"}, rows));
  return kExitOk;
}

int Cancel(const Invocation& call) {
  agent::v1::CancelTurnRequest request;
  request.set_session_id(call.options.Word(0));
  request.set_turn_id(call.options.Word(1));
  return Call<agent::v1::CancelTurnResponse>(
      call, "cancel a turn", request, kCellCallMs, &SessionServiceStub::CancelTurn,
      [&](const agent::v1::CancelTurnResponse& response) {
        call.console->PrintLine(response.cancelled() ? "cancelled" : "it had ended already");
      });
}

}  // namespace

std::vector<Command> TurnCommands() {
  const PositionalSpec session = {.name = "SESSION"};
  return {
      {.name = "turn submit",
       .summary = "queue a turn; prints its id and does not wait",
       .positionals = {session, {.name = "PROMPT", .required = false}},
       .options = {{.name = "prompt",
                    .kind = ValueKind::kText,
                    .value_name = "TEXT",
                    .help = "what the agent is to do, in place of PROMPT; - reads stdin"},
                   {.name = "deadline",
                    .kind = ValueKind::kDuration,
                    .value_name = "DURATION",
                    .help = "the turn fails if it has not ended so long after it was accepted "
                            "(default: none)"},
                   {.name = "idempotency-key",
                    .kind = ValueKind::kText,
                    .value_name = "KEY",
                    .help = "if the session has a turn of this key, print its id and make none"}},
       .run = Submit},
      {.name = "turn status",
       .summary = "show a turn's status and answer",
       .positionals = {session, {.name = "TURN"}},
       .run = Status},
      {.name = "turn trace",
       .summary = "print the steps of a turn and how long each took (default: the latest one)",
       .positionals = {session, {.name = "TURN", .required = false}},
       .run = Trace},
      {.name = "turn cancel",
       .summary = "cancel a turn (default: the running one); returns when it has ended",
       .positionals = {session, {.name = "TURN", .required = false}},
       .run = Cancel},
  };
}

}  // namespace odyssey::ctl
