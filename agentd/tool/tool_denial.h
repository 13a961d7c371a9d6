#ifndef ODYSSEY_AGENTD_TOOL_TOOL_DENIAL_H_
#define ODYSSEY_AGENTD_TOOL_TOOL_DENIAL_H_

#include <nlohmann/json_fwd.hpp>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::tools {

// A denial as a model reads it: without what is empty, and without a count of one. Pure.
nlohmann::json DenialForModel(const supervisor::v1::Denial& denial);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_TOOL_DENIAL_H_
