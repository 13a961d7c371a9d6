#include "common/rpc/metrics_service.h"

#include <utility>

#include "common/rpc/status_map.h"

namespace odyssey::rpc {

MetricsService::MetricsService(Collect collect) : collect_(std::move(collect)) {}

grpc::Status MetricsService::GetMetrics(grpc::ServerContext* context,
                                        const ops::v1::GetMetricsRequest*,
                                        ops::v1::GetMetricsResponse* response) {
  Result<std::string> text = collect_(*context);
  if (!text.ok()) return ToGrpc(text.status());
  response->set_text(*std::move(text));
  return grpc::Status::OK;
}

}  // namespace odyssey::rpc
