#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_TOOLS_PROCESS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_TOOLS_PROCESS_H_

#include <sys/types.h>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_init {

struct ToolsProcess {
  pid_t pid = -1;
  UniqueFd socket;  // for the supervisor: supervisor/wire/tool_wire.h
};

// Forks the file worker (supervisor/cell_tools) under the cell's Landlock rules and the commands'
// filter, without capabilities. Caller must be single-threaded.
Result<ToolsProcess> StartTools(const Confinement& confinement);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_TOOLS_PROCESS_H_
