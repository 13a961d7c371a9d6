#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_GUARDED_TREE_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_GUARDED_TREE_H_

// One tree with its rules, and the gates that every operation on a path passes.

#include <string>
#include <string_view>
#include <vector>

#include "common/os/unique_fd.h"
#include "policy/pattern/path_pattern.h"
#include "supervisor/cell_guard/change_lock.h"
#include "supervisor/cell_guard/directories.h"
#include "supervisor/cell_guard/file_locks.h"
#include "supervisor/cell_guard/open_nodes.h"
#include "supervisor/cell_guard/tree_walk.h"

struct fuse_config;

namespace odyssey::cell_guard {

struct GuardedTree {
  UniqueFd root;  // O_PATH, of the tree beneath
  std::vector<pattern::PathPattern> deny;
  UniqueFd fuse;          // the mounted connection, non-blocking
  OpenNodes open_nodes;   // what its commands have open
  FileLocks locks;        // and what they have locked
  Directories locked_in;  // where that lies, or has lain
  // libfuse's own, of this connection: it looks at it for each answer. Serve fills it in.
  fuse_config* caching = nullptr;
  // Set while a session asks libfuse for the path of a node: where it goes.
  std::string* asked_path = nullptr;
  // Serve fills both in: as PathOf has it; and the root once more, to be locked for renaming, if it
  // takes that (LockToRename).
  std::string root_path;
  std::vector<UniqueFd> to_rename;

  // Paths are as FUSE gives them: "/a/b", "/" for the root.

  // Every operation on a path: 0, or the errno.
  int Enter(std::string_view path, Place* place) const;

  bool Denied(std::string_view path) const;
  // True if what is below a directory of one path would be covered otherwise under the other.
  bool CoversOtherwise(std::string_view one, std::string_view other) const;

  // Before a command's lock on an open file: 0, or the errno.
  int EnterToLock(int fd);

  // False where another descriptor would take one of those that the guard judges with.
  bool IsRoomToOpen() const;

  // To be held while a rename is judged and made. A guard renames to another
  // depth what is a file; another one could put a directory in its place after that was judged.
  ChangeLock LockToRename() const { return ChangeLock(to_rename); }
  // Whether that can be.
  bool RenamesTakeTurns() const;
};

// Without the slash before it: as rules have it.
std::string_view Relative(std::string_view path);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_GUARDED_TREE_H_
