#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_H_

// The guards of trees. Each is a FUSE file system that shows the tree beneath it, and refuses every
// operation on a name that a pattern covers, whenever the name was made and by whom.

#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_guard/guarded_tree.h"  // IWYU pragma: export

namespace odyssey::cell_guard {

// Serves the trees, one request after another, until the last is unmounted (OK). Single-threaded,
// confined as the cell's commands are: it can reach nothing that they could not reach without it.
// None of the trees may lie in another: it would wait for itself.
Status Serve(std::vector<GuardedTree> trees);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_H_
