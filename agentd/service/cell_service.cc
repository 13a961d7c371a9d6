#include "agentd/service/cell_service.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "agentd/sandbox/cell_spec_proto.h"
#include "agentd/service/session_access.h"
#include "agentd/session/cell_policy.h"
#include "common/base/refusal.h"
#include "common/base/utf8.h"
#include "common/rpc/status_map.h"
#include "policy/convert/refusal_proto.h"
#include "policy/convert/sandbox_proto.h"
#include "policy/egress/policy_text.h"
#include "policy/egress/reach.h"

namespace odyssey::service {
namespace {

namespace pb = agent::v1;
namespace sup = supervisor::v1;
using rpc::ToGrpc;

constexpr std::chrono::seconds kDeadline{30};

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + kDeadline);
}

bool IsFor(const sup::CellInfo& cell, const Peer& peer) {
  return peer.uid == 0 || peer.is_admin || peer.uid == cell.owner_uid();
}

pb::Cell ForClient(sup::CellInfo info, session::Sessions* sessions) {
  pb::Cell out;
  if (const auto limits = sessions->LimitsOfCell(info.key().session_id())) {
    *out.mutable_limits() = policy::ToProto(*limits);
  }
  info.clear_host_uid();
  info.clear_workspace_path();
  *out.mutable_info() = std::move(info);
  return out;
}

pb::PolicyDecision ToProto(const rules::Decision& decision) {
  pb::PolicyDecision out;
  out.set_verdict(std::string(rules::VerdictName(decision.verdict)));
  out.set_rule(SanitizeUtf8(decision.rule));
  out.set_reason(SanitizeUtf8(decision.reason));
  return out;
}

// In the words of `odyssey-ctl policy check`.
rules::Decision DecisionOf(const sup::CheckPolicyResponse& answer) {
  const bool allowed = answer.verdict() == sup::POLICY_VERDICT_ALLOW;
  rules::Decision out{.verdict = allowed ? rules::Verdict::kAllow : rules::Verdict::kDeny,
                      .rule = answer.rule(),
                      .reason = answer.reason()};
  // The bundle's mounts would not be shown under a name that a link leads away from.
  const bool found = !answer.host_path().empty() || !answer.through_link();
  if (found && !answer.grant().text().empty()) {
    out.reason +=
        std::string("; to ") + (allowed ? "write" : "allow") + ": " + answer.grant().text();
  }
  return out;
}

// A question about a session's policy, whose answer is made of the supervisor's.
struct Question {
  const pb::ExplainPolicyRequest& request;
  const session::CellPolicy& policy;

  bool AsksEndpoints() const {
    return request.has_destination() &&
           policy.setup.cell.request.network == policy::Network::kEgress;
  }

  sup::CheckPolicyRequest ForSupervisor() const {
    sup::CheckPolicyRequest out;
    *out.mutable_cell() = sandbox::ToProto(policy.setup.cell);
    for (auto& [name, value] : *out.mutable_cell()->mutable_sandbox()->mutable_env()) value.clear();
    if (request.has_path()) out.set_path(request.path());
    if (request.has_destination() && !AsksEndpoints()) out.set_network(true);
    return out;
  }

  // Of a cell that would be made.
  Result<rules::Decision> Decide(const sup::CheckPolicyResponse& answer) const {
    if (request.has_command()) return DecideCommand(policy.setup, request.command());
    if (!AsksEndpoints()) return DecisionOf(answer);
    ODY_ASSIGN_OR_RETURN(const egress::Destination to,
                         egress::ParseDestination(request.destination()));
    return DecideDestination(policy.setup, to);
  }
};

Status CheckQuestion(const pb::ExplainPolicyRequest& request) {
  if (!request.has_destination()) return OkStatus();
  const Status parsed = egress::ParseDestination(request.destination()).status();
  if (parsed.ok()) return parsed;
  return AboutField("destination", InvalidArgument("destination " + parsed.message()));
}

void PutPolicy(const session::CellPolicy& policy, pb::ExplainPolicyResponse* out) {
  const policy::SandboxRequest& request = policy.setup.cell.request;
  out->mutable_values()->Assign(policy.values.begin(), policy.values.end());
  *out->mutable_limits() = policy::ToProto(policy.limits);
  if (request.network == policy::Network::kEgress) {
    out->set_network_policy(SanitizeUtf8(egress::PolicyText(request.egress)));
  }
}

// `answer`: the supervisor's.
Status PutAnswer(const Question& question, const sup::CheckPolicyResponse& answer,
                 pb::ExplainPolicyResponse* out) {
  const Status refusal = policy::FromProto(answer.refusal());
  if (refusal.detail().field == "path") return refusal;  // the question is wrong, and no policy
  *out->mutable_plan() = answer.plan();
  *out->mutable_granted() = answer.granted();
  out->set_policy_digest(answer.policy_digest());
  if (answer.has_refusal()) {
    out->set_refusal(SanitizeUtf8(question.policy.setup.origins.Locate(refusal).message()));
  }
  if (question.request.question_case() == pb::ExplainPolicyRequest::QUESTION_NOT_SET) {
    return OkStatus();
  }
  // Nothing happens in a cell that is not made.
  rules::Decision decision = {
      .verdict = rules::Verdict::kDeny, .rule = answer.rule(), .reason = out->refusal()};
  if (!answer.has_refusal()) {
    ODY_ASSIGN_OR_RETURN(decision, question.Decide(answer));
  }
  *out->mutable_decision() = ToProto(decision);
  return OkStatus();
}

}  // namespace

grpc::Status CellService::ListCells(grpc::ServerContext* context, const pb::ListCellsRequest*,
                                    pb::ListCellsResponse* response) {
  const Result<Peer> peer = PeerOf(*sessions_, *context, "ListCells");
  if (!peer.ok()) return ToGrpc(peer.status());
  sup::ListCellsResponse all;
  grpc::ClientContext client;
  SetDeadline(&client);
  const grpc::Status listed = stub_->ListCells(&client, {}, &all);
  if (!listed.ok()) return listed;
  std::vector<sup::CellInfo> cells(all.cells().begin(), all.cells().end());
  std::stable_sort(cells.begin(), cells.end(),
                   [](const auto& a, const auto& b) { return a.created_at() < b.created_at(); });
  for (sup::CellInfo& cell : cells) {
    if (!IsFor(cell, *peer)) continue;
    *response->add_cells() = ForClient(std::move(cell), sessions_);
  }
  return grpc::Status::OK;
}

grpc::Status CellService::ExplainPolicy(grpc::ServerContext* context,
                                        const pb::ExplainPolicyRequest* request,
                                        pb::ExplainPolicyResponse* response) {
  const std::string& id = request->session_id();
  Status status = CheckCallerOrAdmin(*sessions_, id, *context, "ExplainPolicy");
  if (status.ok()) status = CheckQuestion(*request);
  if (!status.ok()) return ToGrpc(status);
  const Result<session::CellPolicy> policy = sessions_->PolicyOf(id);
  if (!policy.ok()) return ToGrpc(policy.status());
  const Question question = {*request, *policy};

  sup::CheckPolicyResponse answer;
  grpc::ClientContext client;
  SetDeadline(&client);
  const grpc::Status asked = stub_->CheckPolicy(&client, question.ForSupervisor(), &answer);
  if (!asked.ok()) return asked;
  PutPolicy(*policy, response);
  return ToGrpc(PutAnswer(question, answer, response));
}

}  // namespace odyssey::service
