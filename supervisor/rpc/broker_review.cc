// The broker's part in reviews: what a cell made is asked of its file worker, and told.

#include <utility>

#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {

// Whatever the operator's ceiling has come to say of the cell: it made what it made.
Result<std::vector<Finding>> Broker::Review(const std::string& cell_id, ReviewScope scope) {
  CellPtr cell;
  {
    const Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, FindCell(cell_id));
  }
  if (!IsReviewable(cell->compiled)) return std::vector<Finding>();
  ODY_ASSIGN_OR_RETURN(const tool::Response answer, Ask(cell, ReviewRequest(cell->compiled)));
  if (answer.code != Code::kOk) return Status(answer.code, answer.error);
  std::vector<Finding> findings = JudgeReview(cell->compiled, answer);
  if (scope == ReviewScope::kNews) {
    const Lock lock(mutex_);
    findings = TakeNews(findings, &cell->told);
  }
  if (!findings.empty()) audit_->AddLimited(ReviewRecord(cell->id, findings), cell->id);
  return findings;
}

}  // namespace odyssey::supervisor
