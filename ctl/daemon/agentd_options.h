#ifndef ODYSSEY_CTL_DAEMON_AGENTD_OPTIONS_H_
#define ODYSSEY_CTL_DAEMON_AGENTD_OPTIONS_H_

// The options of odyssey-agentd that `up` has too and passes on. Pure.

#include <string>
#include <vector>

#include "ctl/base/option_parser.h"

namespace odyssey::ctl {

// One row an option, by the name that agentd has for it.
const std::vector<OptionSpec>& AgentdOptions();

// agentd's arguments for what was given of them: a duration in seconds, rounded up; a size in
// bytes; a path as an absolute one, from the working directory; anything else as it was typed.
// agentd checks them.
std::vector<std::string> AgentdArguments(const ParsedOptions& options);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DAEMON_AGENTD_OPTIONS_H_
