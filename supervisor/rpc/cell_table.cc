#include "supervisor/rpc/cell_table.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/refusal.h"
#include "common/base/time_text.h"
#include "policy/compile/launch_failure.h"
#include "policy/plan/plan.h"
#include "supervisor/wire/host_wire.h"

namespace odyssey::supervisor {
namespace {

constexpr auto kLaunchTimeout = std::chrono::seconds(20);
constexpr auto kEndTimeout = std::chrono::seconds(20);

constexpr size_t kMaxEnded = 32;  // as supervisor.proto says

struct PhaseName {
  const char* name;
  const char* lifted_by;  // the change
};

// Of those that keep a cell from running.
PhaseName NameOf(v1::CellPhase phase) {
  if (phase == v1::CELL_PHASE_SUSPENDED) return {"suspended", "resume"};
  if (phase == v1::CELL_PHASE_STOPPED) return {"stopped", "start"};
  return {"quarantined", "release"};
}

CellFacts FactsOf(const CellOrder& order, uint32_t revision) {
  const PrepareSpec& spec = order.spec;
  CellFacts facts{.id = RandomId("cel_"),
                  .key = spec.key,
                  .revision = revision,
                  .identity = IdentityOf(order),
                  .admission = order.admission,
                  .request = spec.sandbox,
                  .compiled = order.compiled,
                  .env = spec.sandbox.env,
                  .ephemeral = spec.sandbox.ephemeral,
                  .single_use = spec.single_use,
                  .created_at = Rfc3339Now()};
  facts.request.env.clear();
  return facts;
}

// Of the one that is made ahead, and gets its key later.
CellFacts FactsAhead(const CellOrder& order) {
  CellFacts facts = FactsOf(order, 1);
  facts.key = CellKey();
  facts.single_use = false;
  return facts;
}

}  // namespace

std::string IdentityOf(const CellOrder& order) {
  const PrepareSpec& spec = order.spec;
  return order.compiled.digest + "|" + spec.bundle_digest + "|" + spec.sources_digest + "|" +
         spec.sandbox.workspace + "|" + (spec.sandbox.ephemeral ? "memory" : "disk") + "|" +
         std::to_string(spec.owner_uid);
}

CellTable::CellTable(Wiring wiring, const PoolOptions& pool)
    : loop_(wiring.loop),
      root_(wiring.root),
      host_(wiring.host),
      auditor_(wiring.auditor),
      cells_directory_(std::move(wiring.cells_directory)),
      broker_socket_(std::move(wiring.broker_socket)),
      max_cells_(wiring.max_cells),
      pool_(loop_, auditor_, wiring.ceiling, wiring.mounts, pool,
            {.launch = [this](const CellOrder& order) { return Launch(FactsAhead(order), order); },
             .has_room = [this] { return !IsNearlyFull(); }}) {
  root_->set_on_gone([this](const wire::Gone& gone) {
    CellPtr cell = FindAny(gone.cell_id);
    if (cell == nullptr) cell = pool_.Find(gone.cell_id);
    if (cell != nullptr) cell->OnGone(gone.reason);
  });
}

// The rest is for what is asked for.
bool CellTable::IsNearlyFull() const {
  constexpr size_t kEighths = 7;
  return max_cells_ != 0 && (cells_.size() + pool_.size()) * 8 > size_t{max_cells_} * kEighths;
}

CellPtr CellTable::FindAny(const std::string& cell_id) const {
  const auto it = cells_.find(cell_id);
  return it == cells_.end() ? nullptr : it->second;
}

Result<CellPtr> CellTable::Find(const std::string& cell_id) const {
  CellPtr cell = FindAny(cell_id);
  if (cell != nullptr && cell->state() != Cell::State::kEnding) return cell;
  return AboutField(
      "cell_id", NotFound("cell_id \"" + cell_id.substr(0, plan::kMaxCellId) + "\": no such cell"));
}

CellPtr CellTable::FindByKey(const CellKey& key) const {
  const auto it = std::find_if(cells_.begin(), cells_.end(), [&key](const auto& entry) {
    return entry.second->facts().key == key;
  });
  return it == cells_.end() ? nullptr : it->second;
}

Standing CellTable::StandingOf(const Cell& cell) const {
  const auto said = standings_.find(cell.facts().key);
  const bool ended = cell.state() == Cell::State::kEnding || cell.state() == Cell::State::kGone;
  return said == standings_.end() || ended ? cell.standing() : said->second.standing;
}

Status CellTable::CheckMayRun(const CellKey& key) const {
  const auto said = standings_.find(key);
  if (said == standings_.end()) return OkStatus();
  const Standing& standing = said->second.standing;
  const PhaseName phase = NameOf(standing.phase);
  std::string why = std::string("the cell is ") + phase.name + " since " + standing.since;
  if (standing.by_uid) why += " by uid " + std::to_string(*standing.by_uid);
  if (!standing.reason.empty()) why += ": " + standing.reason;
  return FailedPrecondition(why + "; odyssey-ctl cell " + phase.lifted_by + " " + said->second.id +
                            " lifts it");
}

// ── Waiting ─────────────────────────────────────────────────────────────────────────────────────

void CellTable::Await(Clock::duration timeout, std::function<bool()> over,
                      std::function<void(bool)> then) {
  if (over()) return then(true);
  const auto waiter =
      waiters_.insert(waiters_.end(), Waiter{.over = std::move(over), .then = std::move(then)});
  if (timeout == kForever) return;
  waiter->timer = loop_->At(Clock::now() + timeout, [this, waiter] {
    const auto late = std::move(waiter->then);
    waiters_.erase(waiter);
    late(false);
  });
}

// Posted: a cell changes in the middle of its own work.
void CellTable::OnChange() {
  for (auto it = cells_.begin(); it != cells_.end();) {
    const bool gone = it->second->state() == Cell::State::kGone;
    if (gone) ended_.push_back(it->second->View());
    it = gone ? cells_.erase(it) : std::next(it);
  }
  while (ended_.size() > kMaxEnded) ended_.pop_front();
  pool_.OnChange();
  if (std::exchange(changed_, true)) return;
  loop_->Post([this] { RunWaiters(); });
}

void CellTable::RunWaiters() {
  changed_ = false;
  std::list<Waiter> over;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    const auto next = std::next(it);
    if (it->over()) over.splice(over.end(), waiters_, it);
    it = next;
  }
  for (Waiter& waiter : over) {
    loop_->Cancel(waiter.timer);
    waiter.then(true);
  }
}

// ── Making ──────────────────────────────────────────────────────────────────────────────────────

void CellTable::Prepare(const std::shared_ptr<CellOrder>& order,
                        const Done<Result<PreparedCell>>& done) {
  PrepareAfter(order, 1, done);
}

// One step; the next is taken when what it waits for is over.
void CellTable::PrepareAfter(const std::shared_ptr<CellOrder>& order, uint32_t revision,
                             const Done<Result<PreparedCell>>& done) {
  const PrepareSpec& spec = order->spec;
  if (const Status may = CheckMayRun(spec.key); !may.ok()) return done(OfField("key", may));
  if (held_keys_.count(spec.key) != 0) {
    return Await(
        kForever, [this, key = spec.key] { return held_keys_.count(key) == 0; },
        [this, order, revision, done](bool) { PrepareAfter(order, revision, done); });
  }
  const CellPtr cell = FindByKey(spec.key);
  if (cell == nullptr) {
    Result<CellPtr> launched = ClaimOrLaunch(*order, revision);
    if (!launched.ok()) return done(launched.status());
    return AwaitReady(order, *launched, true, done);
  }
  if (cell->facts().identity == IdentityOf(*order) && cell->state() != Cell::State::kEnding) {
    cell->SetEnv(spec.sandbox.env);  // a rotated value reaches the next command
    if (!cell->SetEgress(spec.sandbox)) return AwaitReady(order, cell, false, done);
    // Who prepares a cell with other endpoints runs a command for them, or for the lack of them.
    return cell->egress()->AwaitLoaded([this, order, cell, done](const Status& loaded) {
      loaded.ok() ? AwaitReady(order, cell, false, done) : done(loaded);
    });
  }
  if (spec.spare_running && cell->busy()) {
    return done(FailedPrecondition(
        "key: commands run in the cell of this name, and a new one with this policy, workspace "
        "and limits would kill them; wait for their end, or name another cell"));
  }
  End(cell, /*purge=*/false,
      "key: another PrepareCell asked for this cell with another policy while it was being made, "
      "and replaced it; call PrepareCell again if this one is still wanted",
      [this, order, next = cell->facts().revision + 1, done](const Status& ended) {
        ended.ok() ? PrepareAfter(order, next, done) : done(ended);
      });
}

void CellTable::AwaitReady(const std::shared_ptr<CellOrder>& order, const CellPtr& cell,
                           bool created, const Done<Result<PreparedCell>>& done) {
  const auto then = [this, order, cell, created, done](bool in_time) {
    const bool ready = in_time && cell->state() == Cell::State::kReady;
    if (ready && cell->egress() != nullptr && !cell->egress()->failure().ok()) {
      return done(cell->egress()->failure());
    }
    if (ready) {
      cell->SetAdmission(order->admission);
      auditor_->OnPrepared(cell->facts(), order->spec, created);  // before any other record of it
      done(PreparedCell{cell, created});
      if (created) pool_.OnAsked(*order);  // who asked does not wait for the next one
      return;
    }
    Status why = Unavailable("the cell was not ready in time");
    if (in_time) why = Unavailable("the cell ended while it was being made");
    if (in_time && !cell->failure().ok()) {
      why = compile::NameField(cell->facts().request, cell->facts().compiled.plan,
                               order->spec.owner_uid, cell->failure());
    }
    if (!created) return done(why);
    End(cell, /*purge=*/false, "", [done, why](const Status&) { done(why); });
  };
  Await(
      kLaunchTimeout, [cell] { return !cell->unsettled(); }, then);
}

Result<CellPtr> CellTable::ClaimOrLaunch(const CellOrder& order, uint32_t revision) {
  CellFacts facts = FactsOf(order, revision);
  CellPtr cell = pool_.Take(order);
  if (cell != nullptr) {
    cell->Claim(std::move(facts));
  } else {
    if (IsNearlyFull()) pool_.EndAll("live cells need its place");
    ODY_ASSIGN_OR_RETURN(cell, Launch(std::move(facts), order));
  }
  cells_[cell->facts().id] = cell;
  return cell;
}

Result<CellPtr> CellTable::Launch(CellFacts facts, const CellOrder& order) {
  // What asks for the host gets that or nothing, and nothing else gets it.
  const bool on_host = facts.compiled.unconfined;
  plan::Plan plan = facts.compiled.plan;
  plan.cell_id = facts.id;
  if (!on_host && !facts.ephemeral) {
    plan.cell_tree = CellTreeOf(facts.key);
    if (facts.request.workspace.empty() && plan.disk_bytes == 0) {
      facts.workspace_path = cells_directory_ + "/" + plan.cell_tree + "/app";
    }
  }
  const std::string bytes = plan::EncodePlan(plan);
  if (bytes.size() > plan::kMaxPlanBytes) {
    return InvalidArgument("the plan is larger than " + std::to_string(plan::kMaxPlanBytes) +
                           " bytes: give fewer or shorter mounts");
  }
  const auto cell =
      std::make_shared<Cell>(loop_, auditor_, std::move(facts), [this] { OnChange(); });
  if (on_host) {
    LaunchOnHost(cell, order.spec.owner_uid);
  } else {
    if (order.spec.sandbox.network == policy::Network::kEgress) {
      ODY_RETURN_IF_ERROR(cell->OpenEgress(broker_socket_));
    }
    ODY_RETURN_IF_ERROR(cell->LaunchBy(root_, bytes));
  }
  return cell;
}

// To connect to the runner blocks, so a thread of its own does.
void CellTable::LaunchOnHost(const CellPtr& cell, uint32_t owner_uid) {
  const auto launch = [cell, owner_uid](const Result<std::shared_ptr<RootClient>>& connection) {
    if (cell->state() != Cell::State::kLaunching) return;
    const std::string plan =
        wire::Encode(HostPlanOf(cell->facts().compiled, cell->facts().id, owner_uid));
    const Status launched =
        connection.ok() ? cell->LaunchBy(*connection, plan) : connection.status();
    if (!launched.ok()) cell->FailLaunch(launched);
  };
  std::thread([loop = loop_, host = host_, launch] {
    loop->Post([launch, connection = host->Connect()] { launch(connection); });
  }).detach();
}

// ── Ending ──────────────────────────────────────────────────────────────────────────────────────

void CellTable::End(const CellPtr& cell, bool purge, const std::string& why,
                    const Done<Status>& done) {
  if (cell->state() != Cell::State::kGone) {
    const Status killed = cell->Kill(purge, Status(Code::kAborted, why));
    if (!killed.ok()) return done(killed);
  }
  Await(
      kEndTimeout, [cell] { return cell->state() == Cell::State::kGone; },
      [id = cell->facts().id, done](bool in_time) {
        done(in_time ? OkStatus() : Unavailable("cell " + id + " did not end in time"));
      });
}

void CellTable::Hold(const CellKey& key, const Done<Status>& done) {
  const CellPtr cell = FindByKey(key);
  // A client that has the outcome of a command may call at once, before the command's slot is free.
  if (cell == nullptr || !cell->finishing()) return HoldIdle(key, done);
  Await(
      kEndTimeout, [cell] { return !cell->finishing(); },
      [this, key, done](bool) { HoldIdle(key, done); });
}

void CellTable::HoldIdle(const CellKey& key, const Done<Status>& done) {
  if (held_keys_.count(key) != 0) {
    return done(FailedPrecondition("key: another call works on the changes of this cell"));
  }
  if (const Status may = CheckMayRun(key); !may.ok()) return done(OfField("key", may));
  const CellPtr cell = FindByKey(key);
  if (cell == nullptr) {
    held_keys_.insert(key);
    return done(OkStatus());
  }
  if (cell->busy()) {
    return done(
        FailedPrecondition("key: commands run in this cell; wait for their end, or end them"));
  }
  End(cell, /*purge=*/false, "key: the cell was ended for a change of its directories",
      [this, key, done](const Status& ended) { ended.ok() ? HoldIdle(key, done) : done(ended); });
}

void CellTable::Release(const CellKey& key) {
  held_keys_.erase(key);
  OnChange();
}

}  // namespace odyssey::supervisor
