#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_WORKER_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_WORKER_H_

#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_tools/file_ops.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_tools {

// The file worker's life: answers requests on `socket` (supervisor/wire/tool_wire.h) about what is
// below `roots` until the peer closes it. Forked child of cell-init, single-threaded, already
// confined.
Status Work(int socket, const std::vector<cell::ToolRoot>& roots);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_WORKER_H_
