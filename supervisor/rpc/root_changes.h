#ifndef ODYSSEY_SUPERVISOR_RPC_ROOT_CHANGES_H_
#define ODYSSEY_SUPERVISOR_RPC_ROOT_CHANGES_H_

// What a cell changed in its root, which is an image. A review cell compares: its root is the image
// alone, and it sees the cell's upper layer beside that. Nothing of it reaches the host: a commit
// of the image keeps it (ImageStore::Commit).

#include <string>

#include "common/base/status.h"
#include "supervisor/rpc/broker.h"
#include "supervisor/rpc/image_store.h"
#include "supervisor/rpc/review_cell.h"

namespace odyssey::supervisor {

class RootChanges final {
 public:
  // Both are borrowed and outlive it.
  RootChanges(Broker* broker, ImageStore* images) : broker_(broker), images_(images) {}

  // `request`: a list or a diff, of directory 0. Blocking; commands may run in the cell.
  // FAILED_PRECONDITION: the cell has no image, no directories that last, or a disk of its own.
  Result<review::End> Ask(const CellKey& key, const review::Request& request,
                          const ReviewCell::Take& take);
  // The digest of the cell's image; "": it has none, or no directories that last.
  std::string ImageOf(const CellKey& key);

 private:
  Broker* const broker_;
  ImageStore* const images_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_ROOT_CHANGES_H_
