#ifndef ODYSSEY_COMMON_OS_MOUNT_TREE_H_
#define ODYSSEY_COMMON_OS_MOUNT_TREE_H_

#include <sys/types.h>

#include <set>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// A directory that mounts are put into, each on a place that is made for it. Places are made on
// file systems of our own only: what has been mounted is the host's, and nothing is created
// there.
class MountTree final {
 public:
  // Of the directory `path`, whose file system is ours.
  static Result<MountTree> Open(const std::string& path);

  // The file system that `fd` is on is ours too.
  Status Own(int fd);

  // Opens `target`, absolute in the tree, an S_IFDIR or S_IFREG, and makes it and its parents where
  // they are missing. INVALID_ARGUMENT: it is there and of another type, or would have to be made
  // on a file system that is not ours. No link is followed.
  Result<UniqueFd> Make(const std::string& target, mode_t type) const;
  // The directory around `target`, made likewise, and the last component.
  Result<UniqueFd> MakeParent(const std::string& target, std::string* name) const;

 private:
  Status MakeChild(int parent, const std::string& name, mode_t type,
                   const std::string& target) const;

  UniqueFd root_;
  std::set<dev_t> own_devices_;
};

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_MOUNT_TREE_H_
