#ifndef ODYSSEY_SUPERVISOR_RPC_EVENT_LOOP_H_
#define ODYSSEY_SUPERVISOR_RPC_EVENT_LOOP_H_

// epoll and one deadline, for the broker: descriptors are watched in groups, and a group is
// forgotten as a whole, so that no event reaches what is gone. Thread-safe; handlers run on the
// loop's thread, without any lock of the loop.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::supervisor {

using Clock = std::chrono::steady_clock;

class EventLoop final {
 public:
  enum class When {
    kReadable,      // as long as it is (level-triggered)
    kReadableEdge,  // when it becomes so
    kWritableEdge,
  };
  // Descriptors of one group, each at a place of its own.
  static constexpr unsigned kPlaces = 8;

  EventLoop();

  uint64_t NewGroup();
  // `fd` is borrowed. Watching the same descriptor again tells an edge that has passed once more.
  void Watch(uint64_t group, unsigned place, int fd, When when, std::function<void()> handler);
  // No handler of the group begins after this. The descriptors leave epoll when they are closed.
  void Forget(uint64_t group);
  // While `fd` is still open: it stays so, but is not watched.
  void Unwatch(int fd);

  // The loop calls its deadline function at `when`, or before if it was asked to.
  void WakeAt(Clock::time_point when);

  // Runs until Stop, and returns what it was given. `on_deadline` gets the time and answers with
  // the next one (time_point::max() for never). Call once, from one long-lived thread.
  Status Run(const std::function<Clock::time_point(Clock::time_point)>& on_deadline);
  // From a handler.
  void Stop(Status status);

 private:
  void Dispatch(uint64_t id);
  int TimeoutMs();

  const UniqueFd epoll_;
  const UniqueFd wake_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<std::function<void()>>> handlers_;  // by id
  uint64_t next_group_ = 1;  // 0 is the loop's own
  Clock::time_point deadline_ = Clock::time_point::max();
  bool stopped_ = false;
  Status stop_status_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EVENT_LOOP_H_
