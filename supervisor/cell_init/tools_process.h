#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_TOOLS_PROCESS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_TOOLS_PROCESS_H_

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_init {

// Forks the file worker (supervisor/cell_tools) under the cell's Landlock rules and the commands'
// filter, without capabilities. Returns the supervisor's end of supervisor/wire/tool_wire.h. Caller
// must be single-threaded.
Result<UniqueFd> StartTools(const Confinement& confinement);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_TOOLS_PROCESS_H_
