#ifndef ODYSSEY_COMMON_OS_MOUNT_CALLS_H_
#define ODYSSEY_COMMON_OS_MOUNT_CALLS_H_

// The newer mount system calls, of which Debian 12's libc has no wrappers or older constants. Each
// adds a type and an errno Status, nothing else; see mount_setattr(2), open_tree(2), openat2(2).

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// O_PATH descriptor of `path` below `root`, with `..` and absolute links confined to it and no
// symbolic or magic link followed.
Result<UniqueFd> OpenInRoot(int root, const std::string& path);

// The same for an absolute host path, from the real root.
Result<UniqueFd> OpenHostPath(const std::string& path);
// As `user` reaches it, by his uid alone: what is closed to him is not opened for him. The calling
// thread must be root's; it loses its supplementary groups (and so does the process), and has, only
// for the call, the file system ids of `user`, which leave it no capability to pass a directory.
Result<UniqueFd> OpenHostPathAs(uid_t user, const std::string& path);

// True on proc, sysfs, cgroup and their like: no place for a cell to look through, whatever path
// leads there. Also true if the file system cannot be told.
bool IsKernelFilesystem(int fd);

// A detached, non-recursive copy of the mount at `path_fd` with only that subtree visible.
Result<UniqueFd> CloneTree(int path_fd, const std::string& what);

struct MountAttributes {
  bool read_only = false;
  bool no_exec = false;
  bool lift_no_exec = false;  // of a copy of a mount that was made noexec here
  int idmap_namespace = -1;   // -1: not idmapped
};

// Sets the attributes, and nosuid and nodev always. UNIMPLEMENTED-like errors of a file system that
// cannot be idmapped name the cause.
Status SetAttributes(int tree, const MountAttributes& attributes, const std::string& what);

// Attaches a detached tree on top of `target_fd`.
Status AttachTree(int tree, int target_fd, const std::string& what);

// Mounts a file system of this type on `target_fd`, nosuid and nodev; `flags` (MS_*) beside that.
Status MountNew(const char* type, int target_fd, const std::string& options, unsigned long flags,
                const std::string& what);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_MOUNT_CALLS_H_
