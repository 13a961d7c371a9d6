#include "supervisor/rpc/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace odyssey::supervisor {
namespace {

constexpr int kMaxEvents = 64;
constexpr int64_t kMaxTimeoutMs = 60'000;
constexpr uint64_t kWakeId = 0;

uint32_t EpollEvents(EventLoop::When when) {
  switch (when) {
    case EventLoop::When::kReadable:
      return EPOLLIN;
    case EventLoop::When::kReadableEdge:
      return EPOLLIN | static_cast<uint32_t>(EPOLLET);
    case EventLoop::When::kWritableEdge:
      return EPOLLOUT | static_cast<uint32_t>(EPOLLET);
  }
  return 0;
}

}  // namespace

EventLoop::EventLoop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ODY_CHECK(epoll_ && wake_);
  epoll_event event{};
  event.events = EPOLLIN | static_cast<uint32_t>(EPOLLET);
  event.data.u64 = kWakeId;
  ODY_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
}

uint64_t EventLoop::NewGroup() {
  const std::lock_guard lock(mutex_);
  return next_group_++;
}

void EventLoop::Watch(uint64_t group, unsigned place, int fd, When when,
                      std::function<void()> handler) {
  epoll_event event{};
  event.events = EpollEvents(when);
  event.data.u64 = group * kPlaces + place;
  {
    const std::lock_guard lock(mutex_);
    handlers_[event.data.u64] = std::make_shared<std::function<void()>>(std::move(handler));
  }
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  ODY_CHECK(errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::Forget(uint64_t group) {
  const std::lock_guard lock(mutex_);
  for (unsigned place = 0; place < kPlaces; ++place) handlers_.erase(group * kPlaces + place);
}

void EventLoop::Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void EventLoop::WakeAt(Clock::time_point when) {
  {
    const std::lock_guard lock(mutex_);
    if (when >= deadline_) return;
    deadline_ = when;
  }
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void EventLoop::Stop(Status status) {
  stop_status_ = std::move(status);
  stopped_ = true;
}

int EventLoop::TimeoutMs() {
  const std::lock_guard lock(mutex_);
  if (deadline_ == Clock::time_point::max()) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, kMaxTimeoutMs));
}

void EventLoop::Dispatch(uint64_t id) {
  if (id == kWakeId) {
    uint64_t count;
    (void)!read(wake_.get(), &count, sizeof(count));
    return;
  }
  std::shared_ptr<std::function<void()>> handler;
  {
    const std::lock_guard lock(mutex_);
    const auto it = handlers_.find(id);
    if (it == handlers_.end()) return;
    handler = it->second;
  }
  (*handler)();
}

Status EventLoop::Run(const std::function<Clock::time_point(Clock::time_point)>& on_deadline) {
  epoll_event events[kMaxEvents];
  while (!stopped_) {
    const int count = epoll_wait(epoll_.get(), events, kMaxEvents, TimeoutMs());
    if (count < 0 && errno != EINTR) return ErrnoStatus(errno, "epoll_wait");
    for (int i = 0; i < count && !stopped_; ++i) Dispatch(events[i].data.u64);

    const auto now = Clock::now();
    {
      const std::lock_guard lock(mutex_);
      if (now < deadline_) continue;
      deadline_ = Clock::time_point::max();  // what is asked for meanwhile sets its own
    }
    WakeAt(on_deadline(now));
  }
  return stop_status_;
}

}  // namespace odyssey::supervisor
