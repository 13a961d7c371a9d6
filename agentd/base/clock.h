#ifndef ODYSSEY_AGENTD_BASE_CLOCK_H_
#define ODYSSEY_AGENTD_BASE_CLOCK_H_

// The time, as a seam: everything in agentd that records or compares times asks a Clock.

#include <chrono>
#include <cstdint>
#include <string>

namespace odyssey::agent {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::chrono::system_clock::time_point Now() const override;
};

int64_t UnixMillis(std::chrono::system_clock::time_point time);

// RFC 3339, UTC, milliseconds: "2026-03-24T09:30:00.125Z". Sorts as text.
std::string FormatTime(std::chrono::system_clock::time_point time);

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_CLOCK_H_
