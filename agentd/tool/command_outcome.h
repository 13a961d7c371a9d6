#ifndef ODYSSEY_AGENTD_TOOL_COMMAND_OUTCOME_H_
#define ODYSSEY_AGENTD_TOOL_COMMAND_OUTCOME_H_

// How the end of a command reaches the model. Pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::tools {

bool Exited(const supervisor::v1::ExecOutcome& ended);

// Why a command that did not exit by itself ended; "" if it did.
std::string WhyEnded(const supervisor::v1::ExecOutcome& ended, const std::string& shell);

// Adds status_code, outcome, signal?, ended_processes? and note?.
void AddOutcome(const supervisor::v1::ExecOutcome& ended, nlohmann::json* result);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_COMMAND_OUTCOME_H_
