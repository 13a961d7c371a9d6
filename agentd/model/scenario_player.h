#ifndef ODYSSEY_AGENTD_MODEL_SCENARIO_PLAYER_H_
#define ODYSSEY_AGENTD_MODEL_SCENARIO_PLAYER_H_

// Plays a scenario: from what was called so far in a turn, what comes next. Pure; keeps nothing
// between calls: the steps up to the last call are walked again, so that a scenario goes on in the
// same way after anything.

#include <string>
#include <variant>
#include <vector>

#include "agentd/model/model_client.h"
#include "agentd/scenario/scenario.h"
#include "common/base/status.h"

namespace odyssey::model {

// One call of a turn that has its result.
struct PlayedCall {
  std::string tool;
  std::string result_json;
};

struct Played {
  // Text, reasoning, and then perhaps tool calls (with the ids "call-1", …).
  std::vector<ModelEvent> events;
  // What follows them, if not OK. FAILED_PRECONDITION: a `fail` step, or a reference that has no
  // value, as "file:line: …".
  Status end;
  agent::v1::Usage usage;  // of this answer
};

// `calls`: what was called in this turn, in order: the results of every `call` step that was
// reached.
Played PlayScenario(const scenario::Scenario& scenario, const std::string& prompt,
                    const std::vector<PlayedCall>& calls);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_SCENARIO_PLAYER_H_
