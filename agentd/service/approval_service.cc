#include "agentd/service/approval_service.h"

#include <algorithm>
#include <utility>

#include "agentd/service/convert.h"
#include "agentd/service/follow_reactor.h"
#include "agentd/service/session_access.h"

namespace odyssey::service {
namespace {

constexpr size_t kMaxNoteBytes = 4096;

// Whether the peer may see the question. A session that is gone takes its questions along.
bool IsShownTo(const Peer& peer, const approval::Question& question,
               const session::Sessions& sessions) {
  const Result<session::SessionPtr> record = sessions.Get(question.session_id());
  return record.ok() && IsFor(**record, peer);
}

// The open questions, and then new ones.
class QuestionSource final : public FollowSource<pb::Approval> {
 public:
  QuestionSource(approval::Registry* registry, const session::Sessions* sessions, const Peer& peer,
                 std::string session_id)
      : registry_(registry), sessions_(sessions), peer_(peer), session_id_(std::move(session_id)) {}

  Result<std::vector<pb::Approval>> Next() override {
    // First, so that a question added in between is looked for again instead of missed.
    const uint64_t last = registry_->last_ordinal();
    std::vector<pb::Approval> out;
    for (const auto& open : registry_->After(after_, session_id_)) {
      after_ = open.ordinal;
      if (IsShownTo(peer_, open.question, *sessions_)) out.push_back(open.question);
    }
    after_ = std::max(after_, last);
    return out;
  }
  bool NotifyWhenMore(std::function<void()> ready) override {
    return registry_->NotifyAfter(after_, std::move(ready));
  }
  bool ended() const override { return false; }

 private:
  approval::Registry* const registry_;
  const session::Sessions* const sessions_;
  const Peer peer_;
  const std::string session_id_;
  uint64_t after_ = 0;
};

}  // namespace

grpc::Status ApprovalService::ListApprovals(grpc::ServerContext* context,
                                            const pb::ListApprovalsRequest* request,
                                            pb::ListApprovalsResponse* response) {
  const Result<Peer> peer = PeerOf(*sessions_, *context, "ListApprovals");
  if (!peer.ok()) return rpc::ToGrpc(peer.status());
  for (const auto& open : registry_->After(0, request->session_id())) {
    if (!IsShownTo(*peer, open.question, *sessions_)) continue;
    *response->add_approvals() = open.question;
  }
  return grpc::Status::OK;
}

// A request that is not open is not checked: Resolve reports it.
Status ApprovalService::CheckMayAnswer(const pb::ResolveApprovalRequest& request,
                                       const approval::Answer& answer,
                                       const grpc::ServerContextBase& call) const {
  const std::optional<approval::Question> open = registry_->Find(request.request_id());
  if (!open) return OkStatus();
  ODY_RETURN_IF_ERROR(CheckCallerOrAdmin(*sessions_, open->session_id(), call, "ResolveApproval"));
  ODY_RETURN_IF_ERROR(approval::CheckAnswer(open->request(), answer));
  if (request.digest().empty() || request.digest() == open->request().digest()) return OkStatus();
  return FailedPrecondition("digest " + request.digest() + ": the request's is " +
                            open->request().digest());
}

grpc::Status ApprovalService::ResolveApproval(grpc::ServerContext* context,
                                              const pb::ResolveApprovalRequest* request,
                                              pb::ResolveApprovalResponse* response) {
  const Result<approval::Decision> decision = FromProto(request->decision());
  if (!decision.ok()) return rpc::ToGrpc(decision.status());
  if (request->note().size() > kMaxNoteBytes) {
    return rpc::ToGrpc(
        InvalidArgument("note: at most " + std::to_string(kMaxNoteBytes) + " bytes"));
  }
  const Result<Caller> caller = CallerWithToken(sessions_->runtime(), *context);
  if (!caller.ok()) return rpc::ToGrpc(caller.status());
  const approval::Answer answer{
      *decision,       request->note(),        caller->uid,
      "client",        request->grant_scope(), request->grant_duration_ms(),
      caller->token_id};
  const Status may = CheckMayAnswer(*request, answer, *context);
  if (!may.ok()) return rpc::ToGrpc(may);
  response->set_resolved(registry_->Resolve(request->request_id(), answer));
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<pb::Approval>* ApprovalService::WatchApprovals(
    grpc::CallbackServerContext* context, const pb::WatchApprovalsRequest* request) {
  const Result<Peer> peer = PeerOf(*sessions_, *context, "WatchApprovals");
  if (!peer.ok()) return new FailedReactor<pb::Approval>(peer.status());
  return FollowReactor<pb::Approval>::Start(
      std::make_unique<QuestionSource>(registry_, sessions_, *peer, request->session_id()),
      EndOf(sessions_->runtime(), peer->token_id));
}

grpc::Status ApprovalService::ListAllowed(grpc::ServerContext* context,
                                          const pb::ListAllowedRequest* request,
                                          pb::ListAllowedResponse* response) {
  const Status may = CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "ListAllowed");
  if (!may.ok()) return rpc::ToGrpc(may);
  for (pb::AllowedScope& allowed : registry_->Allowed(request->session_id())) {
    *response->add_allowed() = std::move(allowed);
  }
  return grpc::Status::OK;
}

grpc::Status ApprovalService::ForgetAllowed(grpc::ServerContext* context,
                                            const pb::ForgetAllowedRequest* request,
                                            pb::ForgetAllowedResponse* response) {
  const Status may =
      CheckCallerOrAdmin(*sessions_, request->session_id(), *context, "ForgetAllowed");
  if (!may.ok()) return rpc::ToGrpc(may);
  response->set_forgotten(
      static_cast<uint32_t>(registry_->Forget(request->session_id(), request->scope())));
  return grpc::Status::OK;
}

}  // namespace odyssey::service
