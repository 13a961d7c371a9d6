#ifndef ODYSSEY_SUPERVISOR_RPC_AUDITOR_H_
#define ODYSSEY_SUPERVISOR_RPC_AUDITOR_H_

// Observes what happens to cells and commands, records it and counts it. For the loop's thread
// alone.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/explain/denial.h"
#include "supervisor/rpc/audit_log.h"
#include "supervisor/rpc/cell_spec.h"
#include "supervisor/rpc/egress_revisions.h"
#include "supervisor/rpc/exec.h"
#include "supervisor/rpc/metrics.h"
#include "supervisor/wire/egress_wire.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

class Auditor final {
 public:
  // All are borrowed.
  Auditor(AuditLog* log, CeilingGate* ceiling, Metrics* metrics)
      : log_(log), ceiling_(ceiling), metrics_(metrics) {}

  // A cell was made, or answered warm.
  void OnPrepared(const CellFacts& cell, const PrepareSpec& spec, bool created);
  void OnRemoved(const std::string& cell_id, bool purge);
  // What nobody has asked for is not made while it cannot be recorded.
  bool CanRecord() const { return log_->State().ok(); }
  // A cell without a key is ready, or about to be claimed.
  void OnMadeAhead(const CellFacts& cell);
  void OnCellEnded(const CellFacts& cell, CellEnd how, const Status& why);

  void OnExecStarted(const CellFacts& cell, const ExecOptions& options);
  void OnExecEnded(const CellFacts& cell, const ExecOptions& options, const Outcome& outcome);
  void OnExecRefused(const std::string& cell_id, const Status& why);
  // Of a command, or with an empty `exec_id` of a file operation.
  void OnDenied(const CellFacts& cell, const std::string& exec_id, const explain::Denial& denial);
  // A decision of odyssey-egress about what the cell connects to.
  void OnEgress(const std::string& cell_id, const CellKey& key, const egress_wire::Record& record);
  // Bytes that passed since the last call. Counted, and not recorded.
  void OnTraffic(const egress_wire::Traffic& more);
  // The policy by which it is decided from now on.
  void OnEgressPolicy(const CellFacts& cell, const EgressRevision& revision);
  // Of one that writes, also where it failed.
  void OnFileOp(const CellFacts& cell, const tool::Request& request,
                const tool::Response& response);

 private:
  AuditLog* const log_;
  CeilingGate* const ceiling_;  // for its text
  Metrics* const metrics_;
  std::set<std::string> recorded_policies_;  // digests
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_AUDITOR_H_
