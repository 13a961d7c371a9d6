#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_FILE_OPS_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_FILE_OPS_H_

// The operations themselves: a request in, a response out. What each does with its fields, and its
// errors, is said at the FileOp messages of proto/odyssey/supervisor/v1/supervisor.proto.

#include "supervisor/cell_tools/path_resolver.h"
#include "supervisor/cell_tools/run_tree.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {

// Most bytes of names and paths in one listing: with the rest of the response it stays below a
// frame and below a gRPC message (16 MiB).
inline constexpr size_t kMaxListBytes = 8 * 1024 * 1024;

// What requests may be about: those of clients, and rpc's own.
struct Reach {
  PathResolver paths;
  RunTree runs;
};

// Never blocks on a FIFO or device; memory is bounded by the limits of tool_wire.h.
tool::Response Perform(const Reach& reach, const tool::Request& request);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_FILE_OPS_H_
