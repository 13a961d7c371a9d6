#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_SESSION_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_SESSION_H_

#include <fuse.h>

#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_guard/guarded_tree.h"

namespace odyssey::cell_guard {

// Answers the kernel's requests about the trees with these operations, one after another, until the
// last is unmounted. They find their tree in fuse_context.private_data.
Status ServeSessions(std::vector<GuardedTree>* trees, const fuse_operations& operations);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_SESSION_H_
