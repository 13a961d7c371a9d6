#include "supervisor/rpc/cell_pool.h"

#include <algorithm>
#include <utility>

#include "common/os/file.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxPolicies = 64;
// Time for the command that the last cell was asked for: to make a cell takes a processor.
constexpr auto kMakeAfter = std::chrono::milliseconds(5);
constexpr auto kFirstMakeTime = std::chrono::milliseconds(20);
// How often what the cells are made of is looked at. Not while there is no demand.
constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr size_t kMaxMeminfo = 64 * 1024;

policy::SandboxRequest WithoutEnv(policy::SandboxRequest request) {
  request.env.clear();
  return request;
}

// What a cell of the pool is made for. Nothing of it is one session's.
CellOrder Anonymous(CellOrder order) {
  PrepareSpec spec;
  spec.sandbox = WithoutEnv(std::move(order.spec.sandbox));
  spec.bundle_digest = std::move(order.spec.bundle_digest);
  spec.sources_digest = std::move(order.spec.sources_digest);
  spec.owner_uid = order.spec.owner_uid;
  order.spec = std::move(spec);
  order.admission.request.env.clear();
  return order;
}

// Of the same owner, and equal in what a client asks for.
bool IsSamePolicy(const CellOrder& a, const CellOrder& b) {
  return a.spec.owner_uid == b.spec.owner_uid && a.compiled.digest == b.compiled.digest &&
         IdentityOf(a) == IdentityOf(b) && a.compiled.plan == b.compiled.plan &&
         WithoutEnv(a.spec.sandbox) == WithoutEnv(b.spec.sandbox);
}

// What is the operator's and the host's.
bool IsSameGround(const CellOrder& a, const CellOrder& b) {
  return a.admission.digest == b.admission.digest && a.admission.owner == b.admission.owner &&
         a.admission.outright == b.admission.outright && a.host == b.host;
}

bool IsUsersTree(const plan::Entry& entry) {
  return entry.kind == plan::EntryKind::kHostTree && entry.ownership == plan::Ownership::kMapped;
}

// A directory of a user that cannot be told from another one in its place, or in which names are
// protected: those that are there when the cell is made, and others may have come since.
bool ShowsWhatMayChange(const plan::Plan& plan) {
  const auto may = [&](const plan::Entry& entry) {
    if (IsUsersTree(entry)) return entry.inode == 0;
    return entry.kind == plan::EntryKind::kPart &&
           std::any_of(plan.entries.begin(), plan.entries.end(), [&](const plan::Entry& tree) {
             return IsUsersTree(tree) && plan::IsWithin(entry.target, tree.target);
           });
  };
  return std::any_of(plan.entries.begin(), plan.entries.end(), may);
}

}  // namespace

bool IsPoolable(const CellOrder& order) {
  const policy::SandboxRequest& request = order.spec.sandbox;
  return request.ephemeral && !order.compiled.unconfined && request.providers.empty() &&
         !policy::HasReviewedWrites(request) && !ShowsWhatMayChange(order.compiled.plan);
}

CellPool::CellPool(EventLoop* loop, Auditor* auditor, CeilingGate* ceiling, MountTable* mounts,
                   const PoolOptions& options, Cells cells)
    : loop_(loop),
      auditor_(auditor),
      ceiling_(ceiling),
      mounts_(mounts),
      options_(options),
      table_(std::move(cells)),
      make_time_(kFirstMakeTime) {}

CellPool::~CellPool() { loop_->Cancel(look_timer_); }

CellPool::PolicyPtr CellPool::FindPolicy(const CellOrder& order) const {
  const auto found = std::find_if(policies_.begin(), policies_.end(), [&](const PolicyPtr& policy) {
    return IsSamePolicy(policy->order, order);
  });
  return found == policies_.end() ? nullptr : *found;
}

size_t CellPool::CountOf(const PolicyPtr& policy) const {
  return static_cast<size_t>(std::count_if(cells_.begin(), cells_.end(), [&](const Ahead& ahead) {
    return !ahead.ending && ahead.policy.lock() == policy;
  }));
}

CellPtr CellPool::Take(const CellOrder& order) {
  if (options_.cells == 0 || !IsPoolable(order)) return nullptr;
  const PolicyPtr policy = FindPolicy(order);
  if (policy == nullptr) return nullptr;
  if (!IsSameGround(policy->order, order)) {
    EndIf("what it is made of has changed",
          [&](const Ahead& ahead) { return ahead.policy.lock() == policy; });
    return nullptr;
  }
  const auto now = Clock::now();
  const auto fits = [&](const Ahead& ahead) {
    return !ahead.ending && ahead.policy.lock() == policy && now - ahead.began < options_.idle &&
           (ahead.cell->egress() == nullptr || ahead.cell->egress()->connected());
  };
  auto best = cells_.end();
  for (auto it = cells_.begin(); it != cells_.end(); ++it) {
    if (!fits(*it)) continue;
    if (best == cells_.end()) best = it;  // one that is launching has a start at least
    if (!it->was_ready) continue;
    best = it;
    break;
  }
  if (best == cells_.end()) return nullptr;
  if (!best->was_ready) auditor_->OnMadeAhead(best->cell->facts());
  CellPtr cell = std::move(best->cell);
  cells_.erase(best);
  return cell;
}

void CellPool::OnAsked(const CellOrder& order) {
  if (options_.cells == 0 || !IsPoolable(order)) return;
  PolicyPtr policy = FindPolicy(order);
  if (policy == nullptr) {
    policy = std::make_shared<Policy>(Policy{.order = Anonymous(order)});
    policies_.push_front(policy);
  } else {
    policies_.splice(policies_.begin(), policies_,
                     std::find(policies_.begin(), policies_.end(), policy));
    if (!IsSameGround(policy->order, order)) {
      EndIf("what it is made of has changed",
            [&](const Ahead& ahead) { return ahead.policy.lock() == policy; });
      policy->order = Anonymous(order);
    }
  }
  policy->demand.OnAsked(Clock::now());
  if (policies_.size() > kMaxPolicies) policies_.pop_back();  // its cells end when they are old
  MakeLater(policy);
  LookLater();
}

void CellPool::MakeLater(const PolicyPtr& policy) {
  if (std::exchange(policy->making, true)) return;
  loop_->At(Clock::now() + kMakeAfter, [this, weak = std::weak_ptr(policy)] {
    const PolicyPtr due = weak.lock();
    if (due == nullptr) return;
    due->making = false;
    Make(due);
  });
}

void CellPool::Make(const PolicyPtr& policy) {
  const size_t wanted = policy->demand.CellsAhead(Clock::now(), make_time_, options_);
  if (!auditor_->CanRecord()) return;
  while (CountOf(policy) < wanted && table_.has_room() && MakeRoom(policy)) {
    Result<CellPtr> cell = table_.launch(policy->order);
    if (!cell.ok()) return;  // the next one who asks for it is told
    cells_.push_back({.cell = *cell, .policy = policy, .began = Clock::now()});
  }
}

bool CellPool::MakeRoom(const PolicyPtr& policy) {
  const auto stays = [](const Ahead& ahead) { return !ahead.ending; };
  const auto count = std::count_if(cells_.begin(), cells_.end(), stays);
  if (static_cast<size_t>(count) < options_.cells) return true;
  const auto other = std::find_if(cells_.begin(), cells_.end(), [&](const Ahead& ahead) {
    const PolicyPtr its = ahead.policy.lock();
    return !ahead.ending && its != policy &&
           (its == nullptr || policy->demand.Displaces(its->demand));
  });
  if (other == cells_.end()) return false;
  EndIf("another policy needs its place", [&](const Ahead& ahead) { return &ahead == &*other; });
  return true;
}

// ── Ending ──────────────────────────────────────────────────────────────────────────────────────

// They are marked first: to end one may call OnChange, which lets go what is gone. Kill fails only
// when root is gone, and the cell with it.
template <typename F>
void CellPool::EndIf(const std::string& why, F unfit) {
  std::vector<CellPtr> ends;
  for (Ahead& ahead : cells_) {
    if (ahead.ending || !unfit(ahead)) continue;
    ahead.ending = true;
    ends.push_back(ahead.cell);
  }
  for (const CellPtr& cell : ends) {
    (void)cell->Kill(/*purge=*/false, Status(Code::kAborted, why));
  }
}

void CellPool::EndAll(const std::string& why) {
  EndIf(why, [](const Ahead&) { return true; });
}

CellPtr CellPool::Find(const std::string& cell_id) const {
  const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const Ahead& ahead) {
    return ahead.cell->facts().id == cell_id;
  });
  return found == cells_.end() ? nullptr : found->cell;
}

void CellPool::OnChange() {
  for (Ahead& ahead : cells_) {
    if (ahead.was_ready || ahead.cell->unsettled()) continue;
    ahead.was_ready = true;
    if (ahead.cell->state() != Cell::State::kReady) {
      // Not again at once: it is asked for twice first.
      const PolicyPtr policy = ahead.policy.lock();
      if (policy != nullptr && !ahead.ending) policy->demand = PoolDemand();
      continue;
    }
    constexpr int kWeight = 4;
    make_time_ += (Clock::now() - ahead.began + kMakeAfter - make_time_) / kWeight;
    auditor_->OnMadeAhead(ahead.cell->facts());
  }
  cells_.remove_if([](const Ahead& ahead) { return ahead.cell->state() == Cell::State::kGone; });
}

// ── Looking ─────────────────────────────────────────────────────────────────────────────────────

void CellPool::LookLater() {
  if (look_timer_ != EventLoop::kNoTimer) return;
  look_timer_ = loop_->At(Clock::now() + kLookEvery, [this] {
    look_timer_ = EventLoop::kNoTimer;
    Look();
  });
}

void CellPool::Look() {
  const Clock::time_point now = Clock::now();
  policies_.remove_if([&](const PolicyPtr& policy) { return policy->demand.Over(now, options_); });
  EndIf("nobody asked for it in time", [&](const Ahead& ahead) {
    return ahead.policy.expired() || now - ahead.began >= options_.idle;
  });
  const uint64_t mounts = mounts_->Changes();
  for (const PolicyPtr& policy : policies_) {
    if (CountOf(policy) == 0) continue;
    const auto of_policy = [&](const Ahead& ahead) { return ahead.policy.lock() == policy; };
    Admission admission = policy->order.admission;
    const bool same = ceiling_->StillAllows(&admission).ok() &&
                      admission.digest == policy->order.admission.digest;
    if (!same) EndIf("the operator's ceiling has changed", of_policy);
    if (mounts != policy->order.host.mounts) EndIf("the host's mounts have changed", of_policy);
  }
  const Result<std::string> meminfo = ReadFile("/proc/meminfo", kMaxMeminfo);
  if (meminfo.ok() && MemoryIsShort(*meminfo)) EndAll("the host's memory is short");
  if (!policies_.empty() || !cells_.empty()) LookLater();
}

}  // namespace odyssey::supervisor
