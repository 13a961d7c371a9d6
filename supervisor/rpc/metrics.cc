#include "supervisor/rpc/metrics.h"

#include <algorithm>
#include <vector>

#include "common/base/version.h"
#include "common/message/enum_name.h"
#include "policy/model/mode_name.h"

namespace odyssey::supervisor {
namespace {

using metrics::Label;
using metrics::Series;

constexpr double kUsecPerSecond = 1e6;

// Of each outcome that a command can have.
std::vector<std::string> OutcomeNames() {
  std::vector<std::string> out;
  const auto* type = v1::OutcomeKind_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    if (type->value(i)->number() != 0) out.push_back(message::EnumName(*type->value(i)));
  }
  return out;
}

std::vector<std::string> CodeNames() {
  std::vector<std::string> out;
  for (int code = 1; code <= static_cast<int>(Code::kUnauthenticated); ++code) {
    out.emplace_back(CodeName(static_cast<Code>(code)));
  }
  return out;
}

std::vector<std::string> OpNames() {
  std::vector<std::string> out;
  for (const tool::ClientOp& row : tool::kClientOps) out.emplace_back(row.name);
  return out;
}

Label Verdicts() { return {"verdict", {"allowed", "denied", "audited"}}; }

// A worker of odyssey-egress reads what cells and servers send, so its words are not trusted.
Label EgressCodes() {
  return {"code",
          {"none", "policy_denied", "ssrf_denied", "sni_mismatch", "not_tls", "malformed_request",
           "malformed_message", "request_authority_mismatch", "request_timeout", "budget_exceeded",
           "overloaded", "upstream_unreachable", "upstream_timeout", "upstream_malformed",
           "idle_timeout", "credential"}};
}

Label EgressWays() {
  return {"way", {"connect", "request", "socks", "tcp", "dns", "accept", "unknown"}};
}

std::string CodeLabel(const std::string& code) {
  if (code.empty()) return "none";
  return code.rfind("credential_", 0) == 0 ? "credential" : code;
}

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Metrics::Metrics()
    : cells_(registry_.AddGauge(
          {"odyssey_supervisor_cells", "Cells that there are, those that start or end included."})),
      cells_ahead_(registry_.AddGauge(
          {"odyssey_supervisor_cells_ahead",
           "Of these, cells that were made ahead of need and have no key yet."})),
      max_cells_(registry_.AddGauge(
          {"odyssey_supervisor_cells_max", "Most cells that there may be at a time."})),
      execs_running_(registry_.AddGauge(
          {"odyssey_supervisor_execs_running", "Commands that run or wait for a slot."})),
      audit_writable_(registry_.AddGauge(
          {"odyssey_supervisor_audit_writable",
           "1: the audit log is written. 0: it cannot be, and new work is refused."})),
      egress_up_(registry_.AddGauge(
          {"odyssey_egress_up", "1: odyssey-egress answers the supervisor. 0: it does not."})),
      connections_open_(registry_.AddGauge(
          {"odyssey_egress_connections_open", "Connections to servers that cells have open."})),
      cells_made_(registry_.AddCounter(
          {"odyssey_supervisor_cells_made_total",
           "Cells that were made.",
           {{"mode", {"read_only", "workspace_write", "danger_full_access"}}}})),
      cells_reused_(registry_.AddCounter({"odyssey_supervisor_cells_reused_total",
                                          "Requests for a cell that a live one answered."})),
      cell_ends_(registry_.AddCounter({"odyssey_supervisor_cell_ends_total",
                                       "Cells that ended.",
                                       {{"reason", {"stopped", "memory", "failed"}}}})),
      pool_(registry_.AddCounter({"odyssey_supervisor_pool_cells_total",
                                  "Cells that were made ahead of need, and what came of them.",
                                  {{"event", {"made", "claimed", "unused"}}}})),
      execs_(registry_.AddCounter({"odyssey_supervisor_execs_total",
                                   "Commands that ended.",
                                   {{"outcome", OutcomeNames()}}})),
      refusals_(registry_.AddCounter(
          {"odyssey_supervisor_refusals_total",
           "Requests that were refused, as the audit log's records of type refuse.",
           {{"what", {"prepare", "check", "exec", "approval"}}, {"code", CodeNames()}},
           Series::kUsed})),
      denials_(
          registry_.AddCounter({"odyssey_supervisor_denials_total",
                                "What confinement refused, once per command, resource and rule.",
                                {{"kind", {"path", "exec", "network", "syscall", "limit"}}}})),
      file_ops_(registry_.AddCounter({"odyssey_supervisor_file_operations_total",
                                      "File operations in cells.",
                                      {{"op", OpNames()}, {"outcome", {"ok", "error"}}}})),
      transferred_(registry_.AddCounter({"odyssey_supervisor_transfer_bytes_total",
                                         "Bytes of files put into runs (in) and taken (out).",
                                         {{"direction", {"in", "out"}}}})),
      audit_records_(registry_.AddCounter(
          {"odyssey_supervisor_audit_records_total", "Records that the audit log was given."})),
      preparation_(registry_.AddHistogram({"odyssey_supervisor_cell_preparation_seconds",
                                           "From the request for a cell that was made to its "
                                           "answer."},
                                          metrics::LaunchBuckets())),
      launch_(registry_.AddHistogram({"odyssey_supervisor_exec_launch_seconds",
                                      "From the acceptance of a command to its start in a slot."},
                                     metrics::LaunchBuckets())),
      exec_seconds_(registry_.AddHistogram(
          {"odyssey_supervisor_exec_seconds", "From the start of a command to its exit."},
          metrics::CommandBuckets())),
      decisions_(registry_.AddCounter({"odyssey_egress_decisions_total",
                                       "Decisions about connections, requests and names.",
                                       {Verdicts(), EgressWays(), EgressCodes()},
                                       Series::kUsed})),
      egress_bytes_(registry_.AddCounter(
          {"odyssey_egress_bytes_total",
           "Bytes that cells sent to servers (out) and received from them (in).",
           {{"direction", {"in", "out"}}}})),
      egress_tokens_(registry_.AddCounter({"odyssey_egress_model_tokens_total",
                                           "Tokens of models that cells called by a route.",
                                           {{"direction", {"input", "output"}}}})),
      egress_cost_(registry_.AddCounter({"odyssey_egress_model_cost_microdollars_total",
                                         "What these cost, in millionths of a US dollar."})) {
  registry_.AddGauge({"odyssey_supervisor_info", "Always 1.", {{"version", {kVersion}}}})
      ->Set(1, {kVersion});
}

void Metrics::OnPrepared(policy::Mode mode, bool created) {
  if (!created) return cells_reused_->Add();
  cells_made_->Add({policy::ModeName(mode)});
}

void Metrics::OnMade(std::chrono::steady_clock::duration took) {
  preparation_->Observe(Seconds(took));
}

void Metrics::OnCellEnded(CellEnd how) {
  cell_ends_->Add({how == CellEnd::kStopped  ? "stopped"
                   : how == CellEnd::kMemory ? "memory"
                                             : "failed"});
}

void Metrics::OnPool(PoolEvent event) {
  constexpr const char* kNames[] = {"made", "claimed", "unused"};
  pool_->Add({kNames[static_cast<size_t>(event)]});
}

void Metrics::OnExecEnded(const Outcome& outcome) {
  execs_->Add({message::EnumName(outcome.sent.kind())});
  if (!outcome.launch_usec) return;
  launch_->Observe(static_cast<double>(*outcome.launch_usec) / kUsecPerSecond);
  exec_seconds_->Observe(static_cast<double>(outcome.sent.duration_usec()) / kUsecPerSecond);
}

void Metrics::OnRefused(std::string_view what, const Status& why) {
  refusals_->Add({std::string(what), std::string(CodeName(why.code()))});
}

void Metrics::OnDenied(const explain::Denial& denial) { denials_->Add({denial.kind}); }

void Metrics::OnFileOp(tool::Op op, bool ok) {
  file_ops_->Add({tool::FindClientOp(op)->name, ok ? "ok" : "error"});
}

void Metrics::OnTransferred(Transfer direction, uint64_t bytes) {
  transferred_->Add({direction == Transfer::kIn ? "in" : "out"}, static_cast<double>(bytes));
}

void Metrics::OnEgress(const egress_wire::Record& record) {
  constexpr const char* kVerdicts[] = {"allowed", "denied", "audited"};
  const char* const verdict = kVerdicts[static_cast<size_t>(record.verdict)];
  // A count in place of records does not say which way.
  const std::string way = record.way.empty() ? "unknown" : record.way;
  decisions_->Add({verdict, way, CodeLabel(record.code)},
                  static_cast<double>(std::max<uint64_t>(record.suppressed, 1)));
  egress_tokens_->Add({"input"}, static_cast<double>(record.inference.tokens_in));
  egress_tokens_->Add({"output"}, static_cast<double>(record.inference.tokens_out));
  egress_cost_->Add({}, static_cast<double>(record.inference.cost));
}

void Metrics::OnTraffic(const egress_wire::Traffic& more) {
  egress_bytes_->Add({"in"}, static_cast<double>(more.down));
  egress_bytes_->Add({"out"}, static_cast<double>(more.up));
}

std::string Metrics::Text(const Now& now) {
  cells_->Set(static_cast<double>(now.cells));
  cells_ahead_->Set(static_cast<double>(now.cells_ahead));
  max_cells_->Set(static_cast<double>(now.max_cells));
  execs_running_->Set(static_cast<double>(now.execs_running));
  audit_records_->RaiseTo(static_cast<double>(now.audit_records));
  audit_writable_->Set(now.audit_writable ? 1 : 0);
  egress_up_->Set(now.egress_up ? 1 : 0);
  connections_open_->Set(static_cast<double>(now.connections_open));
  return registry_.Text();
}

}  // namespace odyssey::supervisor
