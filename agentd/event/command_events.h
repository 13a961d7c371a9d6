#ifndef ODYSSEY_AGENTD_EVENT_COMMAND_EVENTS_H_
#define ODYSSEY_AGENTD_EVENT_COMMAND_EVENTS_H_

// The events of one command, as a tool and an operator's call record them. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::event {

// What each event of a command names: the turn or operator that runs it, and the command.
struct CommandId {
  std::string turn_id, exec_id;
};

agent::v1::Event CommandBegins(const CommandId& id, const std::vector<std::string>& argv,
                               const std::string& cwd);
// `stream` is "stdout" or "stderr".
agent::v1::Event CommandPrints(const CommandId& id, const char* stream, std::string text);
agent::v1::Event CommandEnds(const CommandId& id, int32_t exit_code, std::string_view outcome);

// `tool_call_id` is empty for an operator's command.
agent::v1::Event AccessIsDenied(const std::string& turn_id, const std::string& tool_call_id,
                                const supervisor::v1::Denial& denial);

agent::v1::Event EgressIsDecided(const std::string& turn_id, const std::string& tool_call_id,
                                 const supervisor::v1::EgressDecision& decision);

}  // namespace odyssey::event

#endif  // ODYSSEY_AGENTD_EVENT_COMMAND_EVENTS_H_
