#ifndef ODYSSEY_AGENTD_SCENARIO_BUNDLE_SCENARIOS_H_
#define ODYSSEY_AGENTD_SCENARIO_BUNDLE_SCENARIOS_H_

// The scenarios that agents of a bundle name as their models.

#include <string>

#include "agentd/scenario/scenario.h"
#include "common/base/status.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/problem.h"

namespace odyssey::scenario {

inline constexpr char kProvider[] = "script";

// The scenario that `model`, of that provider, names in the bundle's directory. Reads the file,
// and nothing outside of the directory. INVALID_ARGUMENT: what is wrong with `model`, or the first
// problem of the file as "scenario file:line: key: message", and how many more there are.
Result<Scenario> LoadScenario(const std::string& directory, const dialect::ModelSpec& model);

// Every problem of the bundle's scenarios, one file after the other; and of each agent that names
// none that can be read, where it does. Agents with other providers have none.
// `open` opens the bundle's directory, as for LoadBundle.
dialect::Problems ValidateScenarios(const dialect::Bundle& bundle,
                                    const dialect::DirectoryOpener& open = nullptr);

}  // namespace odyssey::scenario

#endif  // ODYSSEY_AGENTD_SCENARIO_BUNDLE_SCENARIOS_H_
