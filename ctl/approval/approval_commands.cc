// approval list|watch|show|allow|deny.
#include <memory>
#include <string>
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

int Resolve(const Invocation& call, agent::v1::Decision decision, const std::string& note) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("answer an approval", client.status()));
  const ApprovalServiceStub stub(client->channel());
  agent::v1::ResolveApprovalRequest request;
  request.set_request_id(call.options.Word(0));
  request.set_decision(decision);
  request.set_note(note);
  request.set_digest(call.options.Text("digest"));
  agent::v1::ResolveApprovalResponse response;
  const Status status = stub.ResolveApproval({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("answer an approval", status));
  if (console.json) console.PrintJson(message::ToJson(response));
  if (response.resolved()) return kExitOk;
  return console.Fail({"answer approval " + request.request_id(), kNotPending, kListHint});
}

int Allow(const Invocation& call) {
  return Resolve(call,
                 call.options.Has("always") ? agent::v1::DECISION_ALLOW_ALWAYS
                                            : agent::v1::DECISION_ALLOW_ONCE,
                 "");
}

int Deny(const Invocation& call) {
  return Resolve(call, agent::v1::DECISION_DENY, call.options.Text("note"));
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
  };
}

}  // namespace odyssey::ctl
