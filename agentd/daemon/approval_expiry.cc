#include "agentd/daemon/approval_expiry.h"

#include <unistd.h>

#include <chrono>

namespace odyssey::daemon {

size_t DenyExpired(approval::Registry& registry, const agent::Clock& clock) {
  const std::string now = agent::FormatTime(clock.Now());  // such times sort as text
  size_t denied = 0;
  for (const approval::Registry::Open& open : registry.After(0, "")) {
    const std::string& expires_at = open.question.request().expires_at();
    if (expires_at.empty() || expires_at > now) continue;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(open.timeout).count();
    denied +=
        registry.Resolve(open.question.request().request_id(),
                         {approval::Decision::kDeny,
                          "no answer in " + std::to_string(seconds) + " s", getuid(), "timeout"});
  }
  return denied;
}

ApprovalExpiry::ApprovalExpiry(approval::Registry* registry, const agent::Clock* clock)
    : thread_([registry, clock](const std::stop_token& stop) {
        Watch(stop, *registry, *clock, std::make_shared<Signal>());
      }) {}

void ApprovalExpiry::Watch(const std::stop_token& stop, approval::Registry& registry,
                           const agent::Clock& clock, const std::shared_ptr<Signal>& signal) {
  const auto wake = [signal] {
    const std::lock_guard lock(signal->mutex);
    signal->asked = true;
    signal->wake.notify_all();
  };
  while (!stop.stop_requested()) {
    const uint64_t last = registry.last_ordinal();
    DenyExpired(registry, clock);
    std::unique_lock lock(signal->mutex);
    if (registry.size() > 0) {
      signal->wake.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    } else if (registry.NotifyAfter(last, wake)) {
      signal->wake.wait(lock, stop, [&] { return signal->asked; });
      signal->asked = false;
    }
  }
}

}  // namespace odyssey::daemon
