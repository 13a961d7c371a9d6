#ifndef ODYSSEY_CTL_HELP_H_
#define ODYSSEY_CTL_HELP_H_

// Help and completion, made from the command table. Pure.

#include <string>
#include <string_view>

#include "ctl/command.h"

namespace odyssey::ctl {

// "odyssey-ctl run BUNDLE --prompt TEXT [options]".
std::string UsageLine(const Command& command);

std::string CommandHelp(const Command& command);
std::string GeneralHelp();

// A bash script that completes commands, options, choices and paths.
std::string BashCompletion();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_HELP_H_
