#ifndef ODYSSEY_AGENTD_DAEMON_PERIODIC_H_
#define ODYSSEY_AGENTD_DAEMON_PERIODIC_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace odyssey::daemon {

// Calls a function now and again and again until it is destroyed, on a thread of its own.
class Periodic final {
 public:
  Periodic(std::chrono::seconds period, std::function<void()> work);

 private:
  void Loop(const std::stop_token& stop);

  const std::chrono::seconds period_;
  const std::function<void()> work_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_PERIODIC_H_
