#include "common/os/mount_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

namespace odyssey {
namespace {

constexpr uint32_t kKernelFilesystems[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                                           CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                                           SECURITYFS_MAGIC,    BPF_FS_MAGIC};

Result<UniqueFd> OpenPath(int root, const std::string& path, uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;  // with O_NOFOLLOW a last link would be opened as such
  how.resolve = resolve | RESOLVE_NO_SYMLINKS;  // and so no magic link either
  UniqueFd fd(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how))));
  if (fd) return fd;
  if (errno == ELOOP) {
    return InvalidArgument(path + " is or passes through a symbolic link; give the resolved path");
  }
  return ErrnoStatus(errno, "open " + path);
}

}  // namespace

Result<UniqueFd> OpenInRoot(int root, const std::string& path) {
  return OpenPath(root, path, RESOLVE_IN_ROOT);
}

Result<UniqueFd> OpenHostPath(const std::string& path) { return OpenPath(AT_FDCWD, path, 0); }

Result<UniqueFd> OpenHostPathAs(uid_t user, const std::string& path) {
  constexpr uid_t kNoGroup = 65534, kTell = -1;
  if (setgroups(0, nullptr) != 0) return ErrnoStatus(errno, "drop groups");
  setfsgid(kNoGroup);
  setfsuid(user);
  Result<UniqueFd> opened = Internal("open " + path + ": cannot be uid " + std::to_string(user));
  if (static_cast<uid_t>(setfsuid(kTell)) == user) opened = OpenHostPath(path);
  setfsuid(0);
  setfsgid(0);
  return opened;
}

Result<UniqueFd> CloneTree(int path_fd, const std::string& what) {
  UniqueFd tree(static_cast<int>(
      syscall(SYS_open_tree, path_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)));
  if (!tree) return ErrnoStatus(errno, "clone the mount of " + what);
  return tree;
}

Status SetAttributes(int tree, const MountAttributes& attributes, const std::string& what) {
  struct mount_attr attr {};
  attr.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (attributes.read_only) attr.attr_set |= MOUNT_ATTR_RDONLY;
  if (attributes.no_exec) attr.attr_set |= MOUNT_ATTR_NOEXEC;
  if (attributes.lift_no_exec) attr.attr_clr = MOUNT_ATTR_NOEXEC;
  if (attributes.idmap_namespace >= 0) {
    attr.attr_set |= MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<uint64_t>(attributes.idmap_namespace);
  }
  const long set = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr));
  if (set == 0) return OkStatus();
  if (errno == EINVAL && attributes.idmap_namespace >= 0) {
    return FailedPrecondition("mount " + what +
                              ": its file system cannot be idmapped; use one that can "
                              "(ext4, xfs, btrfs, tmpfs)");
  }
  return ErrnoStatus(errno, "set the mount attributes of " + what);
}

Status AttachTree(int tree, int target_fd, const std::string& what) {
  constexpr unsigned kByDescriptors = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  const long moved = syscall(SYS_move_mount, tree, "", target_fd, "", kByDescriptors);
  return moved == 0 ? OkStatus() : ErrnoStatus(errno, "mount " + what);
}

Status MountNew(const char* type, int target_fd, const std::string& options, unsigned long flags,
                const std::string& what) {
  const std::string target = "/proc/self/fd/" + std::to_string(target_fd);
  const int mounted =
      mount(type, target.c_str(), type, flags | MS_NOSUID | MS_NODEV, options.c_str());
  return mounted == 0 ? OkStatus() : ErrnoStatus(errno, std::string(type) + " for " + what);
}

bool IsKernelFilesystem(int fd) {
  struct statfs info;
  if (fstatfs(fd, &info) != 0) return true;
  return std::find(std::begin(kKernelFilesystems), std::end(kKernelFilesystems),
                   static_cast<uint32_t>(info.f_type)) != std::end(kKernelFilesystems);
}

}  // namespace odyssey
