#include "supervisor/rpc/broker.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/time_text.h"
#include "common/message/enum_name.h"
#include "policy/answer/answer.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/egress_health.h"
#include "supervisor/rpc/exec_denials.h"

namespace odyssey::supervisor {
namespace {

constexpr auto kStatsTimeout = std::chrono::seconds(2);
constexpr unsigned kOnlyPlace = 0;  // root has one descriptor in its group

std::string KeyText(const CellKey& key) {
  return key.session_id + "/" + key.agent_id + "/" + key.kind + "/" + key.component;
}

constexpr size_t kMaxReason = 512;

// INVALID_ARGUMENT, or PERMISSION_DENIED. The operator is root, or who runs the supervisor without.
Status CheckChange(const CellChange& change, uint32_t operator_uid) {
  const std::string& reason = change.reason;
  const bool one_line = std::all_of(reason.begin(), reason.end(),
                                    [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (!one_line || reason.size() > kMaxReason) {
    return Refused(Code::kInvalidArgument, "reason", "", "give one line of at most 512 bytes");
  }
  if (change.change == v1::CELL_CHANGE_QUARANTINE && reason.empty()) {
    return Refused(Code::kInvalidArgument, "reason", "", "a quarantine needs one");
  }
  if (change.change == v1::CELL_CHANGE_RELEASE && change.by_uid != operator_uid) {
    return PermissionDenied(
        "change: " + (operator_uid == 0 ? "root" : "uid " + std::to_string(operator_uid)) +
        " alone releases a quarantined cell, not uid " + std::to_string(change.by_uid));
  }
  return OkStatus();
}

// What the cell's phase becomes; UNSPECIFIED: what it is by itself.
Result<v1::CellPhase> NextPhase(v1::CellChange change, const CellView& view) {
  using Phases = std::initializer_list<v1::CellPhase>;
  struct Rule {
    v1::CellChange change;
    v1::CellPhase to;
    Phases from;
  };
  static const Rule kRules[] = {
      {v1::CELL_CHANGE_SUSPEND,
       v1::CELL_PHASE_SUSPENDED,
       {v1::CELL_PHASE_READY, v1::CELL_PHASE_RUNNING}},
      {v1::CELL_CHANGE_RESUME, v1::CELL_PHASE_UNSPECIFIED, {v1::CELL_PHASE_SUSPENDED}},
      {v1::CELL_CHANGE_STOP,
       v1::CELL_PHASE_STOPPED,
       {v1::CELL_PHASE_READY, v1::CELL_PHASE_RUNNING, v1::CELL_PHASE_SUSPENDED}},
      {v1::CELL_CHANGE_START, v1::CELL_PHASE_UNSPECIFIED, {v1::CELL_PHASE_STOPPED}},
      {v1::CELL_CHANGE_QUARANTINE,
       v1::CELL_PHASE_QUARANTINED,
       {v1::CELL_PHASE_PREPARING, v1::CELL_PHASE_READY, v1::CELL_PHASE_RUNNING,
        v1::CELL_PHASE_SUSPENDED, v1::CELL_PHASE_STOPPED}},
      {v1::CELL_CHANGE_RELEASE, v1::CELL_PHASE_UNSPECIFIED, {v1::CELL_PHASE_QUARANTINED}}};
  for (const Rule& rule : kRules) {
    if (rule.change != change) continue;
    if (std::count(rule.from.begin(), rule.from.end(), view.standing.phase) != 0) return rule.to;
    std::string allowed;
    for (const v1::CellPhase phase : rule.from)
      allowed += (allowed.empty() ? "" : ", ") + message::EnumName(phase);
    return Refused(
        Code::kFailedPrecondition, "cell_id", view.id,
        "it is " + message::EnumName(view.standing.phase) + ", and this change is for: " + allowed,
        allowed);
  }
  return Refused(Code::kInvalidArgument, "change", std::to_string(change),
                 "give suspend, resume, stop, start, quarantine or release");
}

// Of the peers that are served, root and our own user have no approvals to report; without root our
// user is agentd's.
Status CheckReporter(uid_t uid, bool rootless) {
  const bool known = uid != static_cast<uid_t>(-1);
  if (known && uid != 0 && (rootless || uid != getuid())) return OkStatus();
  return PermissionDenied("approvals are reported by odyssey-agentd alone, not by " +
                          (known ? "uid " + std::to_string(uid) : "an unknown peer"));
}

Status CheckApproval(const v1::RecordApprovalRequest& approval) {
  for (const auto& [field, text] : {std::pair{"request_id", &approval.request_id()},
                                    {"session_id", &approval.session_id()},
                                    {"tool_name", &approval.tool_name()},
                                    {"by", &approval.by()}}) {
    if (text->empty()) return Refused(Code::kInvalidArgument, field, "", "is required");
  }
  const bool is_hex = approval.digest().find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex || approval.digest().size() != audit::kHashDigits) {
    return Refused(Code::kInvalidArgument, "digest", approval.digest(), "must be 64 hex digits");
  }
  const std::string& decision = approval.decision();
  if (decision == "allow_once" || decision == "allow_always" || decision == "deny") {
    return OkStatus();
  }
  return Refused(Code::kInvalidArgument, "decision", decision,
                 "must be allow_once, allow_always or deny");
}

}  // namespace

Broker::Broker(RootClient* root, wire::Hello hello, compile::HostFacts facts, CeilingGate* ceiling,
               AuditLog* audit, const HostLink* host, const std::string& egress_socket,
               const PoolOptions& pool)
    : root_(root),
      hello_(std::move(hello)),
      facts_(std::move(facts)),
      ceiling_(ceiling),
      audit_(audit),
      host_(host),
      egress_socket_(egress_socket),
      pools_(pool.cells > 0),
      auditor_(audit, ceiling, &metrics_),
      cells_({.loop = &loop_,
              .root = root,
              .host = host,
              .auditor = &auditor_,
              .ceiling = ceiling,
              .mounts = &mounts_,
              .cells_directory = hello_.cells_directory,
              .broker_socket = egress_socket,
              .max_cells = hello_.max_cells},
             pool) {
  loop_.Watch(loop_.NewGroup(), kOnlyPlace, root_->fd(), EventLoop::When::kReadable, [this] {
    const Status status = root_->ReadOne();
    if (!status.ok()) loop_.Stop(status);
  });
}

// ── Making cells ────────────────────────────────────────────────────────────────────────────────

std::shared_ptr<const compile::HostFacts> Broker::FactsNow() {
  const auto linked = linked_.Get();
  const std::lock_guard lock(facts_now_mutex_);
  if (facts_now_ != nullptr && facts_now_of_ == linked) return facts_now_;
  auto facts = std::make_shared<compile::HostFacts>(facts_);
  facts->system.insert(facts->system.end(), linked->entries.begin(), linked->entries.end());
  facts_now_of_ = linked;
  return facts_now_ = std::move(facts);
}

Result<compile::Compiled> Broker::CompileFor(const policy::SandboxRequest& request,
                                             const ceiling::Owner& owner) {
  // What /usr links to is no matter on the host, and the first look at it takes a moment.
  ODY_ASSIGN_OR_RETURN(const compile::FoundImage image,
                       answer::FindImageFor(request, owner.uid, find_image_));
  if (policy::IsDanger(request)) return plans_.Compile(request, owner, facts_, image);
  return plans_.Compile(request, owner, *FactsNow(), image);
}

Result<std::shared_ptr<CellOrder>> Broker::OrderOf(const PrepareSpec& spec, bool allow_danger) {
  auto order = std::make_shared<CellOrder>();
  ODY_ASSIGN_OR_RETURN(order->admission,
                       ceiling_->Admit(spec.sandbox, spec.owner_uid, allow_danger));
  order->spec = spec;
  order->spec.sandbox = order->admission.request;
  ODY_ASSIGN_OR_RETURN(order->compiled, CompileFor(order->spec.sandbox, order->admission.owner));
  ceiling_->SetOwners(order->admission, &order->compiled.plan);
  if (pools_ && IsPoolable(*order)) {
    order->host = LookAtHost(order->compiled.plan, &linked_, &mounts_);
  }
  return order;
}

Result<CellView> Broker::Prepare(const PrepareSpec& spec, bool* created) {
  ODY_RETURN_IF_ERROR(audit_->Admit());
  const Clock::time_point began = Clock::now();
  Result<CellView> view = PrepareAdmitted(spec, created);
  if (!view.ok()) {
    const std::string about = KeyText(spec.key);
    audit_->AddLimited(RefuseRecord("prepare", about, spec.owner_uid, view.status()), about);
    metrics_.OnRefused("prepare", view.status());
  } else if (*created) {
    metrics_.OnMade(Clock::now() - began);
  }
  return view;
}

Result<CellView> Broker::PrepareAdmitted(const PrepareSpec& spec, bool* created) {
  ODY_RETURN_IF_ERROR(CheckCellKey(spec.key));
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<CellOrder> order, OrderOf(spec, spec.allow_danger));
  return loop_.Await<Result<CellView>>([&](const Done<Result<CellView>>& done) {
    cells_.Prepare(order, [created, done](const Result<PreparedCell>& prepared) {
      if (!prepared.ok()) return done(prepared.status());
      *created = prepared->created;
      done(prepared->cell->View());
    });
  });
}

// Limited by owner, not by key: each session that is tried has a key of its own.
Status Broker::Check(const PrepareSpec& spec) {
  Status allowed = CheckAllowed(spec);
  if (!allowed.ok()) {
    audit_->AddLimited(RefuseRecord("check", KeyText(spec.key), spec.owner_uid, allowed),
                       "uid " + std::to_string(spec.owner_uid));
    metrics_.OnRefused("check", allowed);
  }
  return allowed;
}

// A cell is not compiled here: what the host lacks, a program for example, may be there by the time
// that it is prepared.
Status Broker::CheckAllowed(const PrepareSpec& spec) {
  ODY_RETURN_IF_ERROR(CheckCellKey(spec.key));
  ODY_ASSIGN_OR_RETURN(const Admission admission,
                       ceiling_->Admit(spec.sandbox, spec.owner_uid, spec.allow_danger));
  const bool on_host = policy::IsDanger(admission.request);
  return on_host ? CheckOnHost(admission) : OkStatus();
}

// The runner is asked: it alone can read the grant file.
Status Broker::CheckOnHost(const Admission& admission) {
  ODY_ASSIGN_OR_RETURN(const compile::Compiled compiled,
                       CompileFor(admission.request, admission.owner));
  wire::HostPlan plan = HostPlanOf(compiled, "cel_none", admission.owner.uid);
  plan.check_only = true;
  ODY_ASSIGN_OR_RETURN(const wire::Launched answer, host_->Check(plan));
  return answer.status;
}

Result<plan::Plan> Broker::PlanOf(const PrepareSpec& spec) {
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<CellOrder> order,
                       OrderOf(spec, /*allow_danger=*/false));
  order->compiled.plan.cell_tree = CellTreeOf(spec.key);
  return std::move(order->compiled.plan);
}

// ── Cells that there are ────────────────────────────────────────────────────────────────────────

Result<CellPtr> Broker::FindAllowed(const std::string& cell_id, uint32_t wall_clock_ms) {
  ODY_ASSIGN_OR_RETURN(CellPtr cell, cells_.Find(cell_id));
  if (const Status may = cells_.CheckMayRun(cell->facts().key); !may.ok()) {
    return OfField("cell_id", may);
  }
  ODY_RETURN_IF_ERROR(ceiling_->StillAllows(cell->admission(), wall_clock_ms));
  return cell;
}

std::vector<CellView> Broker::List(bool all) {
  const auto listed = loop_.Call([this, all] {
    std::vector<std::pair<CellPtr, CellView>> found;
    for (const auto& [id, cell] : cells_.all()) {
      if (all || cell->state() == Cell::State::kReady) found.emplace_back(cell, ViewOf(*cell));
    }
    if (!all) return found;
    for (const auto& [key, view] : cells_.standings()) {
      if (cells_.FindByKey(key) == nullptr) found.emplace_back(nullptr, view);
    }
    for (const CellView& view : cells_.ended()) found.emplace_back(nullptr, view);
    return found;
  });
  std::vector<CellView> views;
  for (const auto& [cell, view] : listed) {
    views.push_back(view);
    if (cell != nullptr) views.back().usage = AskUsage(cell);
  }
  return views;
}

Result<CellView> Broker::Describe(const std::string& cell_id) {
  CellPtr cell;
  Result<CellView> view = loop_.Call([&] {
    cell = cells_.FindAny(cell_id);
    return FindView(cell_id);
  });
  if (view.ok() && cell != nullptr) view->usage = AskUsage(cell);
  return view;
}

// ── What is said of them ────────────────────────────────────────────────────────────────────────

CellView Broker::ViewOf(const Cell& cell) const {
  CellView view = cell.View();
  view.standing = cells_.StandingOf(cell);
  return view;
}

// One that lives, one that something was said of, or one that ended.
Result<CellView> Broker::FindView(const std::string& cell_id) {
  if (const CellPtr cell = cells_.FindAny(cell_id)) return ViewOf(*cell);
  for (const auto& [key, view] : cells_.standings()) {
    if (view.id == cell_id) return view;
  }
  for (const CellView& view : cells_.ended()) {
    if (view.id == cell_id) return view;
  }
  return cells_.Find(cell_id).status();
}

Result<CellView> Broker::Change(const CellChange& change,
                                const std::function<Status(const CellView&)>& keep) {
  const std::lock_guard lock(changing_);
  const auto changed = [&]() -> Result<CellView> {
    ODY_RETURN_IF_ERROR(audit_->Admit());
    ODY_RETURN_IF_ERROR(CheckChange(change, facts_.enforcement.rootless_uid));
    CellPtr cell;
    ODY_ASSIGN_OR_RETURN(CellView view, loop_.Call([&] {
      cell = cells_.FindAny(change.cell_id);
      return FindView(change.cell_id);
    }));
    ODY_ASSIGN_OR_RETURN(const v1::CellPhase phase, NextPhase(change.change, view));
    const bool lasts = cell == nullptr || !(cell->facts().ephemeral || cell->facts().single_use);
    if (change.change == v1::CELL_CHANGE_STOP && !lasts) {
      return Refused(Code::kFailedPrecondition, "cell_id", view.id,
                     "nothing of it lasts, so that it could start again; remove it instead");
    }
    view.standing = {
        .phase = phase, .since = Rfc3339Now(), .reason = change.reason, .by_uid = change.by_uid};
    ODY_RETURN_IF_ERROR(keep(view));
    ODY_RETURN_IF_ERROR(
        loop_.Await<Status>([&](const Done<Status>& done) { Apply(change, view, done); }));
    const auto now = loop_.Call([&] { return FindView(change.cell_id); });
    return now.ok() ? *now : view;  // one that was started has no process, and no other trace
  };
  auto view = changed();
  audit_->Add(view.ok() ? CellChangeRecord(change.cell_id, view->key, change.change, change.reason,
                                           change.by_uid)
                        : RefuseRecord("change", change.cell_id, change.by_uid, view.status()));
  return view;
}

void Broker::Apply(const CellChange& change, const CellView& view, const Done<Status>& done) {
  const CellPtr cell = cells_.FindAny(change.cell_id);
  const bool frozen = view.standing.phase == v1::CELL_PHASE_SUSPENDED ||
                      view.standing.phase == v1::CELL_PHASE_QUARANTINED;
  const Status froze = cell == nullptr ? FailedPrecondition("it has ended") : cell->Freeze(frozen);
  if (view.standing.phase == v1::CELL_PHASE_SUSPENDED && !froze.ok()) {
    return done(Refused(Code::kFailedPrecondition, "cell_id", change.cell_id, froze.message()));
  }
  if (view.standing.phase == v1::CELL_PHASE_UNSPECIFIED) {
    cells_.standings().erase(view.key);
    return done(OkStatus());
  }
  cells_.standings()[view.key] = view;
  const bool ends = view.standing.phase == v1::CELL_PHASE_STOPPED ||
                    (view.standing.phase == v1::CELL_PHASE_QUARANTINED && !froze.ok());
  if (cell == nullptr || !ends) return done(OkStatus());
  cells_.End(cell, /*purge=*/false, cells_.CheckMayRun(view.key).message(), done);
}

void Broker::Restore(CellView view) {
  loop_.Post([this, view = std::move(view)] { cells_.standings()[view.key] = view; });
}

// Nothing, if the provider does not answer in time.
wire::CellUsage Broker::AskUsage(const CellPtr& cell) {
  return loop_.Await<wire::CellUsage>([&](const Done<wire::CellUsage>& done) {
    const auto answered = std::make_shared<bool>(false);
    const auto once = [answered, done](const wire::CellUsage& usage) {
      if (!std::exchange(*answered, true)) done(usage);
    };
    loop_.At(Clock::now() + kStatsTimeout, [once] { once({}); });
    cell->AskUsage(once);
  });
}

Status Broker::Remove(const std::string& cell_id, bool purge, uint32_t by_uid) {
  return loop_.Await<Status>([&](const Done<Status>& done) {
    const CellPtr cell = cells_.FindAny(cell_id);  // one that is ending: then this waits for it
    if (cell == nullptr) return done(cells_.Find(cell_id).status());
    const auto said = cells_.standings().find(cell->facts().key);
    if (said != cells_.standings().end()) {
      const bool suspended = said->second.standing.phase == v1::CELL_PHASE_SUSPENDED;
      if (!suspended && by_uid != 0) {
        return done(PermissionDenied(cells_.CheckMayRun(cell->facts().key).message()));
      }
      // Who ends an idle cell does not mean the next one to run.
      if (suspended && (purge || by_uid == 0)) cells_.standings().erase(said);
    }
    auditor_.OnRemoved(cell_id, purge);
    cells_.End(cell, purge, "key: the cell was removed while it was being made", done);
  });
}

Status Broker::RecordApproval(const v1::RecordApprovalRequest& approval, uid_t reporter_uid) {
  if (const Status may = CheckReporter(reporter_uid, hello_.rootless); !may.ok()) {
    audit_->AddLimited(RefuseRecord("approval", approval.request_id(), std::nullopt, may),
                       "uid " + std::to_string(reporter_uid));
    metrics_.OnRefused("approval", may);
    return may;
  }
  ODY_RETURN_IF_ERROR(CheckApproval(approval));
  ODY_RETURN_IF_ERROR(audit_->Admit());
  audit_->Add(ApprovalRecord(approval, reporter_uid));
  const Status written = audit_->Flush();
  return written.ok() ? OkStatus() : ResourceExhausted("audit log: " + written.message());
}

Status Broker::HoldKey(const CellKey& key) {
  return loop_.Await<Status>([&](const Done<Status>& done) { cells_.Hold(key, done); });
}

void Broker::ReleaseKey(const CellKey& key) {
  loop_.Post([this, key] { cells_.Release(key); });
}

bool Broker::IsLive(const CellKey& key) {
  return loop_.Call([&] { return cells_.FindByKey(key) != nullptr; });
}

std::set<std::string> Broker::LiveLayers() {
  return loop_.Call([this] {
    std::set<std::string> names;
    cells_.EndAhead("layers of images are collected");
    for (const auto& [id, cell] : cells_.all()) {
      const std::vector<std::string>& layers = cell->facts().compiled.plan.layers;
      names.insert(layers.begin(), layers.end());
    }
    return names;
  });
}

uint32_t Broker::live_cells() {
  return loop_.Call([this] { return static_cast<uint32_t>(cells_.all().size() + cells_.ahead()); });
}

std::string Broker::CollectMetrics() {
  Metrics::Now now = loop_.Call([this] {
    Metrics::Now counted{.cells = cells_.all().size() + cells_.ahead(),
                         .cells_ahead = cells_.ahead()};
    for (const auto& [id, cell] : cells_.all()) {
      counted.execs_running += cell->running_execs();
      if (cell->egress()) counted.connections_open += cell->egress()->traffic().open;
    }
    return counted;
  });
  now.max_cells = hello_.max_cells;
  now.audit_records = audit_->added();
  now.audit_writable = audit_->State().ok();
  now.egress_up = AskEgress(egress_socket_).ok();
  return metrics_.Text(now);
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

Result<std::shared_ptr<Exec>> Broker::StartExec(const v1::ExecStart& start,
                                                const std::string& exec_id, ExecSink* sink) {
  const auto started = [&]() -> Result<std::shared_ptr<Exec>> {
    ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindAllowed(start.cell_id(), start.wall_clock_ms()));
    if (start.wall_clock_ms() != 0) return cell->StartExec(start, exec_id, sink);
    v1::ExecStart bounded = start;
    ODY_ASSIGN_OR_RETURN(const uint32_t wall_clock_ms,
                         ceiling_->WallClockWithin(start.default_wall_clock_ms()));
    bounded.set_wall_clock_ms(wall_clock_ms);
    return cell->StartExec(bounded, exec_id, sink);
  };
  auto exec = started();
  if (!exec.ok()) auditor_.OnExecRefused(start.cell_id(), exec.status());
  return exec;
}

Status Broker::CancelExec(const std::string& exec_id) {
  return loop_.Call([&]() -> Status {
    for (const auto& [id, cell] : cells_.all()) {
      if (const std::shared_ptr<Exec> exec = cell->FindExec(exec_id)) {
        exec->Cancel();
        return OkStatus();
      }
    }
    return Refused(Code::kNotFound, "exec_id", exec_id, "no such command runs");
  });
}

// ── Files and runs ──────────────────────────────────────────────────────────────────────────────

Result<FileAnswer> Broker::FileOp(const std::string& cell_id, const tool::Request& request) {
  if (tool::Writes(request.op)) ODY_RETURN_IF_ERROR(audit_->Admit());
  return loop_.Await<Result<FileAnswer>>([&](const Done<Result<FileAnswer>>& done) {
    const Result<CellPtr> cell = FindAllowed(cell_id);
    if (!cell.ok()) return done(cell.status());
    (*cell)->AskWorker(request, [this, cell = *cell, &request, done](auto response) {
      if (!response.ok()) return done(response.status());
      done(Conclude(*cell, request, std::move(*response)));
    });
  });
}

// ── Network policies ────────────────────────────────────────────────────────────────────────────

Result<CellPtr> Broker::FindWithEgress(const std::string& cell_id) {
  ODY_ASSIGN_OR_RETURN(CellPtr cell, FindAllowed(cell_id));
  if (cell->egress() != nullptr) return cell;
  return Refused(
      Code::kFailedPrecondition, "cell_id", cell_id,
      "the cell's network is not egress, and a cell that runs keeps its network; prepare "
      "it again with network egress");
}

Result<EgressSet> Broker::ChangeEgress(
    const EgressOrder& order,
    const std::function<Result<Chosen>(const EgressRevisions& had)>& choose) {
  ODY_RETURN_IF_ERROR(audit_->Admit());
  EgressSet out;
  const auto change = [&](const Done<Status>& done) -> Status {
    ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindWithEgress(order.cell_id));
    const EgressRevisions& had = cell->egress()->revisions();
    const uint64_t expected = order.expected_revision;
    if (expected != 0 && expected != had.current().number) {
      return Refused(Code::kAborted, "expected_revision", std::to_string(expected),
                     "revision " + std::to_string(had.current().number) + " is in force");
    }
    ODY_ASSIGN_OR_RETURN(const Chosen chosen, choose(had));
    ODY_RETURN_IF_ERROR(compile::CheckEndpoints(chosen.policy));
    out.changed = cell->SetEgressPolicy(chosen.policy, {.source = chosen.source,
                                                        .repeats = chosen.repeats,
                                                        .by_uid = order.by_uid,
                                                        .at = Rfc3339Now()});
    if (out.changed) auditor_.OnEgressPolicy(cell->facts(), had.current());
    cell->egress()->AwaitLoaded([&out, cell, done](const Status& loaded) {
      out.revision = cell->egress()->revisions().current();
      done(loaded);
    });
    return OkStatus();
  };
  const Status loaded = loop_.Await<Status>([&](const Done<Status>& done) {
    const Status changed = change(done);
    if (!changed.ok()) done(changed);
  });
  if (!loaded.ok()) return loaded;
  return out;
}

Result<EgressSet> Broker::SetEgress(const EgressOrder& order, const egress::NetworkPolicy& policy) {
  return ChangeEgress(order, [&](const EgressRevisions&) -> Result<Chosen> {
    return Chosen{.policy = policy, .source = "set"};
  });
}

Result<EgressSet> Broker::RollBackEgress(const EgressOrder& order, uint64_t revision) {
  return ChangeEgress(order, [&](const EgressRevisions& had) -> Result<Chosen> {
    ODY_ASSIGN_OR_RETURN(EgressRevision earlier, had.FindEarlier(revision));
    return Chosen{
        .policy = std::move(earlier.policy), .source = "rollback", .repeats = earlier.number};
  });
}

Result<EgressRevisions> Broker::EgressOf(const std::string& cell_id) {
  return loop_.Call([&]() -> Result<EgressRevisions> {
    ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindWithEgress(cell_id));
    return cell->egress()->revisions();
  });
}

// ── Files and runs ──────────────────────────────────────────────────────────────────────────────

FileAnswer Broker::Conclude(const Cell& cell, const tool::Request& request,
                            tool::Response response) {
  if (tool::Writes(request.op)) auditor_.OnFileOp(cell.facts(), request, response);
  metrics_.OnFileOp(request.op, response.code == Code::kOk);
  FileAnswer answer{std::move(response), std::nullopt};
  const bool refused = answer.response.code == Code::kPermissionDenied;
  if (!refused || cell.facts().compiled.unconfined) return answer;
  answer.denial = FindFileDenial(cell.Known(), request, answer.response);
  answer.denial->session_id = cell.facts().key.session_id;
  auditor_.OnDenied(cell.facts(), "", *answer.denial);
  return answer;
}

AskWorker Broker::MakeAsk(const CellPtr& cell) {
  return [this, cell](const tool::Request& request) {
    return loop_.Await<Result<tool::Response>>(
        [&](const FileWorker::Answer& answer) { cell->AskOwn(request, answer); });
  };
}

std::unique_ptr<RunUse> Broker::MakeUse(const CellPtr& cell, uint64_t run) {
  return std::make_unique<RunUse>(run, MakeAsk(cell), [this, cell, run] {
    loop_.Post([cell, run] { cell->ReleaseRun(run); });
  });
}

Result<Broker::PlaceUse> Broker::UsePlace(const std::string& cell_id, const std::string& field,
                                          const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const CellPtr cell, loop_.Call([&] { return FindAllowed(cell_id); }));
  ODY_ASSIGN_OR_RETURN(std::string place,
                       PlaceInCell(field, path, cell->facts().compiled.workspace));
  return PlaceUse{MakeAsk(cell), std::move(place)};
}

Result<std::unique_ptr<RunUse>> Broker::UseRun(const std::string& cell_id, std::string_view field,
                                               const std::string& run_id) {
  CellPtr cell;
  ODY_ASSIGN_OR_RETURN(const uint64_t run, loop_.Call([&]() -> Result<uint64_t> {
    ODY_ASSIGN_OR_RETURN(cell, FindAllowed(cell_id));
    return cell->UseRun(field, run_id);
  }));
  auto use = MakeUse(cell, run);
  if (run_id.empty()) {
    ODY_RETURN_IF_ERROR(use->ask()({.op = tool::Op::kMakeRun, .path = use->name()}).status());
  }
  return use;
}

Result<std::unique_ptr<RunUse>> Broker::UseOldRun(const std::string& cell_id,
                                                  std::string_view field,
                                                  const std::string& run_id) {
  CellPtr cell;
  ODY_ASSIGN_OR_RETURN(const uint64_t run, loop_.Call([&]() -> Result<uint64_t> {
    ODY_ASSIGN_OR_RETURN(cell, FindAllowed(cell_id));
    return cell->UseOldRun(field, run_id);
  }));
  return MakeUse(cell, run);
}

}  // namespace odyssey::supervisor
