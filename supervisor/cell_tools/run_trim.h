#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_TRIM_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_TRIM_H_

#include "supervisor/cell_tools/run_tree.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {

// Removes the runs beyond the newest tool::kKeptRuns and `request.names`, with everything in them,
// up to a bounded number of files: `truncated` says that there is more. What cannot be removed is
// left. Only names that are those of runs count; what else the cell put there is its own.
Result<tool::Response> TrimRuns(const RunTree& runs, const tool::Request& request);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_TRIM_H_
