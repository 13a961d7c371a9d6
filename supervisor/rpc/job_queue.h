#ifndef ODYSSEY_SUPERVISOR_RPC_JOB_QUEUE_H_
#define ODYSSEY_SUPERVISOR_RPC_JOB_QUEUE_H_

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace odyssey::supervisor {

// Jobs that block, one after another, on a thread that lives while there are some. A cell has one
// queue, so that a slow cell holds up only itself, and an idle one has no thread. Thread-safe; a
// job may own the queue.
class JobQueue final {
 public:
  // False if no thread could be started: the job is not done.
  [[nodiscard]] bool Add(std::function<void()> job);

 private:
  struct State {
    std::mutex mutex;
    std::deque<std::function<void()>> jobs;
    bool running = false;
  };
  static void Work(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_JOB_QUEUE_H_
