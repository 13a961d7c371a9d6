#ifndef ODYSSEY_AGENTD_DAEMON_METRICS_LISTENER_H_
#define ODYSSEY_AGENTD_DAEMON_METRICS_LISTENER_H_

// Serves the metrics by HTTP: GET /metrics, on loopback alone, and nothing else.

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"

namespace odyssey::daemon {

// "ADDRESS:PORT", with an address of 127.0.0.0/8. INVALID_ARGUMENT names `option`.
Status CheckMetricsAddress(const std::string& option, const std::string& address);

class MetricsListener {
 public:
  // Ends what it serves.
  virtual ~MetricsListener() = default;
};

// `text` is called for each request, from threads of the listener. UNAVAILABLE says why the
// address cannot be listened on.
Result<std::unique_ptr<MetricsListener>> ListenForMetrics(const std::string& address,
                                                          std::function<std::string()> text);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_METRICS_LISTENER_H_
