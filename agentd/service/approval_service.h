#ifndef ODYSSEY_AGENTD_SERVICE_APPROVAL_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_APPROVAL_SERVICE_H_

#include "agentd/approval/registry.h"
#include "agentd/session/sessions.h"
#include "odyssey/agent/v1/approval.grpc.pb.h"

namespace odyssey::service {

// approval.proto over the registry, which is borrowed, as the sessions are that it asks whose they
// are.
class ApprovalService final
    : public ::odyssey::agent::v1::ApprovalService::WithCallbackMethod_WatchApprovals<
          ::odyssey::agent::v1::ApprovalService::Service> {
 public:
  ApprovalService(approval::Registry* registry, const session::Sessions* sessions)
      : registry_(registry), sessions_(sessions) {}

  grpc::Status ListApprovals(grpc::ServerContext*, const agent::v1::ListApprovalsRequest*,
                             agent::v1::ListApprovalsResponse*) override;
  grpc::Status ResolveApproval(grpc::ServerContext*, const agent::v1::ResolveApprovalRequest*,
                               agent::v1::ResolveApprovalResponse*) override;
  grpc::ServerWriteReactor<agent::v1::Approval>* WatchApprovals(
      grpc::CallbackServerContext*, const agent::v1::WatchApprovalsRequest*) override;
  grpc::Status ListAllowed(grpc::ServerContext*, const agent::v1::ListAllowedRequest*,
                           agent::v1::ListAllowedResponse*) override;
  grpc::Status ForgetAllowed(grpc::ServerContext*, const agent::v1::ForgetAllowedRequest*,
                             agent::v1::ForgetAllowedResponse*) override;

 private:
  Status CheckMayAnswer(const agent::v1::ResolveApprovalRequest& request,
                        const approval::Answer& answer, const grpc::ServerContextBase& call) const;

  approval::Registry* const registry_;
  const session::Sessions* const sessions_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_APPROVAL_SERVICE_H_
