#ifndef ODYSSEY_CTL_CLI_HELP_H_
#define ODYSSEY_CTL_CLI_HELP_H_

// Help, made from the command table. Pure.

#include <string>
#include <string_view>

#include "ctl/base/command.h"

namespace odyssey::ctl {

// "odyssey-ctl run BUNDLE --prompt TEXT [options]".
std::string UsageLine(const Command& command);

// Text that is as wide as it is, or wrapped to so many columns.
inline constexpr size_t kNotWrapped = 0;

std::string CommandHelp(const Command& command, size_t columns = kNotWrapped);
std::string GeneralHelp(size_t columns = kNotWrapped);
// The verbs of a noun, "" if there are none.
std::string NounHelp(std::string_view noun, size_t columns = kNotWrapped);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLI_HELP_H_
