#ifndef ODYSSEY_AGENTD_DAEMON_IDLE_CELLS_H_
#define ODYSSEY_AGENTD_DAEMON_IDLE_CELLS_H_

// Ends the cells of sessions that have had no work for a while.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "agentd/session/sessions.h"

namespace odyssey::daemon {

// Looks again and again until it is destroyed. `sessions` is borrowed. `idle` of 0: never.
class IdleCells final {
 public:
  IdleCells(session::Sessions* sessions, std::chrono::seconds idle);

 private:
  void Watch(const std::stop_token& stop, session::Sessions* sessions, std::chrono::seconds idle);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_IDLE_CELLS_H_
