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

Status CheckAnswer(const agent::v1::PermissionRequested& request, const Answer& answer) {
  const bool of_session = answer.grant_scope == agent::v1::GRANT_SCOPE_SESSION;
  const bool says_scope = answer.grant_scope != agent::v1::GRANT_SCOPE_UNSPECIFIED;
  if (says_scope && !of_session && answer.grant_scope != agent::v1::GRANT_SCOPE_CALL) {
    return InvalidArgument("grant_scope " + std::to_string(answer.grant_scope) +
                           ": allowed are GRANT_SCOPE_CALL, GRANT_SCOPE_SESSION");
  }
  const bool grants = request.has_grants() && answer.decision != Decision::kDeny;
  if (says_scope && !grants) {
    return InvalidArgument(
        "grant_scope: only with an answer that allows a request with grants; leave it out");
  }
  if (grants && answer.decision == Decision::kAllowAlways) {
    return InvalidArgument(
        "decision: a request with grants is not allowed always; allow it once, for this call or, "
        "with grant_scope, for the session");
  }
  if (answer.grant_duration_ms != 0 && !of_session) {
    return InvalidArgument("grant_duration_ms: only with GRANT_SCOPE_SESSION");
  }
  if (answer.grant_duration_ms <= kMaxGrantDurationMs) return OkStatus();
  return InvalidArgument("grant_duration_ms " + std::to_string(answer.grant_duration_ms) +
                         ": at most " + std::to_string(kMaxGrantDurationMs));
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

void Registry::Add(Question question, std::function<void(const Answer&)> on_answer,
                   std::chrono::milliseconds timeout) {
  std::vector<std::function<void()>> waiters;
  {
    std::lock_guard lock(mutex_);
    std::string id = question.request().request_id();
    open_[std::move(id)] = {++last_ordinal_, std::move(question), std::move(on_answer), timeout};
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
    if (answer.decision == Decision::kAllowAlways) GrantLocked(entry.question, answer);
  }
  entry.on_answer(answer);
  return true;
}

bool Registry::Drop(const std::string& request_id) {
  std::lock_guard lock(mutex_);
  return open_.erase(request_id) != 0;
}

void Registry::ClearSession(const std::string& session_id) {
  std::lock_guard lock(mutex_);
  std::erase_if(open_,
                [&](const auto& item) { return item.second.question.session_id() == session_id; });
  asks_.erase(session_id);
  granted_.erase(session_id);
}

bool Registry::IsGranted(const std::string& session_id, const std::string& scope) const {
  std::lock_guard lock(mutex_);
  const auto of_session = granted_.find(session_id);
  if (of_session == granted_.end()) return false;
  return std::any_of(of_session->second.begin(), of_session->second.end(),
                     [&](const auto& allowed) { return allowed.scope() == scope; });
}

void Registry::GrantLocked(const Question& question, const Answer& answer) {
  auto& of_session = granted_[question.session_id()];
  const std::string& scope = question.request().scope();
  std::erase_if(of_session, [&](const auto& allowed) { return allowed.scope() == scope; });
  agent::v1::AllowedScope& added = of_session.emplace_back();
  added.set_scope(scope);
  added.set_request_id(question.request().request_id());
  added.set_by_uid(answer.by_uid);
  added.set_by(answer.by);
}

std::vector<agent::v1::AllowedScope> Registry::Allowed(const std::string& session_id) const {
  std::lock_guard lock(mutex_);
  const auto of_session = granted_.find(session_id);
  return of_session == granted_.end() ? std::vector<agent::v1::AllowedScope>() : of_session->second;
}

size_t Registry::Forget(const std::string& session_id, const std::string& scope) {
  std::lock_guard lock(mutex_);
  const auto of_session = granted_.find(session_id);
  if (of_session == granted_.end()) return 0;
  return std::erase_if(of_session->second, [&](const auto& allowed) {
    return scope.empty() || allowed.scope() == scope;
  });
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
      if (wanted && entry.ordinal > ordinal)
        out.push_back({entry.ordinal, entry.question, entry.timeout});
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
