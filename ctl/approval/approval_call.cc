#include "ctl/approval/approval_call.h"

#include "ctl/client/client.h"
#include "odyssey/agent/v1/approval.stub.h"

namespace odyssey::ctl {

agent::v1::ResolveApprovalRequest AnswerRequest(const agent::v1::PermissionRequested& asked,
                                                const Answered& answer) {
  agent::v1::ResolveApprovalRequest request;
  request.set_request_id(asked.request_id());
  request.set_decision(answer.decision);
  request.set_note(answer.note);
  request.set_digest(asked.digest());
  request.set_grant_scope(answer.grant_scope);
  return request;
}

AnswerSent SendAnswer(const Locations& locations, const agent::v1::PermissionRequested& asked,
                      const Answered& answer) {
  constexpr char kDoing[] = "answer the approval";
  const Result<Client> client = Client::Connect(Daemon::kAgentd, locations);
  if (!client.ok()) return {ExplainConnect(kDoing, client.status())};
  agent::v1::ResolveApprovalResponse response;
  const agent::v1::ApprovalServiceStub stub(client->channel());
  const Status status =
      stub.ResolveApproval({kQuickCallMs}, AnswerRequest(asked, answer), &response);
  if (!status.ok()) return {client->Explain(kDoing, status)};
  return {std::nullopt, !response.resolved()};
}

}  // namespace odyssey::ctl
