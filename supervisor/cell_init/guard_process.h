#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_GUARD_PROCESS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_GUARD_PROCESS_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_init/confinement.h"
#include "supervisor/cell_init/kept_repositories.h"

namespace odyssey::cell_init {

struct Guards {
  std::vector<std::string> paths;      // what is guarded now
  std::vector<std::string> unguarded;  // git directories that only mounts protect: FUSE is missing
};

// Puts a guard (supervisor/cell_guard) on each of these places and forks the one process that
// serves them, under the cell's Landlock rules and the commands' filter. Before the first slot, so
// that every command sees the guards; if there is any, the caller then adds the Landlock rules of
// what is on top of the trees. Afterwards nothing of the cell can open /dev/fuse. Caller must be
// single-threaded and have CAP_SYS_ADMIN in the cell's user namespace.
Result<Guards> StartGuards(const std::vector<GuardPlace>& places, const Confinement& confinement);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_GUARD_PROCESS_H_
