#ifndef ODYSSEY_AGENTD_SERVICE_METRICS_COLLECTOR_H_
#define ODYSSEY_AGENTD_SERVICE_METRICS_COLLECTOR_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "agentd/bundle/bundle_store.h"
#include "agentd/metrics/metrics.h"
#include "agentd/session/sessions.h"
#include "odyssey/ops/v1/metrics.grpc.pb.h"

namespace odyssey::service {

// What one scrape gets: agentd's metrics, and behind them the supervisor's if it answers.
// Thread-safe.
class MetricsCollector final {
 public:
  // Borrowed, but for the channel to the supervisor.
  MetricsCollector(agent::Metrics* metrics, const session::Sessions* sessions,
                   const bundle::BundleStore* bundles,
                   const std::shared_ptr<grpc::Channel>& supervisor);

  std::string Collect();
  // The same for a caller of the API: root, an admin, or agentd's own uid.
  Result<std::string> CollectFor(const grpc::ServerContextBase& call);

 private:
  agent::Metrics::Now CountNow() const;

  agent::Metrics* const metrics_;
  const session::Sessions* const sessions_;
  const bundle::BundleStore* const bundles_;
  const std::unique_ptr<ops::v1::Metrics::Stub> supervisor_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_METRICS_COLLECTOR_H_
