#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_BASE_STORE_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_BASE_STORE_H_

// What the host had at a path when the cell began to change it: by this, what the host changes
// later is told from what the cell did. Recorded by the first scan that sees the path, kept in the
// store.

#include <map>
#include <string>

#include "common/base/status.h"
#include "supervisor/cell_review/layer.h"
#include "supervisor/cell_review/node.h"

namespace odyssey::cell_review {

struct Base {
  bool known = false;  // false: the host changed the path before it was recorded
  State state;
  // Of the host's and the upper node when their prints were taken: while these stay, so do those.
  int64_t host_changed = 0, upper_changed = 0;
  uint64_t host_inode = 0, upper_inode = 0;
  State host, upper;
  friend bool operator==(const Base&, const Base&) = default;
};

struct BaseStore {
  int64_t scanned = 0;  // when the last scan began, nanoseconds since 1970; 0: never
  std::map<std::string, Base> paths;
};

// An empty one if the store has none. DATA_LOSS: it has one that cannot be read.
Result<BaseStore> LoadBases(Layer* store);
Status SaveBases(const BaseStore& bases, Layer* store);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_BASE_STORE_H_
