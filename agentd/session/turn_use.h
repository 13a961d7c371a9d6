#ifndef ODYSSEY_AGENTD_SESSION_TURN_USE_H_
#define ODYSSEY_AGENTD_SESSION_TURN_USE_H_

// What a turn used, made of its events: for a turn whose end agentd did not record. Pure.

#include <string>
#include <utility>

#include "agentd/memory/summary.h"
#include "odyssey/agent/v1/event.pb.h"
#include "policy/model/budget.h"

namespace odyssey::session {

class TurnUse final {
 public:
  explicit TurnUse(std::string turn_id) : turn_id_(std::move(turn_id)) {}

  // Events of other turns have no effect.
  void Add(const agent::v1::Event& event);

  // Of its calls of the model, and of tools; their time alone, workers not included.
  const policy::Budget& used() const { return used_; }
  // That it made; without messages: none.
  const memory::Summary& summary() const { return summary_; }

 private:
  const std::string turn_id_;
  policy::Budget used_;
  memory::Summary summary_;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_USE_H_
