#include "agentd/daemon/approval_expiry.h"

#include <unistd.h>

namespace odyssey::daemon {

size_t DenyExpired(approval::Registry& registry, const agent::Clock& clock,
                   std::chrono::seconds timeout) {
  const std::string oldest = agent::FormatTime(clock.Now() - timeout);  // such times sort as text
  size_t denied = 0;
  for (const approval::Registry::Open& open : registry.After(0, "")) {
    if (open.question.created_at() > oldest) continue;
    denied += registry.Resolve(
        open.question.request().request_id(),
        {approval::Decision::kDeny, "no answer in " + std::to_string(timeout.count()) + " s",
         getuid(), "timeout"});
  }
  return denied;
}

ApprovalExpiry::ApprovalExpiry(approval::Registry* registry, const agent::Clock* clock,
                               std::chrono::seconds timeout) {
  if (timeout.count() == 0) return;
  thread_ = std::jthread(
      [=, this](std::stop_token stop) { Watch(std::move(stop), registry, clock, timeout); });
}

void ApprovalExpiry::Watch(std::stop_token stop, approval::Registry* registry,
                           const agent::Clock* clock, std::chrono::seconds timeout) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    DenyExpired(*registry, *clock, timeout);
    wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
  }
}

}  // namespace odyssey::daemon
