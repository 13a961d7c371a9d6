#include "supervisor/rpc/egress_service.h"

#include "common/rpc/peer_uid.h"
#include "common/rpc/status_map.h"
#include "policy/convert/egress_proto.h"

namespace odyssey::supervisor {
namespace {

void ToProto(const EgressRevision& revision, bool in_force, v1::EgressRevision* out) {
  out->set_revision(revision.number);
  out->set_state(!in_force         ? v1::EGRESS_REVISION_STATE_SUPERSEDED
                 : revision.loaded ? v1::EGRESS_REVISION_STATE_LOADED
                                   : v1::EGRESS_REVISION_STATE_PENDING);
  out->set_digest(revision.digest);
  out->set_created_at(revision.created_at);
  out->set_source(revision.source);
  out->set_repeats(revision.repeats);
  out->set_by_uid(revision.by_uid);
}

}  // namespace

grpc::Status EgressService::SetEgressPolicy(grpc::ServerContext* context,
                                            const v1::SetEgressPolicyRequest* request,
                                            v1::SetEgressPolicyResponse* response) {
  egress::NetworkPolicy policy;
  if (const Status read = policy::FromProto(request->policy(), &policy, "policy"); !read.ok()) {
    return rpc::ToGrpc(read);
  }
  const EgressOrder order{.cell_id = request->cell_id(),
                          .expected_revision = request->expected_revision(),
                          .by_uid = rpc::PeerUid(context->peer())};
  const auto set = broker_->SetEgress(order, policy);
  if (!set.ok()) return rpc::ToGrpc(set.status());
  ToProto(set->revision, /*in_force=*/true, response->mutable_revision());
  response->set_changed(set->changed);
  return grpc::Status::OK;
}

grpc::Status EgressService::RollBackEgressPolicy(grpc::ServerContext* context,
                                                 const v1::RollBackEgressPolicyRequest* request,
                                                 v1::RollBackEgressPolicyResponse* response) {
  const EgressOrder order{.cell_id = request->cell_id(), .by_uid = rpc::PeerUid(context->peer())};
  const auto set = broker_->RollBackEgress(order, request->revision());
  if (!set.ok()) return rpc::ToGrpc(set.status());
  ToProto(set->revision, /*in_force=*/true, response->mutable_revision());
  return grpc::Status::OK;
}

grpc::Status EgressService::GetEgressPolicy(grpc::ServerContext*,
                                            const v1::GetEgressPolicyRequest* request,
                                            v1::GetEgressPolicyResponse* response) {
  const auto all = broker_->EgressOf(request->cell_id());
  if (!all.ok()) return rpc::ToGrpc(all.status());
  const auto found = all->Find(request->revision());
  if (!found.ok()) return rpc::ToGrpc(found.status());
  ToProto(*found, found->number == all->current().number, response->mutable_revision());
  *response->mutable_policy() = policy::ToProto(found->policy);
  return grpc::Status::OK;
}

grpc::Status EgressService::ListEgressPolicies(grpc::ServerContext*,
                                               const v1::ListEgressPoliciesRequest* request,
                                               v1::ListEgressPoliciesResponse* response) {
  const auto all = broker_->EgressOf(request->cell_id());
  if (!all.ok()) return rpc::ToGrpc(all.status());
  for (auto it = all->all().rbegin(); it != all->all().rend(); ++it) {
    ToProto(*it, it->number == all->current().number, response->add_revisions());
  }
  return grpc::Status::OK;
}

}  // namespace odyssey::supervisor
