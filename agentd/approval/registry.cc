#include "agentd/approval/registry.h"

#include <algorithm>

#include "common/base/sha256.h"

namespace odyssey::approval {

std::string_view DecisionName(Decision decision) {
  switch (decision) {
    case Decision::kAllowOnce:
      return "allow_once";
    case Decision::kAllowAlways:
      return "allow_always";
    case Decision::kDeny:
      return "deny";
  }
  return "deny";
}

std::string DigestOf(agent::v1::PermissionRequested request) {
  request.clear_digest();
  return Sha256Hex(request.SerializeAsString());
}

bool Registry::CountAsk(const std::string& session_id, std::chrono::system_clock::time_point now) {
  std::lock_guard lock(mutex_);
  auto& times = asks_[session_id];
  while (!times.empty() && times.front() <= now - std::chrono::minutes(1)) times.pop_front();
  if (times.size() >= kMaxAsksPerMinute) return false;
  times.push_back(now);
  return true;
}

std::optional<Question> Registry::Find(const std::string& request_id) const {
  std::lock_guard lock(mutex_);
  const auto it = open_.find(request_id);
  if (it == open_.end()) return std::nullopt;
  return it->second.question;
}

void Registry::Add(Question question, std::function<void(const Answer&)> on_answer) {
  std::vector<std::function<void()>> waiters;
  {
    std::lock_guard lock(mutex_);
    std::string id = question.request().request_id();
    open_[std::move(id)] = {++last_ordinal_, std::move(question), std::move(on_answer)};
    waiters.swap(waiters_);
  }
  for (const auto& ready : waiters) ready();
}

bool Registry::Resolve(const std::string& request_id, const Answer& answer) {
  Entry entry;
  {
    std::lock_guard lock(mutex_);
    const auto it = open_.find(request_id);
    if (it == open_.end()) return false;
    entry = std::move(it->second);
    open_.erase(it);
    if (answer.decision == Decision::kAllowAlways) {
      granted_.insert({entry.question.session_id(), entry.question.request().scope()});
    }
  }
  entry.on_answer(answer);
  return true;
}

void Registry::Drop(const std::string& request_id) {
  std::lock_guard lock(mutex_);
  open_.erase(request_id);
}

void Registry::ClearSession(const std::string& session_id) {
  std::lock_guard lock(mutex_);
  std::erase_if(open_,
                [&](const auto& item) { return item.second.question.session_id() == session_id; });
  asks_.erase(session_id);
  std::erase_if(granted_, [&](const auto& grant) { return grant.first == session_id; });
}

bool Registry::IsGranted(const std::string& session_id, const std::string& scope) const {
  std::lock_guard lock(mutex_);
  return granted_.count({session_id, scope}) > 0;
}

size_t Registry::size() const {
  std::lock_guard lock(mutex_);
  return open_.size();
}

std::vector<Registry::Open> Registry::After(uint64_t ordinal, const std::string& session_id) const {
  std::vector<Open> out;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : open_) {
      const bool wanted = session_id.empty() || entry.question.session_id() == session_id;
      if (wanted && entry.ordinal > ordinal) out.push_back({entry.ordinal, entry.question});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Open& a, const Open& b) { return a.ordinal < b.ordinal; });
  return out;
}

bool Registry::NotifyAfter(uint64_t ordinal, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  if (last_ordinal_ > ordinal) return false;
  waiters_.push_back(std::move(ready));
  return true;
}

uint64_t Registry::last_ordinal() const {
  std::lock_guard lock(mutex_);
  return last_ordinal_;
}

}  // namespace odyssey::approval
