#ifndef ODYSSEY_CTL_CHANGES_DIRECT_WRITES_H_
#define ODYSSEY_CTL_CHANGES_DIRECT_WRITES_H_

#include <string>
#include <vector>

#include "ctl/base/console.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// The host directories that a cell of this request writes to with nothing in between. Pure.
std::vector<std::string> DirectlyWritten(const policy::SandboxRequest& sandbox);

// A line for each of `directories` that holds a repository of git: "writes to DIR are direct: …".
// Pure but for a look at each.
std::vector<std::string> DirectWriteLines(const std::vector<std::string>& directories);

// Prints them to stderr, if that is a terminal.
void WarnOfDirectWrites(const Console& console, const std::vector<std::string>& directories);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CHANGES_DIRECT_WRITES_H_
