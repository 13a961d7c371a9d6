#ifndef ODYSSEY_CTL_BASE_PROGRAM_PATH_H_
#define ODYSSEY_CTL_BASE_PROGRAM_PATH_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// Where this program is.
std::string OwnDirectory();

// The absolute path of one of our programs: beside this one, or in /usr/libexec/odyssey.
// FAILED_PRECONDITION says where it was looked for.
Result<std::string> FindProgram(const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_PROGRAM_PATH_H_
