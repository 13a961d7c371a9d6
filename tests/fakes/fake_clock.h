#ifndef ODYSSEY_TESTS_FAKES_FAKE_CLOCK_H_
#define ODYSSEY_TESTS_FAKES_FAKE_CLOCK_H_

// A clock that tests set: it starts at 2026-03-24T09:30:00Z and stands still. Thread-safe.

#include <atomic>

#include "agentd/base/clock.h"

namespace odyssey::fakes {

class FakeClock final : public agent::Clock {
 public:
  std::chrono::system_clock::time_point Now() const override {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(millis_));
  }
  void Advance(std::chrono::milliseconds by) { millis_ += by.count(); }

 private:
  std::atomic<int64_t> millis_ = 1774344600000;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FAKE_CLOCK_H_
