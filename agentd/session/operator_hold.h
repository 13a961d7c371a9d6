#ifndef ODYSSEY_AGENTD_SESSION_OPERATOR_HOLD_H_
#define ODYSSEY_AGENTD_SESSION_OPERATOR_HOLD_H_

// An operator's hold of a session: a job in the session's queue, as a turn is. Once it runs, no
// turn of the session runs, and it occupies no worker thread, until Release.

#include <atomic>
#include <functional>
#include <future>
#include <stop_token>
#include <string>

#include "agentd/session/session_job.h"
#include "common/base/status.h"

namespace odyssey::session {

class OperatorHold final : public SessionJob {
 public:
  struct Hooks {
    std::function<void(const SessionJob*)> resume;  // makes the pool run the job again
    std::function<Result<std::string>()> prepare;   // the session's cell for an operator
    // Called once: by the worker thread with what `prepare` returned, or by the thread that stops
    // the job with CANCELLED. After a cell's id the holder must call Release.
    std::function<void(Result<std::string>)> on_held;
    std::function<void()> on_end;
  };

  explicit OperatorHold(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Requested when the session is deleted, agentd stops, or the operator's call has ended.
  std::stop_token stop_token() const { return stop_.get_token(); }
  void Release();

  scheduler::Progress Run() override;
  void RequestStop(turn::Ending ending) override;
  void EndWithoutRunning() override;
  void LeaveForRestart() override;
  bool IsEnding() const override { return released_; }
  void WaitEnded() override { ended_future_.wait(); }

 private:
  void End();

  const Hooks hooks_;
  bool held_ = false;  // of the worker that runs the job
  std::atomic<bool> released_ = false;
  std::stop_source stop_;
  std::promise<void> ended_promise_;
  std::shared_future<void> ended_future_ = ended_promise_.get_future().share();
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_OPERATOR_HOLD_H_
