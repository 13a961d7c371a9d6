#ifndef ODYSSEY_AGENTD_DAEMON_APPROVAL_EXPIRY_H_
#define ODYSSEY_AGENTD_DAEMON_APPROVAL_EXPIRY_H_

// Denies requests that are not answered in time.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "agentd/approval/registry.h"
#include "agentd/base/clock.h"

namespace odyssey::daemon {

// Denies every question that is older than `timeout`, with a note that says so. Returns how many.
size_t DenyExpired(approval::Registry& registry, const agent::Clock& clock,
                   std::chrono::seconds timeout);

// Does so once a second, until it is destroyed. The objects are borrowed. A timeout of 0: never.
class ApprovalExpiry final {
 public:
  ApprovalExpiry(approval::Registry* registry, const agent::Clock* clock,
                 std::chrono::seconds timeout);

 private:
  void Watch(std::stop_token stop, approval::Registry* registry, const agent::Clock* clock,
             std::chrono::seconds timeout);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_APPROVAL_EXPIRY_H_
