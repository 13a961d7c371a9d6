#include "supervisor/rpc/job_queue.h"

#include <system_error>
#include <thread>
#include <utility>

namespace odyssey::supervisor {

bool JobQueue::Add(std::function<void()> job) {
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back(std::move(job));
  if (state_->running) return true;
  try {
    std::thread([state = state_] { Work(state); }).detach();
  } catch (const std::system_error&) {
    state_->jobs.pop_back();
    return false;
  }
  state_->running = true;
  return true;
}

void JobQueue::Work(const std::shared_ptr<State>& state) {
  for (;;) {
    std::function<void()> job;
    {
      const std::lock_guard lock(state->mutex);
      state->running = !state->jobs.empty();
      if (!state->running) return;
      job = std::move(state->jobs.front());
      state->jobs.pop_front();
    }
    job();
  }
}

}  // namespace odyssey::supervisor
