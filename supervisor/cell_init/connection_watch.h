#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_CONNECTION_WATCH_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_CONNECTION_WATCH_H_

// Connections of TCP that wait to be accepted. Until then no control group counts what the kernel
// keeps of them, and they need no process: who connected may have closed. They
// cannot be kept within a number, since nobody is asked when one comes, so a slot's pid 1 looks
// from time to time, from when its command listens (ADR 0034).

#include <chrono>

#include "common/os/unique_fd.h"

namespace odyssey::cell_init {

class ConnectionWatch final {
 public:
  static constexpr int kBetweenLooksMs = 250;

  // Of the caller's network namespace, read from then on. `own_network`: false where that is the
  // host's, of whose connections nothing is known here: then there is no watch.
  explicit ConnectionWatch(bool own_network);

  // A process has listened, or is about to.
  void Begin();

  // For poll(2): how long until the next look; -1 without a watch. Other work does not put it off.
  int TimeoutMs() const;
  bool IsDue() const { return TimeoutMs() == 0; }

  // Whether more wait than cell::kMaxWaitingConnections, or with more than cell::kMaxWaitingBytes
  // received; the tables being unreadable is not. Ends
  // the watch when the namespace has no connection and no listener left.
  bool IsTooMuch();

 private:
  bool own_network_;
  UniqueFd counts_, counts6_, table_, table6_;
  bool watching_ = false;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_CONNECTION_WATCH_H_
