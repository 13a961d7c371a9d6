#ifndef ODYSSEY_SUPERVISOR_RPC_EVENT_LOOP_H_
#define ODYSSEY_SUPERVISOR_RPC_EVENT_LOOP_H_

// The one thread that owns the cells, their slots, commands and runs: epoll, timers, and a queue by
// which other threads hand it tasks. Descriptors are watched in groups, and a group is forgotten as
// a whole, so that no event reaches what is gone.
//
// Post, Call and Await are for any thread. Everything else is for the loop's thread alone, or for
// the thread that makes the loop before Run is called.

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::supervisor {

using Clock = std::chrono::steady_clock;

// Receives the answer to a request, once, on the loop's thread.
template <typename R>
using Done = std::function<void(R)>;

class EventLoop final {
 public:
  using Task = std::function<void()>;
  enum class When {
    kReadable,      // as long as it is (level-triggered)
    kReadableEdge,  // when it becomes so
    kWritableEdge,
    kEitherEdge,
  };
  // Descriptors of one group, each at a place of its own.
  static constexpr unsigned kPlaces = 8;
  static constexpr uint64_t kNoTimer = 0;

  EventLoop();

  // Tasks run in the order in which they are posted. Never blocks.
  void Post(Task task);
  // Not on the loop's thread. Blocks until the loop has run `task`, and returns its result.
  template <typename F>
  std::invoke_result_t<F> Call(F task) {
    using R = std::invoke_result_t<F>;
    return Await<R>([task](const Done<R>& done) { done(task()); });
  }
  // Not on the loop's thread. Blocks until `begin`, which runs on the loop, or what it started has
  // called its argument, and returns what it was called with.
  template <typename R>
  R Await(const std::function<void(const Done<R>&)>& begin) {
    const auto answer = std::make_shared<std::promise<R>>();
    auto future = answer->get_future();
    Post([begin, answer] { begin([answer](R result) { answer->set_value(std::move(result)); }); });
    return future.get();
  }

  uint64_t NewGroup() { return next_group_++; }
  // `fd` is borrowed. Watching the same descriptor again reports an edge that has passed once more.
  void Watch(uint64_t group, unsigned place, int fd, When when, Task handler);
  // No handler of the group begins after this. The descriptors leave epoll when they are closed.
  void Forget(uint64_t group);
  // While `fd` is still open: it stays so, but is not watched.
  void Unwatch(int fd);

  // Runs `task` at `when`, or soon after; kNoTimer for time_point::max(), which never comes.
  uint64_t At(Clock::time_point when, Task task);
  // Does nothing for kNoTimer and for a timer that has run.
  void Cancel(uint64_t timer);

  // Runs until Stop, which a task or handler calls, and returns what it was given. Call from one
  // long-lived thread.
  Status Run();
  void Stop(Status status);

 private:
  void Dispatch(uint64_t id);
  void RunPosted();
  void RunTimers();
  int TimeoutMs() const;
  // False if there are tasks: then the loop must not sleep.
  bool MaySleep();

  const UniqueFd epoll_;
  const UniqueFd wake_;  // eventfd: tasks were posted while the loop slept
  std::unordered_map<uint64_t, std::shared_ptr<Task>> handlers_;  // by group and place
  uint64_t next_group_ = 1;                                       // 0 is the loop's own
  struct Timer {
    Clock::time_point when;
    Task task;
  };
  std::multimap<Clock::time_point, uint64_t> due_;
  std::unordered_map<uint64_t, Timer> timers_;
  uint64_t next_timer_ = kNoTimer + 1;
  bool stopped_ = false;
  Status stop_status_;

  std::mutex mutex_;  // guards what follows
  std::vector<Task> posted_;
  bool sleeping_ = false;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EVENT_LOOP_H_
