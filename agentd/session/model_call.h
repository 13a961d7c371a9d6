#ifndef ODYSSEY_AGENTD_SESSION_MODEL_CALL_H_
#define ODYSSEY_AGENTD_SESSION_MODEL_CALL_H_

// One call of the model by a turn, counted and timed.

#include <stop_token>
#include <string>

#include "agentd/model/model_client.h"
#include "agentd/session/budget_meter.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::session {

struct ModelCallEnd {
  Status status;
  agent::v1::TurnStep step;  // model_call, without the turn's id
};

// The answer is bounded by what is left of the budget. `sink` as ModelClient::Stream.
ModelCallEnd CallModel(model::ModelClient* model, model::ModelRequest request, BudgetMeter* meter,
                       const model::ModelSink& sink, std::stop_token stop);

// The same of a call whose answer is a text: no longer than `most_bytes`, RESOURCE_EXHAUSTED.
ModelCallEnd CallForText(model::ModelClient* model, const model::ModelRequest& request,
                         size_t most_bytes, BudgetMeter* meter, std::stop_token stop,
                         std::string* text);

// Adds the counts of `more`.
void AddUsage(const agent::v1::Usage& more, agent::v1::Usage* total);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_MODEL_CALL_H_
