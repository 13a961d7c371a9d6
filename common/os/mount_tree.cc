#include "common/os/mount_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/mount_calls.h"

namespace odyssey {

Result<MountTree> MountTree::Open(const std::string& path) {
  MountTree tree;
  ODY_ASSIGN_OR_RETURN(tree.root_, OpenHostPath(path));
  ODY_RETURN_IF_ERROR(tree.Own(tree.root_.get()));
  return tree;
}

Status MountTree::Own(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "stat a file system of our own");
  own_devices_.insert(info.st_dev);
  return OkStatus();
}

Result<UniqueFd> MountTree::Make(const std::string& target, mode_t type) const {
  UniqueFd at(dup(root_.get()));
  for (size_t begin = 1; begin < target.size();) {
    const size_t end = std::min(target.find('/', begin), target.size());
    const std::string name = target.substr(begin, end - begin);
    ODY_RETURN_IF_ERROR(MakeChild(at.get(), name, end == target.size() ? type : S_IFDIR, target));
    ODY_ASSIGN_OR_RETURN(at, OpenInRoot(at.get(), name));
    begin = end + 1;
  }
  return at;
}

Result<UniqueFd> MountTree::MakeParent(const std::string& target, std::string* name) const {
  const size_t slash = target.rfind('/');
  *name = target.substr(slash + 1);
  return Make(target.substr(0, slash), S_IFDIR);
}

Status MountTree::MakeChild(int parent, const std::string& name, mode_t type,
                            const std::string& target) const {
  struct stat info;
  if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if ((info.st_mode & S_IFMT) == type) return OkStatus();
    return InvalidArgument("mount point " + target + ": " + name + " is there already and is no " +
                           (type == S_IFDIR ? "directory" : "file"));
  }
  if (fstat(parent, &info) != 0 || own_devices_.count(info.st_dev) == 0) {
    return InvalidArgument("mount point " + target + ": " + name +
                           " does not exist, and nothing is created inside a mounted tree");
  }
  const int made = type == S_IFDIR ? mkdirat(parent, name.c_str(), 0755)
                                   : mknodat(parent, name.c_str(), S_IFREG | 0444, 0);
  return made == 0 ? OkStatus() : ErrnoStatus(errno, "create mount point " + target);
}

}  // namespace odyssey
