#ifndef ODYSSEY_SUPERVISOR_ROOT_CELL_TREE_H_
#define ODYSSEY_SUPERVISOR_ROOT_CELL_TREE_H_

// The directories of a cell on disk: "<cells>/<tree>/{app,data,cache,tmp,runs}". Directories down
// to the tree belong to the supervisor's uid, 0700; what is below belongs to the store's uid and
// appears in the cell, by an idmapped mount, as the cell's own. Of a cell whose disk is bounded
// they are in
// "<cells>/<tree>/disk", a file system of its own (supervisor/cell_disk).

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::root {

// In every tree: the place for the mirrored mounts of the workspace, and the home directory.
inline constexpr const char* kStandardDirectories[] = {"app/mount", "data/home"};

// Opens the tree, making what is missing. With `disk_bytes` it is a disk of that size, which
// odyssey-cell-disk mounts in this mount namespace. INVALID_ARGUMENT "sandbox path
// must not be a symlink: P"; FAILED_PRECONDITION if the tree has its data in the other way.
Result<UniqueFd> OpenCellTree(const std::string& cells_directory, const std::string& tree,
                              uid_t store_uid, uint64_t disk_bytes);

// Opens `path` (relative, e.g. "data/home") below the tree, making each missing directory 0700 for
// `owner`. Follows no symbolic link, whatever the cell left there.
Result<UniqueFd> OpenTreeDirectory(int tree, const std::string& path, uid_t owner);

// Starts a child that removes the tree and its emptied parents with rm(1), which follows no
// symbolic link; nothing outside root can reach the parents. The caller reaps it: status 0 is
// success.
Result<pid_t> StartRemovingCellTree(const std::string& cells_directory, const std::string& tree);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_CELL_TREE_H_
