#ifndef ODYSSEY_AGENTD_SESSION_SESSION_GRANTS_H_
#define ODYSSEY_AGENTD_SESSION_SESSION_GRANTS_H_

// What approvals have added to the cells of sessions. In memory: it ends with agentd, as approvals
// do. Thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::session {

struct SessionGrant {
  std::string id;  // the request that granted it, or of one that a rule granted its own
  agent::v1::Grants grants;
  agent::v1::GrantScope scope = agent::v1::GRANT_SCOPE_CALL;
  std::optional<std::chrono::system_clock::time_point> expires_at;
  uint32_t by_uid = 0;
};

class SessionGrants final {
 public:
  using Time = std::chrono::system_clock::time_point;

  void Add(const std::string& session_id, SessionGrant grant);
  // Those that have not expired, oldest first: the one of the call that runs too.
  std::vector<SessionGrant> Of(const std::string& session_id, Time now) const;
  // Removes those that have expired, and returns them.
  std::vector<SessionGrant> TakeExpired(const std::string& session_id, Time now);
  void Remove(const std::string& session_id, const std::string& id);
  // False: the session has none of this id for more than a call.
  bool Revoke(const std::string& session_id, const std::string& id, Time now);
  void Clear(const std::string& session_id);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<SessionGrant>> grants_;  // guarded by mutex_, by session
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_SESSION_GRANTS_H_
