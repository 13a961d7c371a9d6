#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_CHANGE_LOCK_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_CHANGE_LOCK_H_

// One guard of a tree at a time judges and makes a rename: each locks the tree's root (flock(2)),
// which all guards of it have in common.

#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::cell_guard {

class ChangeLock final {
 public:
  // Waits for a second or so: any process that can read the tree can hold its lock. `directories`
  // is borrowed.
  explicit ChangeLock(const std::vector<UniqueFd>& directories);
  ~ChangeLock();
  ChangeLock(const ChangeLock&) = delete;
  ChangeLock& operator=(const ChangeLock&) = delete;

  // 0, or the errno to answer: nothing may be changed. EBUSY if another one has held a lock.
  int error() const { return error_; }

 private:
  const std::vector<UniqueFd>& directories_;
  size_t locked_ = 0;
  int error_ = 0;
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_CHANGE_LOCK_H_
