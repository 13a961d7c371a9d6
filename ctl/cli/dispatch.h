#ifndef ODYSSEY_CTL_CLI_DISPATCH_H_
#define ODYSSEY_CTL_CLI_DISPATCH_H_

// From the words of the command line to the command that they name.

#include <string>
#include <vector>

namespace odyssey::ctl {

// Returns the exit code; everything is reported. SIGPIPE is ignored from here on: a closed stdout
// is seen where it is written.
int Dispatch(const std::vector<std::string>& arguments);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLI_DISPATCH_H_
