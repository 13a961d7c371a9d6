#include "agentd/session/deadlines.h"

namespace odyssey::session {

Deadlines::Deadlines(std::function<void(const std::string& id)> on_due)
    : on_due_(std::move(on_due)), thread_([this](const std::stop_token& stop) { Watch(stop); }) {}

Deadlines::~Deadlines() { Stop(); }

void Deadlines::Add(const std::string& id, std::chrono::milliseconds after) {
  const Time time = std::chrono::steady_clock::now() + after;
  {
    std::lock_guard lock(mutex_);
    const auto [it, added] = times_.try_emplace(id, time);
    if (!added) {
      if (it->second <= time) return;
      due_.erase({it->second, id});
      it->second = time;
    }
    due_.emplace(time, id);
  }
  changed_.notify_one();
}

void Deadlines::Remove(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto it = times_.find(id);
  if (it == times_.end()) return;
  due_.erase({it->second, id});
  times_.erase(it);
}

void Deadlines::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Deadlines::Watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (due_.empty()) {
      changed_.wait(lock, stop, [this] { return !due_.empty(); });
      continue;
    }
    const auto [time, id] = *due_.begin();
    if (std::chrono::steady_clock::now() < time) {
      const Time next = time;
      changed_.wait_until(lock, stop, next,
                          [&] { return due_.empty() || due_.begin()->first != next; });
      continue;
    }
    due_.erase(due_.begin());
    times_.erase(id);
    lock.unlock();
    on_due_(id);
    lock.lock();
  }
}

}  // namespace odyssey::session
