#ifndef ODYSSEY_COMMON_OS_UNIX_CONNECT_H_
#define ODYSSEY_COMMON_OS_UNIX_CONNECT_H_

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// Connects to a Unix socket; close-on-exec. `type`: SOCK_SEQPACKET, say, with SOCK_NONBLOCK or
// without. The error names the path, and has it and errno as details.
Result<UniqueFd> ConnectUnix(const std::string& path, int type);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_UNIX_CONNECT_H_
