#include "agentd/session/session_grants.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace odyssey::session {
namespace {

bool HasExpired(const SessionGrant& grant, SessionGrants::Time now) {
  return grant.expires_at && *grant.expires_at <= now;
}

}  // namespace

void SessionGrants::Add(const std::string& session_id, SessionGrant grant) {
  const std::lock_guard lock(mutex_);
  grants_[session_id].push_back(std::move(grant));
}

std::vector<SessionGrant> SessionGrants::Of(const std::string& session_id, Time now) const {
  const std::lock_guard lock(mutex_);
  std::vector<SessionGrant> out;
  const auto found = grants_.find(session_id);
  if (found == grants_.end()) return out;
  std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(out),
               [&](const SessionGrant& grant) { return !HasExpired(grant, now); });
  return out;
}

std::vector<SessionGrant> SessionGrants::TakeExpired(const std::string& session_id, Time now) {
  const std::lock_guard lock(mutex_);
  std::vector<SessionGrant> out;
  const auto found = grants_.find(session_id);
  if (found == grants_.end()) return out;
  const auto first =
      std::stable_partition(found->second.begin(), found->second.end(),
                            [&](const SessionGrant& grant) { return !HasExpired(grant, now); });
  out.assign(std::make_move_iterator(first), std::make_move_iterator(found->second.end()));
  found->second.erase(first, found->second.end());
  return out;
}

void SessionGrants::Remove(const std::string& session_id, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = grants_.find(session_id);
  if (found == grants_.end()) return;
  std::erase_if(found->second, [&](const SessionGrant& grant) { return grant.id == id; });
}

bool SessionGrants::Revoke(const std::string& session_id, const std::string& id, Time now) {
  const std::lock_guard lock(mutex_);
  const auto found = grants_.find(session_id);
  if (found == grants_.end()) return false;
  return std::erase_if(found->second, [&](const SessionGrant& grant) {
           return grant.id == id && grant.scope == agent::v1::GRANT_SCOPE_SESSION &&
                  !HasExpired(grant, now);
         }) != 0;
}

void SessionGrants::Clear(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  grants_.erase(session_id);
}

}  // namespace odyssey::session
