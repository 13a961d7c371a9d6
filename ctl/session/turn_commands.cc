// turn submit|status|cancel.
#include <memory>
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
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
      {.name = "turn cancel",
       .summary = "cancel a turn (default: the running one); returns when it has ended",
       .positionals = {session, {.name = "TURN", .required = false}},
       .run = Cancel},
  };
}

}  // namespace odyssey::ctl
