#include "supervisor/egress/limits/fair_shares.h"

#include <utility>

namespace odyssey::egress {

bool FairShares::Ask(Owner owner, size_t max_waiting, std::function<void()> start) {
  Share& share = shares_[owner];
  if (share.taken < each_ && taken_ < in_all_) {
    ++share.taken;
    ++taken_;
    start();
    return true;
  }
  if (share.waiting.size() >= max_waiting) return false;
  share.waiting.push_back(std::move(start));
  if (share.waiting.size() == 1 && share.taken < each_) turns_.push_back(owner);
  return true;
}

void FairShares::Release(Owner owner) {
  const auto it = shares_.find(owner);
  Share& share = it->second;
  --taken_;
  if (share.taken-- == each_ && !share.waiting.empty()) turns_.push_back(owner);
  if (share.taken == 0 && share.waiting.empty()) shares_.erase(it);
  StartNext();
}

void FairShares::Forget(Owner owner) {
  turns_.remove(owner);
  const auto it = shares_.find(owner);
  if (it == shares_.end()) return;
  it->second.waiting.clear();
  if (it->second.taken == 0) shares_.erase(it);
}

void FairShares::StartNext() {
  if (turns_.empty() || taken_ >= in_all_) return;
  const Owner owner = turns_.front();
  turns_.pop_front();
  Share& share = shares_[owner];
  const std::function<void()> start = std::move(share.waiting.front());
  share.waiting.pop_front();
  ++share.taken;
  ++taken_;
  if (!share.waiting.empty() && share.taken < each_) turns_.push_back(owner);
  start();
}

}  // namespace odyssey::egress
