#ifndef ODYSSEY_AGENTD_SERVICE_CHANGES_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_CHANGES_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "agentd/session/sessions.h"
#include "odyssey/supervisor/v1/changes.grpc.pb.h"

namespace odyssey::service {

// The changes of sessions, as the supervisor serves them: of a key only session_id counts, and a
// session is for whom it is for. Each call is passed on.
class ChangesService final : public supervisor::v1::Changes::Service {
 public:
  // `sessions` is borrowed and outlives the service.
  ChangesService(session::Sessions* sessions, const std::shared_ptr<grpc::Channel>& supervisor)
      : sessions_(sessions), stub_(supervisor::v1::Changes::NewStub(supervisor)) {}

  // Those of the caller's sessions.
  grpc::Status ListReviewed(grpc::ServerContext* context,
                            const supervisor::v1::ListReviewedRequest* request,
                            supervisor::v1::ListReviewedResponse* response) override;
  grpc::Status ListChanges(
      grpc::ServerContext* context, const supervisor::v1::ListChangesRequest* request,
      grpc::ServerWriter<supervisor::v1::ListChangesResponse>* writer) override;
  grpc::Status DiffChanges(
      grpc::ServerContext* context, const supervisor::v1::DiffChangesRequest* request,
      grpc::ServerWriter<supervisor::v1::DiffChangesResponse>* writer) override;
  grpc::Status CommitChanges(grpc::ServerContext* context,
                             const supervisor::v1::CommitChangesRequest* request,
                             supervisor::v1::CommitChangesResponse* response) override;
  grpc::Status UndoCommits(grpc::ServerContext* context,
                           const supervisor::v1::UndoCommitsRequest* request,
                           supervisor::v1::UndoCommitsResponse* response) override;
  grpc::Status DiscardChanges(grpc::ServerContext* context,
                              const supervisor::v1::DiscardChangesRequest* request,
                              supervisor::v1::DiscardChangesResponse* response) override;
  grpc::Status ListCommits(grpc::ServerContext* context,
                           const supervisor::v1::ListCommitsRequest* request,
                           supervisor::v1::ListCommitsResponse* response) override;

 private:
  session::Sessions* const sessions_;
  const std::unique_ptr<supervisor::v1::Changes::Stub> stub_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_CHANGES_SERVICE_H_
