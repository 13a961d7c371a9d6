#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_GUARD_PROCESS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_GUARD_PROCESS_H_

#include "common/base/status.h"
#include "policy/plan/cell_configure.h"

namespace odyssey::cell_init {

// Puts a guard on each tree of `configure.guards` that is a directory, and starts the program that
// serves them all (supervisor/cell_guard), under the cell's Landlock rules and the commands'
// filter; false if there is none. Before the first slot, so that every command sees the guards;
// then the caller adds the Landlock rules of what is on top of the trees. Afterwards nothing of the
// cell can open /dev/fuse or execute the guard's program. Caller must be single-threaded and have
// CAP_SYS_ADMIN in the cell's user namespace.
Result<bool> StartGuards(const cell::Configure& configure);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_GUARD_PROCESS_H_
