#ifndef ODYSSEY_COMMON_OS_UNIX_LISTENER_H_
#define ODYSSEY_COMMON_OS_UNIX_LISTENER_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// Makes and listens on a Unix socket of that type, non-blocking and close-on-exec. The uids that
// may use it is decided by uid at accept; `mode` is the second wall. A stale socket file is
// replaced; one that answers is ALREADY_EXISTS, as is a file that is no socket.
Result<UniqueFd> ListenUnix(const std::string& path, unsigned mode, int type = SOCK_STREAM);

// INVALID_ARGUMENT: the path is longer than an address holds.
Result<sockaddr_un> UnixAddress(const std::string& path);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_UNIX_LISTENER_H_
