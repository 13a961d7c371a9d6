#ifndef ODYSSEY_AGENTD_PROVIDER_BUNDLE_MODELS_H_
#define ODYSSEY_AGENTD_PROVIDER_BUNDLE_MODELS_H_

// What is wrong in the `model` of a bundle's agents, as the creation of a session would refuse it.

#include "policy/dialect/bundle.h"
#include "policy/dialect/problem.h"

namespace odyssey::provider {

// A provider that there is not, or a key or value of model.config. Agents without a provider are
// reported by the bundle's reader, the files of scenarios by scenario::ValidateScenarios.
dialect::Problems ValidateModels(const dialect::Bundle& bundle);

}  // namespace odyssey::provider

#endif  // ODYSSEY_AGENTD_PROVIDER_BUNDLE_MODELS_H_
