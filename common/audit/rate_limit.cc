#include "common/audit/rate_limit.h"

namespace odyssey::audit {

RateLimit::Interval* RateLimit::Find(const Subject& subject, Time now) {
  auto it = intervals_.find(subject);
  if (it == intervals_.end()) {
    const bool room = intervals_.size() < kMaxSubjects;
    it = intervals_.try_emplace(room ? subject : Subject{}, Interval{now}).first;
  }
  Interval& interval = it->second;
  if (now - interval.begin >= kInterval || now < interval.begin) {
    if (interval.suppressed > 0) ended_.push_back({it->first, interval.suppressed});
    interval = {now};
  }
  return &interval;
}

bool RateLimit::Admit(const Subject& subject, Time now) {
  Interval* interval = Find(subject, now);
  if (interval->written < kPerInterval) {
    ++interval->written;
    return true;
  }
  ++interval->suppressed;
  return false;
}

void RateLimit::Count(const Subject& subject, uint64_t count, Time now) {
  Find(subject, now)->suppressed += count;
}

std::vector<RateLimit::Suppressed> RateLimit::TakeEnded(Time now) {
  std::vector<Suppressed> out = std::exchange(ended_, {});
  for (auto it = intervals_.begin(); it != intervals_.end();) {
    if (now - it->second.begin < kInterval && now >= it->second.begin) {
      ++it;
      continue;
    }
    if (it->second.suppressed > 0) out.push_back({it->first, it->second.suppressed});
    it = intervals_.erase(it);
  }
  return out;
}

std::vector<RateLimit::Suppressed> RateLimit::TakeAll() {
  std::vector<Suppressed> out = std::exchange(ended_, {});
  for (const auto& [subject, interval] : intervals_) {
    if (interval.suppressed > 0) out.push_back({subject, interval.suppressed});
  }
  intervals_.clear();
  return out;
}

}  // namespace odyssey::audit
