#ifndef ODYSSEY_CTL_CLI_COMPLETION_H_
#define ODYSSEY_CTL_CLI_COMPLETION_H_

// Scripts for shells that complete commands, options, choices and paths, made from the command
// table. Pure.

#include <string>

namespace odyssey::ctl {

std::string BashCompletion();
std::string FishCompletion();
// Sourced, or by the name _odyssey-ctl in a directory of $fpath.
std::string ZshCompletion();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLI_COMPLETION_H_
