#ifndef ODYSSEY_SUPERVISOR_ROOT_RPC_PROCESS_H_
#define ODYSSEY_SUPERVISOR_ROOT_RPC_PROCESS_H_

#include <sys/types.h>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/root/options.h"

namespace odyssey::root {

struct RpcProcess {
  pid_t pid = -1;
  UniqueFd socket;  // our end
};

// Starts odyssey-supervisor-rpc as its own user: no capabilities, no new privileges, an empty
// environment, fd 3 = socket to root, fd 4 = the listening socket, fd 5 = the directory of the
// audit log. It dies with its parent. Runs as root. Caller must be single-threaded.
Result<RpcProcess> StartRpcProcess(const Options& options, int listener);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_RPC_PROCESS_H_
