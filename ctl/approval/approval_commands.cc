// approval list|watch|show|allow|deny|granted|forget.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"
#include "ctl/view/approval_view.h"
#include "odyssey/agent/v1/approval.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Approval;
using agent::v1::ApprovalServiceStub;

constexpr char kNotPending[] = "unknown, or answered already";
constexpr char kListHint[] = "odyssey-ctl approval list shows the pending ones.";

Json ApprovalToJson(const Approval& approval) {
  Json out = message::ToJson(approval);
  Json& request = out["request"];
  Json arguments = Json::parse(approval.request().arguments_json(), nullptr, false);
  request["arguments"] =
      arguments.is_discarded() ? Json(approval.request().arguments_json()) : std::move(arguments);
  request.erase("arguments_json");
  return out;
}

void PrintApproval(const Console& console, const Approval& approval, Extent extent) {
  console.Print(Sanitize(approval.request().request_id() + " · " + approval.session_id() + " · " +
                             approval.created_at(),
                         Lines::kOne) +
                "\n" + FormatApproval(approval.request(), extent, console.color_out));
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list approvals", client.status()));
  const ApprovalServiceStub stub(client->channel());
  agent::v1::ListApprovalsRequest request;
  request.set_session_id(call.options.Text("session"));
  agent::v1::ListApprovalsResponse response;
  const Status status = stub.ListApprovals({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("list approvals", status));
  if (console.json) {
    Json list = Json::array();
    for (const Approval& approval : response.approvals()) list.push_back(ApprovalToJson(approval));
    console.PrintJson({{"approvals", std::move(list)}});
    return kExitOk;
  }
  for (const Approval& approval : response.approvals()) {
    PrintApproval(console, approval, Extent::kFolded);
  }
  if (response.approvals().empty()) console.PrintLine("no approvals are pending");
  return kExitOk;
}

int Show(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("show an approval", client.status()));
  const ApprovalServiceStub stub(client->channel());
  agent::v1::ListApprovalsResponse response;
  const Status status = stub.ListApprovals({kQuickCallMs}, {}, &response);
  if (!status.ok()) return console.Fail(client->Explain("show an approval", status));
  const std::string id = call.options.Word(0);
  for (const Approval& approval : response.approvals()) {
    if (approval.request().request_id() != id) continue;
    if (console.json) {
      console.PrintJson(ApprovalToJson(approval));
      return kExitOk;
    }
    PrintApproval(console, approval, Extent::kWhole);
    console.PrintLine("    digest " + Sanitize(approval.request().digest(), Lines::kOne));
    return kExitOk;
  }
  return console.Fail({"show approval " + id, kNotPending, kListHint});
}

int Watch(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("watch approvals", client.status()));
  const ApprovalServiceStub stub(client->channel());
  agent::v1::WatchApprovalsRequest request;
  request.set_session_id(call.options.Text("session"));
  auto stream = stub.WatchApprovals({}, request);
  Approval approval;
  while (stream.Read(&approval)) {
    console.json ? console.PrintJson(ApprovalToJson(approval))
                 : PrintApproval(console, approval, Extent::kFolded);
  }
  const Status status = stream.Finish();
  return status.ok() ? kExitOk : console.Fail(client->Explain("watch approvals", status));
}

int Resolve(const Invocation& call, agent::v1::ResolveApprovalRequest request) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("answer an approval", client.status()));
  const ApprovalServiceStub stub(client->channel());
  request.set_request_id(call.options.Word(0));
  request.set_digest(call.options.Text("digest"));
  agent::v1::ResolveApprovalResponse response;
  const Status status = stub.ResolveApproval({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("answer an approval", status));
  if (console.json) console.PrintJson(message::ToJson(response));
  if (response.resolved()) return kExitOk;
  return console.Fail({"answer approval " + request.request_id(), kNotPending, kListHint});
}

int Allow(const Invocation& call) {
  agent::v1::ResolveApprovalRequest request;
  request.set_decision(call.options.Has("always") ? agent::v1::DECISION_ALLOW_ALWAYS
                                                  : agent::v1::DECISION_ALLOW_ONCE);
  if (call.options.Has("session")) request.set_grant_scope(agent::v1::GRANT_SCOPE_SESSION);
  request.set_grant_duration_ms(call.options.DurationMs("for"));
  return Resolve(call, std::move(request));
}

int Deny(const Invocation& call) {
  agent::v1::ResolveApprovalRequest request;
  request.set_decision(agent::v1::DECISION_DENY);
  request.set_note(call.options.Text("note"));
  return Resolve(call, std::move(request));
}

int Granted(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list what is allowed", client.status()));
  const ApprovalServiceStub stub(client->channel());
  agent::v1::ListAllowedRequest request;
  request.set_session_id(call.options.Word(0));
  agent::v1::ListAllowedResponse response;
  const Status status = stub.ListAllowed({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("list what is allowed", status));
  if (console.json) {
    console.PrintJson(message::ToJson(response));
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const agent::v1::AllowedScope& allowed : response.allowed()) {
    rows.push_back({Sanitize(allowed.scope(), Lines::kOne),
                    Sanitize(allowed.by(), Lines::kOne) + " " + std::to_string(allowed.by_uid()),
                    Sanitize(allowed.request_id(), Lines::kOne)});
  }
  rows.empty() ? console.PrintLine("nothing is allowed without asking again")
               : console.Print(FormatTable({"SCOPE", "BY UID", "REQUEST"}, rows));
  return kExitOk;
}

int Forget(const Invocation& call) {
  const Console& console = *call.console;
  const std::string scope = call.options.Word(1);
  if (scope.empty() != call.options.Has("all")) {
    console.Fail({"forget what is allowed", "SCOPE or --all: give one",
                  "odyssey-ctl approval granted " + call.options.Word(0) + " lists the scopes."});
    return kExitUsage;
  }
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("forget what is allowed", client.status()));
  const ApprovalServiceStub stub(client->channel());
  agent::v1::ForgetAllowedRequest request;
  request.set_session_id(call.options.Word(0));
  request.set_scope(scope);
  agent::v1::ForgetAllowedResponse response;
  const Status status = stub.ForgetAllowed({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("forget what is allowed", status));
  if (console.json) console.PrintJson(message::ToJson(response));
  if (response.forgotten() > 0 || scope.empty()) return kExitOk;
  return console.Fail(
      {"forget " + scope, "it is not allowed in this session",
       "odyssey-ctl approval granted " + request.session_id() + " lists the scopes."});
}

}  // namespace

std::vector<Command> ApprovalCommands() {
  const OptionSpec session = {.name = "session",
                              .kind = ValueKind::kText,
                              .value_name = "ID",
                              .help = "only this session's"};
  const PositionalSpec request = {.name = "REQUEST"};
  const OptionSpec digest = {.name = "digest",
                             .kind = ValueKind::kText,
                             .value_name = "HEX",
                             .help = "fail unless the request has this digest"};
  return {
      {.name = "approval list",
       .summary = "list pending approvals",
       .options = {session},
       .run = List},
      {.name = "approval watch",
       .summary = "list pending approvals, then new ones as they come",
       .options = {session},
       .run = Watch},
      {.name = "approval show",
       .summary = "show a pending request whole, with its digest",
       .positionals = {request},
       .run = Show},
      {.name = "approval allow",
       .summary = "allow a request",
       .positionals = {request},
       .options = {{.name = "always",
                    .help = "and what its scope names, for the rest of the session"},
                   {.name = "session",
                    .help = "and what it adds to the cell, for the rest of the session"},
                   {.name = "for",
                    .kind = ValueKind::kDuration,
                    .value_name = "TIME",
                    .help = "with --session: for so long, such as 10m"},
                   digest},
       .run = Allow},
      {.name = "approval deny",
       .summary = "deny a request",
       .positionals = {request},
       .options = {{.name = "note",
                    .kind = ValueKind::kText,
                    .value_name = "TEXT",
                    .help = "why; the model sees it"},
                   digest},
       .run = Deny},
      {.name = "approval granted",
       .summary = "list the scopes that a session's \"always\" answers allow",
       .positionals = {{.name = "SESSION"}},
       .run = Granted},
      {.name = "approval forget",
       .summary = "ask again about calls that \"always\" allows",
       .positionals = {{.name = "SESSION"}, {.name = "SCOPE", .required = false}},
       .options = {{.name = "all", .help = "every scope of the session"}},
       .run = Forget},
  };
}

}  // namespace odyssey::ctl
