#include "agentd/daemon/idle_cells.h"

#include <algorithm>

namespace odyssey::daemon {
namespace {

constexpr std::chrono::seconds kShortest{1};
constexpr std::chrono::seconds kLongest{30};

}  // namespace

IdleCells::IdleCells(session::Sessions* sessions, std::chrono::seconds idle) {
  if (idle.count() == 0) return;
  thread_ = std::jthread([=, this](const std::stop_token& stop) { Watch(stop, sessions, idle); });
}

void IdleCells::Watch(const std::stop_token& stop, session::Sessions* sessions,
                      std::chrono::seconds idle) {
  const std::chrono::seconds period = std::clamp(idle / 10, kShortest, kLongest);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    sessions->EndIdleCells(idle);
    wake_.wait_for(lock, stop, period, [] { return false; });
  }
}

}  // namespace odyssey::daemon
