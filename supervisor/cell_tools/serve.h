#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_SERVE_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_SERVE_H_

#include "common/base/status.h"
#include "supervisor/cell_tools/file_ops.h"

namespace odyssey::cell_tools {

// Answers one request after another until the peer closes `socket` (OK). A frame that is no request
// is answered with INVALID_ARGUMENT; an error of the socket ends the loop.
Status Serve(int socket, const Reach& reach);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_SERVE_H_
