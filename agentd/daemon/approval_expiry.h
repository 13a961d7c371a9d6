#ifndef ODYSSEY_AGENTD_DAEMON_APPROVAL_EXPIRY_H_
#define ODYSSEY_AGENTD_DAEMON_APPROVAL_EXPIRY_H_

// Denies requests that are not answered in time.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "agentd/approval/registry.h"
#include "agentd/base/clock.h"

namespace odyssey::daemon {

// Denies every question whose expires_at has come, with a note that says so. Returns how many.
size_t DenyExpired(approval::Registry& registry, const agent::Clock& clock);

// Does so once a second while a question is open, until it is destroyed. The objects are borrowed.
class ApprovalExpiry final {
 public:
  ApprovalExpiry(approval::Registry* registry, const agent::Clock* clock);

 private:
  // What the registry wakes; it may keep it for longer.
  struct Signal {
    std::mutex mutex;
    std::condition_variable_any wake;
    bool asked = false;  // guarded by mutex
  };

  static void Watch(const std::stop_token& stop, approval::Registry& registry,
                    const agent::Clock& clock, const std::shared_ptr<Signal>& signal);

  std::jthread thread_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_APPROVAL_EXPIRY_H_
