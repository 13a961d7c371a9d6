#ifndef ODYSSEY_SUPERVISOR_EGRESS_H2_FLOOD_H_
#define ODYSSEY_SUPERVISOR_EGRESS_H2_FLOOD_H_

// How many frames a peer may send that cost it next to nothing: those that open a stream only to
// have it reset, and those that carry nothing. What HTTP/2 itself bounds (windows, streams) and
// libnghttp2 (CONTINUATION, entries of SETTINGS) is not counted here, nor are frames of unknown
// types, which are skipped.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace odyssey::egress::h2 {

// Holds `burst` at first and at most, and gets `per_second` again.
class Allowance final {
 public:
  using Time = std::chrono::steady_clock::time_point;
  Allowance(double burst, double per_second)
      : burst_(burst), per_second_(per_second), left_(burst) {}

  // false: there is none left.
  bool Take(Time now) {
    if (now > last_) {
      const std::chrono::duration<double> passed = now - last_;
      left_ = std::min(burst_, left_ + passed.count() * per_second_);
      last_ = now;
    }
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  void Give(double count) { left_ = std::min(burst_, left_ + count); }

 private:
  const double burst_, per_second_;
  double left_;
  Time last_;
};

class FloodGuard final {
 public:
  using Time = Allowance::Time;
  // A stream was reset, by the peer or for what the peer sent on it.
  bool TakeReset(Time now) { return resets_.Take(now); }
  // PING, SETTINGS, PRIORITY, DATA without bytes.
  bool TakeEmpty(Time now) { return empty_.Take(now); }
  bool TakeWindowUpdate(Time now) { return window_updates_.Take(now); }
  // A frame of DATA was sent, for which the peer gives credit.
  void SentData() { window_updates_.Give(kUpdatesADataFrame); }

 private:
  static constexpr double kUpdatesADataFrame = 4;
  Allowance resets_{200, 20};
  Allowance empty_{1000, 100};
  Allowance window_updates_{2000, 200};
};

}  // namespace odyssey::egress::h2

#endif  // ODYSSEY_SUPERVISOR_EGRESS_H2_FLOOD_H_
