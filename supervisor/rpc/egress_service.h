#ifndef ODYSSEY_SUPERVISOR_RPC_EGRESS_SERVICE_H_
#define ODYSSEY_SUPERVISOR_RPC_EGRESS_SERVICE_H_

#include "odyssey/supervisor/v1/egress.grpc.pb.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {

// The network policies of live cells, over gRPC. Blocking.
class EgressService final : public v1::Egress::Service {
 public:
  // `broker` is borrowed.
  explicit EgressService(Broker* broker) : broker_(broker) {}

  grpc::Status SetEgressPolicy(grpc::ServerContext* context,
                               const v1::SetEgressPolicyRequest* request,
                               v1::SetEgressPolicyResponse* response) override;
  grpc::Status RollBackEgressPolicy(grpc::ServerContext* context,
                                    const v1::RollBackEgressPolicyRequest* request,
                                    v1::RollBackEgressPolicyResponse* response) override;
  grpc::Status GetEgressPolicy(grpc::ServerContext* context,
                               const v1::GetEgressPolicyRequest* request,
                               v1::GetEgressPolicyResponse* response) override;
  grpc::Status ListEgressPolicies(grpc::ServerContext* context,
                                  const v1::ListEgressPoliciesRequest* request,
                                  v1::ListEgressPoliciesResponse* response) override;

 private:
  Broker* const broker_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EGRESS_SERVICE_H_
