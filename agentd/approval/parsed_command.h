#ifndef ODYSSEY_AGENTD_APPROVAL_PARSED_COMMAND_H_
#define ODYSSEY_AGENTD_APPROVAL_PARSED_COMMAND_H_

// A command line as the rules read it, for the person who is asked. Pure.

#include <string_view>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::approval {

// Every simple command of `line`, in its order; none if the line cannot be read.
agent::v1::SimpleCommands ParsedCommand(std::string_view line);

}  // namespace odyssey::approval

#endif  // ODYSSEY_AGENTD_APPROVAL_PARSED_COMMAND_H_
