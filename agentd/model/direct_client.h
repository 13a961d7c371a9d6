#ifndef ODYSSEY_AGENTD_MODEL_DIRECT_CLIENT_H_
#define ODYSSEY_AGENTD_MODEL_DIRECT_CLIENT_H_

// The provider "direct": no model. The turn's prompt is the tool call that it makes, and the turn
// ends when the call has. A client whose model is elsewhere works with the session's tools so,
// under its rules, approvals and records.

#include <memory>

#include "agentd/model/model_client.h"

namespace odyssey::model {

inline constexpr char kDirectName[] = "prompt";  // of model.name

// A prompt is {"tool": NAME, "arguments": {…}}; another one fails the call with INVALID_ARGUMENT.
std::unique_ptr<ModelClient> NewDirectClient();

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_DIRECT_CLIENT_H_
