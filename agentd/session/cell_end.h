#ifndef ODYSSEY_AGENTD_SESSION_CELL_END_H_
#define ODYSSEY_AGENTD_SESSION_CELL_END_H_

// Ends a session's idle cell in the session's queue: a turn that is submitted meanwhile waits for
// it and makes the cell again.

#include <functional>
#include <future>
#include <utility>

#include "agentd/session/session_job.h"

namespace odyssey::session {

class CellEnd final : public SessionJob {
 public:
  struct Hooks {
    std::function<void()> end_cell;
    std::function<void()> on_end;  // the last thing before it has ended
  };
  explicit CellEnd(Hooks hooks) : hooks_(std::move(hooks)) {}

  scheduler::Progress Run() override {
    hooks_.end_cell();
    End();
    return scheduler::Progress::kDone;
  }
  void RequestStop(turn::Ending) override {}
  void EndWithoutRunning() override { End(); }
  void LeaveForRestart() override { End(); }
  // It takes as long as one call of the supervisor.
  bool IsEnding() const override { return true; }
  void WaitEnded() override { ended_future_.wait(); }

 private:
  void End() {
    hooks_.on_end();
    ended_promise_.set_value();
  }

  const Hooks hooks_;
  std::promise<void> ended_promise_;
  std::shared_future<void> ended_future_ = ended_promise_.get_future().share();
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_CELL_END_H_
