#ifndef ODYSSEY_COMMON_RPC_METRICS_SERVICE_H_
#define ODYSSEY_COMMON_RPC_METRICS_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "common/base/status.h"
#include "odyssey/ops/v1/metrics.grpc.pb.h"

namespace odyssey::rpc {

// metrics.proto over what a daemon collects.
class MetricsService final : public ops::v1::Metrics::Service {
 public:
  // The text, or why the caller does not get it.
  using Collect = std::function<Result<std::string>(const grpc::ServerContextBase& call)>;

  explicit MetricsService(Collect collect);

  grpc::Status GetMetrics(grpc::ServerContext* context, const ops::v1::GetMetricsRequest* request,
                          ops::v1::GetMetricsResponse* response) override;

 private:
  const Collect collect_;
};

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_METRICS_SERVICE_H_
