#include "agentd/session/operator_hold.h"

namespace odyssey::session {

using scheduler::Progress;

void OperatorHold::Release() {
  released_ = true;
  hooks_.resume(this);
}

Progress OperatorHold::Run() {
  if (!held_) {
    if (stop_.stop_requested()) {
      EndWithoutRunning();
      return Progress::kDone;
    }
    Result<std::string> cell_id = hooks_.prepare();
    held_ = cell_id.ok();
    hooks_.on_held(std::move(cell_id));
    if (!held_) {
      End();
      return Progress::kDone;
    }
  }
  if (!released_) return Progress::kParked;
  End();
  return Progress::kDone;
}

void OperatorHold::RequestStop(turn::Ending) { stop_.request_stop(); }

void OperatorHold::EndWithoutRunning() {
  hooks_.on_held(Cancelled("the session was deleted, or agentd is stopping"));
  End();
}

void OperatorHold::End() {
  hooks_.on_end();
  ended_promise_.set_value();
}

void OperatorHold::LeaveForRestart() {
  RequestStop(turn::Ending::kInterrupted);
  EndWithoutRunning();
}

}  // namespace odyssey::session
