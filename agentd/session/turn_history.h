#ifndef ODYSSEY_AGENTD_SESSION_TURN_HISTORY_H_
#define ODYSSEY_AGENTD_SESSION_TURN_HISTORY_H_

// The conversation of a turn, made of its events: for a turn whose end agentd did not record. Pure.

#include <map>
#include <string>
#include <vector>

#include "agentd/model/chat.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::session {

class TurnHistory final {
 public:
  explicit TurnHistory(std::string turn_id) : turn_id_(std::move(turn_id)) {}

  // Events of other turns have no effect.
  void Add(const agent::v1::Event& event);

  // The prompt, what the model said, and every tool call that has finished, with its result. A call
  // without a result is left out: a model's server refuses one.
  const std::vector<model::Message>& messages() const { return messages_; }

 private:
  const std::string turn_id_;
  std::vector<model::Message> messages_;
  std::map<std::string, model::ToolUse> calls_;  // started, not finished
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_HISTORY_H_
