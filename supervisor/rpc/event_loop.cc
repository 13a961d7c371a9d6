#include "supervisor/rpc/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace odyssey::supervisor {
namespace {

constexpr int kMaxEvents = 64;
constexpr int64_t kMaxTimeoutMs = 60'000;
constexpr uint64_t kWakeId = 0;

uint32_t EpollEvents(EventLoop::When when) {
  constexpr auto kEdge = static_cast<uint32_t>(EPOLLET);
  switch (when) {
    case EventLoop::When::kReadable:
      return EPOLLIN;
    case EventLoop::When::kReadableEdge:
      return EPOLLIN | kEdge;
    case EventLoop::When::kWritableEdge:
      return EPOLLOUT | kEdge;
    case EventLoop::When::kEitherEdge:
      return EPOLLIN | EPOLLOUT | kEdge;
  }
  return 0;
}

}  // namespace

EventLoop::EventLoop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ODY_CHECK(epoll_ && wake_);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  ODY_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
}

void EventLoop::Post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    if (!std::exchange(sleeping_, false)) return;
  }
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void EventLoop::Watch(uint64_t group, unsigned place, int fd, When when, Task handler) {
  epoll_event event{};
  event.events = EpollEvents(when);
  event.data.u64 = group * kPlaces + place;
  handlers_[event.data.u64] = std::make_shared<Task>(std::move(handler));
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  ODY_CHECK(errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::Forget(uint64_t group) {
  for (unsigned place = 0; place < kPlaces; ++place) handlers_.erase(group * kPlaces + place);
}

void EventLoop::Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

uint64_t EventLoop::At(Clock::time_point when, Task task) {
  if (when == Clock::time_point::max()) return kNoTimer;
  const uint64_t timer = next_timer_++;
  timers_[timer] = {when, std::move(task)};
  due_.emplace(when, timer);
  return timer;
}

void EventLoop::Cancel(uint64_t timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  const auto [first, last] = due_.equal_range(found->second.when);
  due_.erase(std::find_if(first, last, [timer](const auto& due) { return due.second == timer; }));
  timers_.erase(found);
}

void EventLoop::RunTimers() {
  const auto now = Clock::now();
  while (!due_.empty() && due_.begin()->first <= now && !stopped_) {
    auto node = timers_.extract(due_.begin()->second);
    due_.erase(due_.begin());
    node.mapped().task();
  }
}

void EventLoop::Stop(Status status) {
  stop_status_ = std::move(status);
  stopped_ = true;
}

// Rounded up: a timer that is a fraction of a millisecond early would spin.
int EventLoop::TimeoutMs() const {
  if (due_.empty()) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(due_.begin()->first - Clock::now())
          .count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, kMaxTimeoutMs));
}

bool EventLoop::MaySleep() {
  const std::lock_guard lock(mutex_);
  sleeping_ = posted_.empty();
  return sleeping_;
}

// What a task posts runs in the next round: descriptors have their turn before it.
void EventLoop::RunPosted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    sleeping_ = false;
    tasks.swap(posted_);
  }
  size_t next = 0;
  while (next < tasks.size() && !stopped_) tasks[next++]();
  if (next == tasks.size()) return;
  // Stopped. What waits for these tasks goes on waiting until the process exits.
  const std::lock_guard lock(mutex_);
  posted_.insert(posted_.begin(), std::make_move_iterator(tasks.begin() + next),
                 std::make_move_iterator(tasks.end()));
}

// A handler may forget its own group, so it is kept while it runs.
void EventLoop::Dispatch(uint64_t id) {
  if (id == kWakeId) {
    uint64_t count;
    (void)!read(wake_.get(), &count, sizeof(count));
    return;
  }
  const auto found = handlers_.find(id);
  if (found == handlers_.end()) return;
  const std::shared_ptr<Task> handler = found->second;
  (*handler)();
}

Status EventLoop::Run() {
  stopped_ = false;
  epoll_event events[kMaxEvents];
  while (!stopped_) {
    const int timeout_ms = MaySleep() ? TimeoutMs() : 0;
    const int count = epoll_wait(epoll_.get(), events, kMaxEvents, timeout_ms);
    if (count < 0 && errno != EINTR) return ErrnoStatus(errno, "epoll_wait");
    for (int i = 0; i < count && !stopped_; ++i) Dispatch(events[i].data.u64);
    RunPosted();
    RunTimers();
  }
  return stop_status_;
}

}  // namespace odyssey::supervisor
