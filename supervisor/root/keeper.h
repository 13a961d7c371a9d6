#ifndef ODYSSEY_SUPERVISOR_ROOT_KEEPER_H_
#define ODYSSEY_SUPERVISOR_ROOT_KEEPER_H_

// Root is two processes that watch each other: the keeper, which holds the listening socket and the
// name of the control groups and does nothing else, and the worker, which acts. When the worker
// dies (kill -9 included), the keeper ends every cell, removes their control groups, and starts a
// new worker. When the keeper dies, the worker gets SIGTERM and does the same. So no single kill
// leaves a process, mount or control group behind.

#include "common/base/status.h"
#include "supervisor/root/options.h"

namespace odyssey::root {

// Serves until SIGTERM or SIGINT. Runs as root; single-threaded.
Status Keep(Options options);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_KEEPER_H_
