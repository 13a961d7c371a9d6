#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_FILE_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_FILE_H_

// What the file of an open descriptor is now, and what may be done with it. It may have another
// name than when it was opened, since the host renames files as it likes. Asked before each
// operation: one that has passed when the host renames counts as if it came before.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "supervisor/cell_guard/guarded_tree.h"

namespace odyssey::cell_guard {

// Where a descriptor's file lies, as the kernel tells it (proc(5), /proc/self/fd); "" if it does
// not. With " (deleted)" behind it where that name is gone.
std::string PathOf(int fd);

class OpenFile final {
 public:
  // Both borrowed.
  OpenFile(const GuardedTree& tree, int fd);

  // Of reading or changing it: 0, or the errno to answer.
  int Refusal() const;

  // Relative to the tree; "" if it has no name there.
  const std::string& path() const { return path_; }

 private:
  enum class Name {
    kNone,    // it has none: no process can open it again
    kHere,    // it is `path_`
    kUnknown  // beyond the tree, or one of several that is gone
  };

  Name Find(const struct stat& file);

  const GuardedTree& tree_;
  const int fd_;
  Name name_ = Name::kUnknown;
  std::string path_;  // relative to the tree
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_FILE_H_
