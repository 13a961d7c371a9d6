#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_H_

// The guards of trees. Each is a FUSE file system that shows the tree beneath it, and refuses every
// operation on a name that a pattern covers, and every change in a repository that would make the
// host's git do what the cell wants; whenever the name was made and by whom.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/pattern/path_pattern.h"
#include "supervisor/cell_guard/git_directories.h"

namespace odyssey::cell_guard {

struct GuardedTree {
  UniqueFd root;  // O_PATH, of the tree beneath
  std::vector<pattern::PathPattern> deny;
  GitDirectories git;
  UniqueFd fuse;  // the mounted connection, non-blocking
};

// Serves the trees, one request after another, until the last is unmounted (OK). Forked child of
// cell-init, single-threaded, confined as the cell's commands are: it can reach nothing that they
// could not reach without it. None of the trees may lie in another: it would wait for itself.
Status Serve(std::vector<GuardedTree> trees);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_GUARD_H_
