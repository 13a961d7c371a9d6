// The broker's part in the audit log: nothing is done that cannot be recorded, and what is done, or
// refused, is.

#include <algorithm>
#include <utility>

#include "policy/executables/closure.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/exec_denials.h"

namespace odyssey::supervisor {
namespace {

// Policies whose text has been recorded by this process; after that many all are recorded again.
constexpr size_t kMaxRecordedPolicies = 4096;

std::string KeyText(const CellKey& key) {
  return key.session_id + "/" + key.agent_id + "/" + key.kind + "/" + key.component;
}

bool Changes(tool::Op op) { return op == tool::Op::kWrite || op == tool::Op::kEdit; }

std::string FindOnHost(const std::string& name) {
  return executables::FindProgram(executables::HostTree(""), name);
}

}  // namespace

Result<CellView> Broker::Prepare(const PrepareSpec& spec, bool* created) {
  ODY_RETURN_IF_ERROR(audit_->Admit());
  Result<CellView> view = PrepareAdmitted(spec, created);
  if (!view.ok()) {
    const std::string about = KeyText(spec.key);
    audit_->AddLimited(RefuseRecord("prepare", about, spec.owner_uid, view.status()), about);
  }
  return view;
}

// Limited by owner, not by key: each session that is tried has a key of its own.
Status Broker::Check(const PrepareSpec& spec) {
  Status allowed = CheckAllowed(spec);
  if (!allowed.ok()) {
    audit_->AddLimited(RefuseRecord("check", KeyText(spec.key), spec.owner_uid, allowed),
                       "uid " + std::to_string(spec.owner_uid));
  }
  return allowed;
}

// Called with the lock.
void Broker::RecordPrepared(const Cell& cell, const PrepareSpec& spec, bool created) {
  if (recorded_policies_.size() > kMaxRecordedPolicies) recorded_policies_.clear();
  if (recorded_policies_.insert(cell.admission.digest).second) {
    audit_->Add(PolicyRecord("operator", cell.admission.digest, {ceiling_->Describe().detail}));
  }
  if (recorded_policies_.insert(cell.compiled.digest).second) {
    audit_->Add(PolicyRecord("cell", cell.compiled.digest, cell.compiled.explanation));
  }
  if (spec.sandbox.mode == policy::Mode::kDangerFullAccess) {
    audit_->Add(GrantRecord("danger_full_access", spec.key, spec.owner_uid));
  }
  audit_->Add(
      PrepareRecord(cell, spec.owner_uid, spec.bundle_digest, spec.sandbox.workspace, created));
}

Result<std::shared_ptr<ExecSession>> Broker::Exec(const ExecSpec& spec, ExecSink* sink) {
  ODY_RETURN_IF_ERROR(audit_->Admit());
  auto session = ExecAdmitted(spec, sink);
  if (!session.ok()) {
    audit_->AddLimited(RefuseRecord("exec", spec.cell_id, std::nullopt, session.status()),
                       spec.cell_id);
  }
  return session;
}

explain::Cell Broker::Known(const Cell& cell) { return {cell.request, cell.compiled}; }

// Called with the session's lock, and with or without the broker's, which it does not take.
ExecSession::Conclude Broker::ConclusionOf(const CellPtr& cell) {
  return [this, cell](const ExecOptions& options, Outcome* outcome, std::string_view stderr_tail) {
    const explain::Cell known = Known(*cell);
    std::vector<explain::Denial> denials =
        FindDenials(known, options, *outcome, stderr_tail, FindOnHost);
    if (outcome->never_forked) outcome->message = DescribeNeverForked(known);
    outcome->denials = static_cast<uint32_t>(
        std::min<uint64_t>(denials.size() + outcome->refused_more, UINT32_MAX));
    for (explain::Denial& denial : denials) {
      denial.session_id = cell->key.session_id;
      audit_->AddLimited(DenyRecord(cell->id, options.exec_id, denial), cell->id);
    }
    audit_->Add(ExecEndRecord(cell->id, options, *outcome));
    if (denials.size() > kMaxDenialsSent) denials.resize(kMaxDenialsSent);
    return denials;
  };
}

Result<FileAnswer> Broker::FileOp(const std::string& cell_id, const tool::Request& request) {
  if (Changes(request.op)) ODY_RETURN_IF_ERROR(audit_->Admit());
  CellPtr cell;
  {
    const Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, FindAllowed(cell_id));
  }
  ODY_ASSIGN_OR_RETURN(tool::Response response, Ask(cell, request));
  return RecordFileOp(*cell, request, std::move(response));
}

FileAnswer Broker::RecordFileOp(const Cell& cell, const tool::Request& request,
                                tool::Response response) {
  if (Changes(request.op)) audit_->Add(FileRecord(cell.id, request, response));
  FileAnswer answer{std::move(response), std::nullopt};
  const bool refused = answer.response.code == Code::kPermissionDenied;
  if (!refused || cell.compiled.unconfined) return answer;
  answer.denial = FindFileDenial(Known(cell), request, answer.response);
  answer.denial->session_id = cell.key.session_id;
  audit_->AddLimited(DenyRecord(cell.id, "", *answer.denial), cell.id);
  return answer;
}

}  // namespace odyssey::supervisor
