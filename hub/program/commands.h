#ifndef ODYSSEY_HUB_PROGRAM_COMMANDS_H_
#define ODYSSEY_HUB_PROGRAM_COMMANDS_H_

#include <string>
#include <vector>

namespace odyssey::hub {

// "bundle push …": reports on stdout, or its failure on stderr. Returns the exit code.
int RunVerb(const std::vector<std::string>& arguments);

}  // namespace odyssey::hub

#endif  // ODYSSEY_HUB_PROGRAM_COMMANDS_H_
