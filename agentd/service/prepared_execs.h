#ifndef ODYSSEY_AGENTD_SERVICE_PREPARED_EXECS_H_
#define ODYSSEY_AGENTD_SERVICE_PREPARED_EXECS_H_

// Policies that operators have given for a command in a session (PrepareSessionExec), each until
// SessionExec names it. Thread-safe.

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "agentd/session/operator_policy.h"
#include "common/base/status.h"

namespace odyssey::service {

struct PreparedExec {
  std::string session_id;
  session::OperatorPolicy policy;
};

class PreparedExecs final {
 public:
  static constexpr std::chrono::seconds kLifetime{60};
  static constexpr size_t kMost = 256;

  // Both are borrowed.
  PreparedExecs(const agent::Clock* clock, agent::IdSource* ids) : clock_(clock), ids_(ids) {}

  // Whether an id is one of these, and not a session's.
  static bool IsId(const std::string& id);

  // The id under which Take finds it, once, within kLifetime. RESOURCE_EXHAUSTED: kMost wait.
  Result<std::string> Add(PreparedExec prepared);
  // NOT_FOUND, also for another user than the one that prepared it.
  Result<PreparedExec> Take(const std::string& id, uint32_t caller);

 private:
  struct Entry {
    PreparedExec prepared;
    std::chrono::system_clock::time_point until;
  };

  const agent::Clock* const clock_;
  agent::IdSource* const ids_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_PREPARED_EXECS_H_
