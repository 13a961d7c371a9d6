#ifndef ODYSSEY_CTL_DAEMON_RESTART_POLICY_H_
#define ODYSSEY_CTL_DAEMON_RESTART_POLICY_H_

// When a daemon that died starts again. Pure.

#include <cstdint>
#include <optional>

namespace odyssey::ctl {

class RestartPolicy final {
 public:
  static constexpr uint32_t kFirstDelayMs = 100;
  static constexpr uint32_t kMaxDelayMs = 5000;
  static constexpr uint32_t kHealthyMs = 10'000;  // after that long the count starts anew
  static constexpr uint32_t kMaxFailures = 10;

  // How long to wait before the next start; empty: give up. `ran_ms` is how long it had been ready,
  // 0 if it never was.
  std::optional<uint32_t> OnDeath(uint64_t ran_ms) {
    if (ran_ms >= kHealthyMs) failures_ = 0;
    if (failures_ == kMaxFailures) return std::nullopt;
    const uint64_t delay = uint64_t{kFirstDelayMs} << failures_++;
    return delay < kMaxDelayMs ? static_cast<uint32_t>(delay) : kMaxDelayMs;
  }

 private:
  uint32_t failures_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DAEMON_RESTART_POLICY_H_
