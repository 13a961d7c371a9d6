#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_SESSION_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_SESSION_H_

#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 35
#endif

#include <fuse.h>

#include <memory>

#include "common/base/status.h"
#include "supervisor/cell_guard/guarded_tree.h"

namespace odyssey::cell_guard {

// One tree's connection with the kernel.
class Session final {
 public:
  // The tree is borrowed; it is what the operations find in fuse_context.private_data.
  static Result<Session> Open(GuardedTree* tree, const fuse_operations& operations);

  // To be polled.
  int fd() const;
  // What waits now, if anything does. False when the tree has been unmounted.
  Result<bool> ServeOne(struct fuse_buf* buffer);

 private:
  struct Destroy {
    void operator()(struct fuse* fuse) const { fuse_destroy(fuse); }
  };

  explicit Session(struct fuse* fuse) : fuse_(fuse) {}

  std::unique_ptr<struct fuse, Destroy> fuse_;
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_SESSION_H_
