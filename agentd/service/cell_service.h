#ifndef ODYSSEY_AGENTD_SERVICE_CELL_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_CELL_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "agentd/session/sessions.h"
#include "odyssey/agent/v1/cell.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::service {

// The caller's cells, and what the policies of its sessions come to: the supervisor is asked, which
// serves no user itself.
class CellService final : public agent::v1::CellService::Service {
 public:
  // `sessions` is borrowed and outlives the service.
  CellService(session::Sessions* sessions, const std::shared_ptr<grpc::Channel>& supervisor)
      : sessions_(sessions), stub_(supervisor::v1::Supervisor::NewStub(supervisor)) {}

  grpc::Status ListCells(grpc::ServerContext* context, const agent::v1::ListCellsRequest* request,
                         agent::v1::ListCellsResponse* response) override;
  grpc::Status ExplainPolicy(grpc::ServerContext* context,
                             const agent::v1::ExplainPolicyRequest* request,
                             agent::v1::ExplainPolicyResponse* response) override;

 private:
  session::Sessions* const sessions_;
  const std::unique_ptr<supervisor::v1::Supervisor::Stub> stub_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_CELL_SERVICE_H_
