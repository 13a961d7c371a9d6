#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_OPERATION_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_OPERATION_H_

// What libfuse's callbacks have in common. Only in one.

#include <errno.h>
#include <fuse.h>

#include "supervisor/cell_guard/guarded_tree.h"
#include "supervisor/cell_guard/open_file.h"

namespace odyssey::cell_guard {

// libfuse's callbacks get nothing of ours but this.
inline GuardedTree& MutableTree() {
  return *static_cast<GuardedTree*>(fuse_get_context()->private_data);
}
inline const GuardedTree& Tree() { return MutableTree(); }

inline int Handle(const fuse_file_info* info) { return static_cast<int>(info->fh); }

// As libfuse wants it: 0 or -errno.
inline int Done(int result) { return result < 0 ? -errno : 0; }

// A change to an open file.
template <typename Act>
int ChangeOpen(fuse_file_info* info, Act act) {
  const int error = OpenFile(Tree(), Handle(info)).Refusal();
  return error != 0 ? -error : Done(act(Handle(info)));
}

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_OPERATION_H_
