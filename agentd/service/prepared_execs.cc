#include "agentd/service/prepared_execs.h"

#include <utility>

#include "common/base/refusal.h"

namespace odyssey::service {
namespace {

constexpr char kPrefix[] = "ope";

}  // namespace

bool PreparedExecs::IsId(const std::string& id) {
  return id.rfind(std::string(kPrefix) + "_", 0) == 0;
}

Result<std::string> PreparedExecs::Add(PreparedExec prepared) {
  std::lock_guard lock(mutex_);
  const auto now = clock_->Now();
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.until <= now; });
  if (entries_.size() >= kMost) {
    return ResourceExhausted(std::to_string(kMost) + " prepared commands wait for SessionExec");
  }
  std::string id = ids_->New(kPrefix);
  entries_[id] = {std::move(prepared), now + kLifetime};
  return id;
}

Result<PreparedExec> PreparedExecs::Take(const std::string& id, uint32_t caller) {
  std::lock_guard lock(mutex_);
  const auto it = entries_.find(id);
  const bool good = it != entries_.end() && it->second.until > clock_->Now() &&
                    it->second.prepared.policy.owner_uid == caller;
  if (!good) {
    return AboutField("start.cell_id",
                      NotFound("start.cell_id \"" + id +
                               "\": PrepareSessionExec gave no such id to "
                               "uid " +
                               std::to_string(caller) + ", or it was used, or " +
                               std::to_string(kLifetime.count()) + " s have passed"));
  }
  PreparedExec out = std::move(it->second.prepared);
  entries_.erase(it);
  return out;
}

}  // namespace odyssey::service
