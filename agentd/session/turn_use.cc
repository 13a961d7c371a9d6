#include "agentd/session/turn_use.h"

namespace odyssey::session {

void TurnUse::Add(const agent::v1::Event& event) {
  if (event.has_turn_step() && event.turn_step().turn_id() == turn_id_) {
    const agent::v1::TurnStep& step = event.turn_step();
    const agent::v1::Usage& usage = step.usage();
    if (!step.has_usage()) return;
    used_ = used_ + policy::Budget{.tokens = usage.input_tokens()} +
            policy::Budget{usage.output_tokens(), usage.cost_microdollars(), 0,
                           step.duration_usec() / 1000};
  } else if (event.has_tool_call_started() && event.tool_call_started().turn_id() == turn_id_) {
    ++used_.tool_calls;
  } else if (event.has_history_summarized() && event.history_summarized().turn_id() == turn_id_) {
    summary_ = {event.history_summarized().messages(), event.history_summarized().summary()};
  }
}

}  // namespace odyssey::session
