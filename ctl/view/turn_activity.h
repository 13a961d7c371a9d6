#ifndef ODYSSEY_CTL_VIEW_TURN_ACTIVITY_H_
#define ODYSSEY_CTL_VIEW_TURN_ACTIVITY_H_

// What a turn is doing while no event comes, as one line for a person. Pure: events and times in,
// text out. The text is not sanitised.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

class TurnActivity final {
 public:
  // Times are milliseconds of one clock that only goes forward. `now_ms`: when the wait began.
  explicit TurnActivity(uint64_t now_ms) : begun_ms_(now_ms), step_ms_(now_ms) {}

  void See(const agent::v1::Event& event, uint64_t now_ms);

  // "1 m 05 s  Bash npm test  12 s, 4 KiB of output  (3 tool calls)".
  std::string Text(uint64_t now_ms) const;

 private:
  enum class Phase { kQueued, kModel, kTools };

  void Begin(Phase phase, uint64_t now_ms);

  uint64_t begun_ms_;
  Phase phase_ = Phase::kQueued;
  uint64_t step_ms_;                               // when the phase began, or its newest tool call
  std::map<std::string, std::string> open_calls_;  // by id: what a person reads of them
  std::string newest_call_;
  uint64_t output_bytes_ = 0;  // since step_ms_
  size_t calls_ = 0;           // that have begun
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_TURN_ACTIVITY_H_
