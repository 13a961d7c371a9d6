#include "agentd/daemon/periodic.h"

#include <utility>

namespace odyssey::daemon {

Periodic::Periodic(std::chrono::seconds period, std::function<void()> work)
    : period_(period), work_(std::move(work)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
}

void Periodic::Loop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    work_();
    wake_.wait_for(lock, stop, period_, [] { return false; });
  }
}

}  // namespace odyssey::daemon
