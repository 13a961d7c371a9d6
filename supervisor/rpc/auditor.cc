#include "supervisor/rpc/auditor.h"

#include <optional>

#include "supervisor/rpc/audit_records.h"

namespace odyssey::supervisor {
namespace {

// Policies whose text has been recorded by this process; after that many all are recorded again.
constexpr size_t kMaxRecordedPolicies = 4096;

}  // namespace

void Auditor::OnPrepared(const CellFacts& cell, const PrepareSpec& spec, bool created) {
  if (recorded_policies_.size() > kMaxRecordedPolicies) recorded_policies_.clear();
  if (recorded_policies_.insert(cell.admission.digest).second) {
    log_->Add(PolicyRecord("operator", cell.admission.digest, {ceiling_->Describe().detail}));
  }
  if (recorded_policies_.insert(cell.compiled.digest).second) {
    log_->Add(PolicyRecord("cell", cell.compiled.digest, cell.compiled.explanation));
  }
  if (policy::IsDanger(spec.sandbox)) {
    log_->Add(GrantRecord("danger_full_access", spec.key, spec.owner_uid));
  }
  log_->Add(PrepareRecord(cell, spec, created));
  metrics_->OnPrepared(cell.admission.request.mode, created);
  if (created && cell.made_ahead) metrics_->OnPool(PoolEvent::kClaimed);
}

void Auditor::OnMadeAhead(const CellFacts& cell) {
  log_->Add(AheadRecord(cell));
  metrics_->OnPool(PoolEvent::kMade);
}

void Auditor::OnRemoved(const std::string& cell_id, bool purge) {
  log_->Add(RemoveRecord(cell_id, purge));
}

void Auditor::OnCellEnded(const CellFacts& cell, CellEnd how, const Status& why) {
  log_->Add(CellEndRecord(cell.id, why.message()));
  cell.claimed() ? metrics_->OnCellEnded(how) : metrics_->OnPool(PoolEvent::kUnused);
}

void Auditor::OnExecStarted(const CellFacts& cell, const ExecOptions& options) {
  log_->Add(ExecRecord(cell.id, cell.admission.owner.uid, options));
}

void Auditor::OnExecEnded(const CellFacts& cell, const ExecOptions& options,
                          const Outcome& outcome) {
  log_->Add(ExecEndRecord(cell.id, options, outcome));
  metrics_->OnExecEnded(outcome);
}

void Auditor::OnExecRefused(const std::string& cell_id, const Status& why) {
  log_->AddLimited(RefuseRecord("exec", cell_id, std::nullopt, why), cell_id);
  metrics_->OnRefused("exec", why);
}

void Auditor::OnDenied(const CellFacts& cell, const std::string& exec_id,
                       const explain::Denial& denial) {
  log_->AddLimited(DenyRecord(cell.id, exec_id, denial), cell.id);
  metrics_->OnDenied(denial);
}

void Auditor::OnEgress(const std::string& cell_id, const CellKey& key,
                       const egress_wire::Record& record) {
  metrics_->OnEgress(record);
  if (record.suppressed > 0) return log_->AddSuppressed("egress", cell_id, record.suppressed);
  log_->AddLimited(EgressRecord(cell_id, key.session_id, record), cell_id);
}

void Auditor::OnTraffic(const egress_wire::Traffic& more) { metrics_->OnTraffic(more); }

void Auditor::OnEgressPolicy(const CellFacts& cell, const EgressRevision& revision) {
  log_->Add(EgressPolicyRecord(cell.id, cell.key.session_id, revision));
}

void Auditor::OnFileOp(const CellFacts& cell, const tool::Request& request,
                       const tool::Response& response) {
  log_->Add(FileRecord(cell.id, request, response));
}

}  // namespace odyssey::supervisor
