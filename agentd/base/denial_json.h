#ifndef ODYSSEY_AGENTD_BASE_DENIAL_JSON_H_
#define ODYSSEY_AGENTD_BASE_DENIAL_JSON_H_

// A denial as JSON. Pure.

#include <nlohmann/json_fwd.hpp>

#include "agentd/base/denial.h"

namespace odyssey::agent {

// Found by nlohmann::json through the type's namespace. Every field, as journals have them.
void to_json(nlohmann::json& out, const Denial& denial);
void from_json(const nlohmann::json& in, Denial& denial);

// As a model reads it: without what is empty, and without a count of one.
nlohmann::json DenialForModel(const Denial& denial);

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_DENIAL_JSON_H_
