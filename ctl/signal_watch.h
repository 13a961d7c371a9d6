#ifndef ODYSSEY_CTL_SIGNAL_WATCH_H_
#define ODYSSEY_CTL_SIGNAL_WATCH_H_

// Signals as calls on a thread of their own, where anything may be done.

#include <functional>
#include <thread>
#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::ctl {

class SignalWatch final {
 public:
  // Blocks `signals` in this thread, and so in those it starts later: make it before any other
  // thread. `on_signal` runs on the watch's thread.
  SignalWatch(const std::vector<int>& signals, std::function<void(int)> on_signal);
  // Waits for a call that is under way. The signals stay blocked.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void Loop() noexcept;

  std::function<void(int)> on_signal_;
  UniqueFd signals_;
  UniqueFd stop_;
  std::thread thread_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SIGNAL_WATCH_H_
