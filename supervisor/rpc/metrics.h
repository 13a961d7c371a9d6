#ifndef ODYSSEY_SUPERVISOR_RPC_METRICS_H_
#define ODYSSEY_SUPERVISOR_RPC_METRICS_H_

// What the supervisor counts (docs/METRICS.md): of the events that are recorded, in the same
// places, and of odyssey-egress by the decisions and the counts that it sends. Thread-safe.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/metrics/registry.h"
#include "policy/explain/denial.h"
#include "policy/model/request.h"
#include "supervisor/rpc/outcome.h"
#include "supervisor/wire/egress_wire.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

// How a cell came to have no process.
enum class CellEnd {
  kStopped,  // it was removed, replaced, or used up
  kMemory,   // its memory limit was reached
  kFailed,   // anything else
};

enum class Transfer { kIn, kOut };

// Of a cell that is made ahead of need.
enum class PoolEvent { kMade, kClaimed, kUnused };

class Metrics final {
 public:
  Metrics();

  void OnPrepared(policy::Mode mode, bool created);
  // From the request for a cell that was made to its answer.
  void OnMade(std::chrono::steady_clock::duration took);
  void OnCellEnded(CellEnd how);
  void OnPool(PoolEvent event);
  void OnExecEnded(const Outcome& outcome);
  // `what`: of the record of type "refuse".
  void OnRefused(std::string_view what, const Status& why);
  void OnDenied(const explain::Denial& denial);
  void OnFileOp(tool::Op op, bool ok);
  void OnTransferred(Transfer direction, uint64_t bytes);
  void OnEgress(const egress_wire::Record& record);
  // Bytes that passed since the last call.
  void OnTraffic(const egress_wire::Traffic& more);

  // What is true now.
  struct Now {
    uint64_t cells = 0, max_cells = 0;
    uint64_t cells_ahead = 0;  // of these
    uint64_t execs_running = 0;
    uint64_t audit_records = 0;  // since the start
    bool audit_writable = false;
    bool egress_up = false;
    uint64_t connections_open = 0;  // of odyssey-egress
  };
  // The text for Prometheus.
  std::string Text(const Now& now);

 private:
  metrics::Registry registry_;
  metrics::Gauge *cells_, *cells_ahead_, *max_cells_, *execs_running_, *audit_writable_,
      *egress_up_;
  metrics::Gauge* connections_open_;
  metrics::Counter *cells_made_, *cells_reused_, *cell_ends_, *pool_, *execs_, *refusals_,
      *denials_;
  metrics::Counter *file_ops_, *transferred_, *audit_records_;
  metrics::Histogram *preparation_, *launch_, *exec_seconds_;
  metrics::Counter *decisions_, *egress_bytes_, *egress_tokens_, *egress_cost_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_METRICS_H_
