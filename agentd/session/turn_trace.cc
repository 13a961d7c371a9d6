#include "agentd/session/turn_trace.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"

namespace odyssey::session {

TurnTrace::Entry& TurnTrace::Find(TurnStep step) {
  for (Entry& entry : entries_) {
    if (entry.step == step) return entry;
  }
  return entries_.emplace_back(Entry{step, {}, {}});
}

void TurnTrace::Enter(TurnStep step) {
  Leave();
  Find(step);
  running_ = true;
  step_ = step;
  since_ = Clock::now();
}

void TurnTrace::Note(const std::string& detail) {
  if (running_) Find(step_).detail = SanitizeUtf8(detail);
}

void TurnTrace::Leave() {
  if (std::exchange(running_, false)) Find(step_).took += Clock::now() - since_;
}

std::vector<agent::v1::TurnStep> TurnTrace::Take(const std::string& turn_id) {
  std::vector<agent::v1::TurnStep> out;
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.step < b.step; });
  for (const Entry& entry : std::exchange(entries_, {})) {
    agent::v1::TurnStep& step = out.emplace_back();
    step.set_turn_id(turn_id);
    step.set_step(std::string(StepName(entry.step)));
    step.set_duration_usec(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(entry.took).count()));
    step.set_detail(entry.detail);
  }
  return out;
}

}  // namespace odyssey::session
