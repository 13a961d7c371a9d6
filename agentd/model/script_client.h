#ifndef ODYSSEY_AGENTD_MODEL_SCRIPT_CLIENT_H_
#define ODYSSEY_AGENTD_MODEL_SCRIPT_CLIENT_H_

// The provider "script": a scenario instead of a model. No network, no key, the same answer every
// time.

#include <memory>

#include "agentd/model/model_client.h"
#include "agentd/scenario/scenario.h"

namespace odyssey::model {

std::unique_ptr<ModelClient> NewScriptClient(scenario::Scenario scenario);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_SCRIPT_CLIENT_H_
