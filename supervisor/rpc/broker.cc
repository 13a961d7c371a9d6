#include "supervisor/rpc/broker.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <future>
#include <utility>

#include "common/base/refusal.h"
#include "common/os/message_socket.h"
#include "policy/compile/danger.h"
#include "policy/compile/launch_failure.h"
#include "policy/plan/plan.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/exec_request.h"

namespace odyssey::supervisor {
namespace {

constexpr auto kLaunchTimeout = std::chrono::seconds(20);
constexpr auto kEndTimeout = std::chrono::seconds(20);
constexpr auto kStatsTimeout = std::chrono::seconds(2);

std::string RandomCellId() {
  uint64_t bits = 0;
  ODY_CHECK(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  char text[32];
  snprintf(text, sizeof(text), "cel_%016llx", static_cast<unsigned long long>(bits));
  return text;
}

// What a counter of the kernel's has grown by since it was last asked for.
uint64_t NewSince(std::atomic<uint64_t>* seen, uint64_t now) {
  const uint64_t before = seen->exchange(now);
  return now - std::min(before, now);
}

std::string Rfc3339Now() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string IdentityOf(const PrepareSpec& spec, const compile::Compiled& compiled) {
  return compiled.digest + "|" + spec.bundle_digest + "|" + spec.sources_digest + "|" +
         spec.sandbox.workspace + "|" + (spec.sandbox.ephemeral ? "memory" : "disk") + "|" +
         std::to_string(spec.owner_uid);
}

// The field that asks for a run.
std::string_view RunField(const ExecSpec& spec) {
  return spec.keep_output && spec.run_id.empty() ? "start.keep_output" : "start.run_id";
}

// For so long after a command started one slot more is kept than an idle cell has: the next command
// may come while the last one's slot is being emptied, and to make a slot costs as much as to run a
// command.
constexpr auto kBusy = std::chrono::seconds(1);

constexpr unsigned kOnlyPlace = 0;  // root has one descriptor in its group

}  // namespace

Broker::Broker(RootClient* root, wire::Hello hello, compile::HostFacts facts, CeilingGate* ceiling,
               AuditLog* audit, const HostLink* host)
    : root_(root),
      hello_(std::move(hello)),
      facts_(std::move(facts)),
      ceiling_(ceiling),
      audit_(audit),
      host_(host) {
  root_->set_on_gone([this](const wire::Gone& gone) { OnGone(gone); });
  loop_.Watch(loop_.NewGroup(), kOnlyPlace, root_->fd(), EventLoop::When::kReadable, [this] {
    const Status status = root_->ReadOne();
    if (!status.ok()) loop_.Stop(status);
  });
}

// ── Requests ────────────────────────────────────────────────────────────────────────────────────

Result<Broker::CellPtr> Broker::FindCell(const std::string& cell_id) {
  const auto it = cells_.find(cell_id);
  if (it == cells_.end() || it->second->state == CellState::kEnding) {
    return AboutField("cell_id", NotFound("cell_id \"" + cell_id.substr(0, plan::kMaxCellId) +
                                          "\": no such cell"));
  }
  return it->second;
}

Result<Broker::CellPtr> Broker::FindAllowed(const std::string& cell_id, uint32_t wall_clock_ms) {
  ODY_ASSIGN_OR_RETURN(CellPtr cell, FindCell(cell_id));
  ODY_RETURN_IF_ERROR(ceiling_->StillAllows(&cell->admission, wall_clock_ms));
  return cell;
}

Result<CellView> Broker::PrepareAdmitted(const PrepareSpec& asked, bool* created) {
  ODY_RETURN_IF_ERROR(CheckCellKey(asked.key));
  ODY_ASSIGN_OR_RETURN(Admission admission,
                       ceiling_->Admit(asked.sandbox, asked.owner_uid, asked.allow_danger));
  PrepareSpec spec = asked;
  spec.sandbox = admission.request;
  ODY_ASSIGN_OR_RETURN(compile::Compiled compiled, CompileFor(spec.sandbox, admission.owner));
  ceiling_->SetOwners(admission, &compiled.plan);
  CellPtr cell;
  {
    Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, PrepareLocked(lock, spec, std::move(compiled), created));
    cell->admission = std::move(admission);
    RecordPrepared(*cell, spec, *created);  // before anything else can be recorded of it
  }
  CellView view = View(*cell);
  return view;
}

// A cell is not compiled here: what the host lacks, a program for example, may be there by the time
// that it is prepared.
Status Broker::CheckAllowed(const PrepareSpec& spec) {
  ODY_RETURN_IF_ERROR(CheckCellKey(spec.key));
  ODY_ASSIGN_OR_RETURN(const Admission admission,
                       ceiling_->Admit(spec.sandbox, spec.owner_uid, spec.allow_danger));
  const bool on_host = admission.request.mode == policy::Mode::kDangerFullAccess;
  return on_host ? CheckOnHost(admission) : OkStatus();
}

Result<compile::Compiled> Broker::CompileFor(const policy::SandboxRequest& request,
                                             const ceiling::Owner& owner) {
  if (request.mode == policy::Mode::kDangerFullAccess) {
    return compile::CompileDanger(request, {owner.uid, owner.name, owner.home}, facts_.check);
  }
  ODY_ASSIGN_OR_RETURN(const compile::FoundExecutables found,
                       finder_.Find(compile::SystemExecutables(request)));
  return compile::Compile(request, facts_, found);
}

Result<Broker::CellPtr> Broker::PrepareLocked(Lock& lock, const PrepareSpec& spec,
                                              compile::Compiled compiled, bool* created) {
  const std::string identity = IdentityOf(spec, compiled);
  *created = false;
  changed_.wait(lock, [&] { return held_keys_.count(spec.key) == 0; });
  uint32_t revision = 1;
  for (;;) {
    const auto it = std::find_if(cells_.begin(), cells_.end(), [&spec](const auto& entry) {
      return entry.second->key == spec.key;
    });
    if (it == cells_.end()) break;
    const CellPtr cell = it->second;
    if (cell->identity == identity && cell->state != CellState::kEnding) {
      cell->env = spec.sandbox.env;  // a rotated value reaches the next command
      ODY_RETURN_IF_ERROR(AwaitReady(lock, cell.get(), spec.owner_uid));
      return cell;
    }
    if (spec.spare_running && (!cell->running.empty() || !cell->waiting.empty())) {
      return FailedPrecondition(
          "key: commands run in the cell of this name, and a new one with this policy, workspace "
          "and limits would kill them; wait for their end, or name another cell");
    }
    revision = cell->revision + 1;
    ODY_RETURN_IF_ERROR(EndAndWait(
        lock, cell, /*purge=*/false,
        "key: another PrepareCell asked for this cell with another policy while it was being made, "
        "and replaced it; whoever still wants this one prepares it again"));
  }
  ODY_ASSIGN_OR_RETURN(CellPtr cell, Launch(spec, std::move(compiled), revision));
  *created = true;
  const Status ready = AwaitReady(lock, cell.get(), spec.owner_uid);
  if (!ready.ok()) {
    (void)EndAndWait(lock, cell, /*purge=*/false, "");
    return ready;
  }
  return cell;
}

Result<Broker::CellPtr> Broker::Launch(const PrepareSpec& spec, compile::Compiled compiled,
                                       uint32_t revision) {
  auto cell = std::make_shared<Cell>();
  cell->id = RandomCellId();
  cell->key = spec.key;
  cell->group = loop_.NewGroup();
  cell->revision = revision;
  cell->identity = IdentityOf(spec, compiled);
  cell->env = spec.sandbox.env;
  cell->request = spec.sandbox;
  cell->request.env.clear();
  cell->ephemeral = spec.sandbox.ephemeral;
  cell->single_use = spec.single_use;
  if (cell->single_use) cell->unused_deadline = Clock::now() + kUnusedTimeout;
  cell->created_at = Rfc3339Now();

  cell->compiled = std::move(compiled);
  // What asks for the host gets that or nothing, and nothing else gets it.
  ODY_RETURN_IF_ERROR(cell->compiled.unconfined ? StartOnHost(cell, spec.owner_uid)
                                                : StartInRoot(spec, cell));
  cells_[cell->id] = cell;
  loop_.WakeAt(cell->unused_deadline);
  return cell;
}

Status Broker::StartInRoot(const PrepareSpec& spec, const CellPtr& cell) {
  plan::Plan plan = cell->compiled.plan;
  plan.cell_id = cell->id;
  if (!cell->ephemeral) {
    plan.cell_tree = CellTreeOf(spec.key);
    if (spec.sandbox.workspace.empty() && plan.disk_bytes == 0) {
      cell->workspace_path = hello_.cells_directory + "/" + plan.cell_tree + "/app";
    }
  }
  const std::string bytes = plan::EncodePlan(plan);
  if (bytes.size() > plan::kMaxPlanBytes) {
    return InvalidArgument("the plan is larger than " + std::to_string(plan::kMaxPlanBytes) +
                           " bytes: give fewer or shorter mounts");
  }
  cell->provider = std::shared_ptr<RootClient>(std::shared_ptr<void>(), root_);  // borrowed
  return root_->Launch(bytes, [this, cell](const wire::Launched& launched, UniqueFd socket) {
    OnLaunched(cell, launched, std::move(socket));
  });
}

Status Broker::AwaitReady(Lock& lock, Cell* cell, uint32_t owner_uid) {
  const bool settled = changed_.wait_for(lock, kLaunchTimeout,
                                         [cell] { return cell->state != CellState::kLaunching; });
  if (!settled) return Unavailable("the cell was not ready in time");
  if (cell->state == CellState::kReady) return OkStatus();
  if (cell->failure.ok()) return Unavailable("the cell ended while it was being made");
  return compile::NameField(cell->request, cell->compiled.plan, owner_uid, cell->failure);
}

Status Broker::EndAndWait(Lock& lock, const CellPtr& cell, bool purge, const std::string& why) {
  if (cell->state == CellState::kLaunching) {
    cell->failure = Status(Code::kAborted, why);
    changed_.notify_all();
  }
  cell->state = CellState::kEnding;
  if (cells_.count(cell->id) != 0) ODY_RETURN_IF_ERROR(cell->provider->Kill(cell->id, purge));
  const bool gone =
      changed_.wait_for(lock, kEndTimeout, [&] { return cells_.count(cell->id) == 0; });
  return gone ? OkStatus() : Unavailable("cell " + cell->id + " did not end in time");
}

Status Broker::Remove(const std::string& cell_id, bool purge) {
  Lock lock(mutex_);
  const auto it = cells_.find(cell_id);  // also one that is ending: then this waits for its end
  if (it == cells_.end()) return FindCell(cell_id).status();
  const CellPtr cell = it->second;
  audit_->Add(RemoveRecord(cell_id, purge));
  return EndAndWait(lock, cell, purge, "key: the cell was removed while it was being made");
}

std::vector<CellView> Broker::List() {
  std::vector<CellPtr> cells;
  {
    const Lock lock(mutex_);
    for (const auto& [id, cell] : cells_) {
      if (cell->state == CellState::kReady) cells.push_back(cell);
    }
  }
  std::vector<CellView> views;
  for (const CellPtr& cell : cells) {
    views.push_back(View(*cell));
    views.back().usage = AskUsage(*cell);
  }
  return views;
}

Result<CellView> Broker::Describe(const std::string& cell_id) {
  CellPtr cell;
  {
    const Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, FindCell(cell_id));
  }
  CellView view = View(*cell);
  view.usage = AskUsage(*cell);
  return view;
}

CellView Broker::View(const Cell& cell) {
  const Lock lock(mutex_);
  return {.id = cell.id,
          .key = cell.key,
          .revision = cell.revision,
          .policy_digest = cell.compiled.digest,
          .host_uid = cell.host_uid,
          .running_execs = static_cast<uint32_t>(cell.running.size()),
          .created_at = cell.created_at,
          .workspace_path = cell.workspace_path,
          .mode = cell.admission.request.mode,
          .owner_uid = cell.admission.owner.uid,
          .explanation = cell.compiled.explanation};
}

wire::CellUsage Broker::AskUsage(const Cell& cell) {
  const auto answer = std::make_shared<std::promise<wire::CellUsage>>();
  auto future = answer->get_future();
  const Status asked = cell.provider->AskStats(
      cell.id, [answer](const wire::StatsReply& r) { answer->set_value(r.usage); });
  if (!asked.ok() || future.wait_for(kStatsTimeout) != std::future_status::ready) return {};
  return future.get();
}

Result<plan::Plan> Broker::PlanOf(const PrepareSpec& spec) {
  ODY_ASSIGN_OR_RETURN(const Admission admission,
                       ceiling_->Admit(spec.sandbox, spec.owner_uid, /*allow_danger=*/false));
  ODY_ASSIGN_OR_RETURN(compile::Compiled compiled, CompileFor(admission.request, admission.owner));
  ceiling_->SetOwners(admission, &compiled.plan);
  compiled.plan.cell_tree = CellTreeOf(spec.key);
  return std::move(compiled.plan);
}

Status Broker::HoldKey(const CellKey& key) {
  Lock lock(mutex_);
  for (;;) {
    if (held_keys_.count(key) != 0) {
      return FailedPrecondition("key: another call works on the changes of this cell");
    }
    const auto it = std::find_if(cells_.begin(), cells_.end(),
                                 [&key](const auto& entry) { return entry.second->key == key; });
    if (it == cells_.end()) break;
    const CellPtr cell = it->second;
    if (!cell->running.empty() || !cell->waiting.empty()) {
      return FailedPrecondition("key: commands run in this cell; wait for their end, or end them");
    }
    ODY_RETURN_IF_ERROR(EndAndWait(lock, cell, /*purge=*/false,
                                   "key: the cell was ended for a change of its directories"));
  }
  held_keys_.insert(key);
  return OkStatus();
}

void Broker::ReleaseKey(const CellKey& key) {
  const Lock lock(mutex_);
  held_keys_.erase(key);
  changed_.notify_all();
}

bool Broker::IsLive(const CellKey& key) {
  const Lock lock(mutex_);
  return std::any_of(cells_.begin(), cells_.end(),
                     [&key](const auto& entry) { return entry.second->key == key; });
}

uint32_t Broker::live_cells() {
  const Lock lock(mutex_);
  return static_cast<uint32_t>(cells_.size());
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

Result<std::shared_ptr<ExecSession>> Broker::ExecAdmitted(const ExecSpec& spec, ExecSink* sink) {
  Lock lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindAllowed(spec.cell_id, spec.wall_clock_ms));
  ODY_ASSIGN_OR_RETURN(ExecOptions options, MakeExecOptions(cell->compiled, cell->env, spec));
  if (!cell->compiled.unconfined || !spec.run_id.empty() || spec.keep_output) {
    ODY_ASSIGN_OR_RETURN(options.spec.run, TakeRun(cell, RunField(spec), spec.run_id));
  }
  auto session = std::make_shared<ExecSession>(std::move(options), sink);
  if (spec.keep_output) session->KeepOutput(CopiesOf(cell, session));
  session->AtEnd(ConclusionOf(cell));
  audit_->Add(ExecRecord(cell->id, cell->admission.owner.uid, session->options()));
  cell->unused_deadline = Clock::time_point::max();
  if (cell->ready.empty()) {
    session->AwaitSlot();
    loop_.WakeAt(session->deadline());
    cell->waiting.push_back(session);
    WantSlots(cell.get());
    return session;
  }
  ReadySlot slot = std::move(cell->ready.front());
  cell->ready.pop_front();
  StartInSlot(cell, std::move(slot), session);
  WantSlots(cell.get());
  return session;
}

// Called with the lock: a session's own lock nests inside the broker's, never the other way round.
void Broker::StartInSlot(const CellPtr& cell, ReadySlot slot,
                         std::shared_ptr<ExecSession> session) {
  const uint64_t group = loop_.NewGroup();
  cell->running[slot.number] = {session, group};
  cell->busy_until = Clock::now() + kBusy;
  session->Start(
      std::move(slot.exec), std::move(slot.control),
      [this, group, weak = std::weak_ptr<ExecSession>(session)](int fd, ExecSession::Source source,
                                                                bool writable) {
        const auto when =
            writable ? EventLoop::When::kWritableEdge : EventLoop::When::kReadableEdge;
        loop_.Watch(group, static_cast<unsigned>(source), fd, when, [weak, source] {
          if (const auto watched = weak.lock()) watched->OnReady(source);
        });
      },
      [cell, weak = std::weak_ptr<ExecSession>(session)] {
        // Weak: whom it asks may be the cell's own, and end without an answer.
        const auto on_stats = [counted = std::weak_ptr<Cell>(cell),
                               weak](const wire::StatsReply& reply) {
          const auto known = counted.lock();
          if (!known) return;
          const uint64_t kills = NewSince(&known->oom_seen, reply.usage.oom_kills);
          const uint64_t refused = NewSince(&known->pids_seen, reply.usage.pids_refused);
          if (const auto asking = weak.lock()) asking->SetUsage(kills, refused);
        };
        (void)cell->provider->AskStats(cell->id, on_stats);
      },
      [this](Clock::time_point when) { loop_.WakeAt(when); });
  loop_.WakeAt(std::min(session->deadline(), cell->busy_until));
}

// For the commands that wait; without any, a running command's slot comes back.
void Broker::WantSlots(Cell* cell) {
  // On the host none ahead of need: each is granted when it is made.
  const size_t ahead = cell->running.empty() && !cell->compiled.unconfined ? kReadySlots : 0;
  const size_t needed = cell->waiting.size() + ahead;
  while (cell->ready.size() + cell->slots_wanted < needed) {
    const std::string want = cell::EncodeEmpty(cell::MessageType::kWantSlot);
    if (!cell->socket || !SendMessage(cell->socket.get(), want, {}, MSG_DONTWAIT).ok()) return;
    ++cell->slots_wanted;
  }
}

}  // namespace odyssey::supervisor
