#ifndef ODYSSEY_AGENTD_METRICS_METRICS_H_
#define ODYSSEY_AGENTD_METRICS_METRICS_H_

// What agentd counts (docs/METRICS.md): of the events that are appended to the sessions' journals,
// and of the ends of turns. Thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "common/metrics/registry.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::agent {

class Metrics final {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Metrics(const std::string& version);

  // Of any session, in the order of its journal.
  void OnEvent(const v1::Event& event, Time now = std::chrono::steady_clock::now());
  // Once a turn. `outcome`: "completed", "failed", "cancelled" or "interrupted". Also of one that
  // was not told: the journal may fail, and a turn has an end all the same.
  void OnTurnEnd(const std::string& turn_id, const std::string& outcome,
                 std::chrono::milliseconds took);

  // What is true now.
  struct Now {
    uint64_t sessions = 0, turns_running = 0, turns_queued = 0;
    uint64_t approvals_pending = 0;
    uint64_t journal_bytes = 0;
    uint64_t bundles = 0;
    bool supervisor_up = false;
  };
  // The text for Prometheus.
  std::string Text(const Now& now);

 private:
  struct Asked {
    std::string turn_id;
    Time at;
  };

  void OnModelCall(const v1::TurnStep& step);
  void OnResolved(const v1::ApprovalResolved& resolved, Time now);

  metrics::Registry registry_;
  metrics::Gauge *sessions_, *turns_running_, *turns_queued_, *approvals_pending_, *journal_bytes_,
      *bundles_, *supervisor_up_;
  metrics::Counter *events_, *turns_, *tool_calls_, *approvals_, *model_calls_, *tokens_, *cost_;
  metrics::Histogram *turn_seconds_, *approval_wait_, *model_seconds_;
  std::mutex mutex_;
  std::map<std::string, Asked> asked_;  // open requests, by id; guarded by mutex_
};

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_METRICS_METRICS_H_
