#ifndef ODYSSEY_CTL_CLI_COMMAND_TABLE_H_
#define ODYSSEY_CTL_CLI_COMMAND_TABLE_H_

// Every command of odyssey-ctl, in the order of the help.

#include <string>
#include <vector>

#include "ctl/base/command.h"

namespace odyssey::ctl {

const std::vector<Command>& CommandTable();

// Options that come before the command.
const std::vector<OptionSpec>& GlobalOptions();

// The command that `arguments` name with their first one or two words, and how many; nullptr if
// none.
const Command* FindCommand(const std::vector<std::string>& arguments, size_t* words);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLI_COMMAND_TABLE_H_
