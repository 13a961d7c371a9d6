#ifndef ODYSSEY_AGENTD_DAEMON_DAEMON_H_
#define ODYSSEY_AGENTD_DAEMON_DAEMON_H_

#include "agentd/daemon/options.h"
#include "common/base/status.h"

namespace odyssey::daemon {

// Serves until SIGTERM or SIGINT; prints `ready` on stdout once it does. ALREADY_EXISTS: the state
// or the socket is in use. Caller must be single-threaded.
Status Serve(const Options& options);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_DAEMON_H_
