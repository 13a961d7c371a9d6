#include "supervisor/cell_init/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "supervisor/cell_guard/guard.h"
#include "supervisor/cell_init/worker_process.h"

namespace odyssey::cell_init {
namespace {

constexpr char kDevice[] = "/dev/fuse";

Result<UniqueFd> OpenDevice() {
  UniqueFd fd(open(kDevice, O_RDWR | O_CLOEXEC));
  if (fd) return fd;
  return ErrnoStatus(errno, std::string("deny: open ") + kDevice +
                                " (denied names need FUSE in the kernel, and a device policy of "
                                "the supervisor's service that allows it)");
}

// The guard's tree may do no more than what is beneath it.
Status MountGuard(const cell::Guard& guard, int tree, int device) {
  struct statvfs beneath;
  if (fstatvfs(tree, &beneath) != 0) return ErrnoStatus(errno, "look at " + guard.path);
  // The numbers are of this user namespace. No other user has a process here.
  const std::string user = std::to_string(getuid());
  const std::string options = "fd=" + std::to_string(device) + ",rootmode=40000,user_id=" + user +
                              ",group_id=" + std::to_string(getgid());
  unsigned long flags = MS_NOSUID | MS_NODEV;
  if ((beneath.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if (guard.read_only) flags |= MS_RDONLY;
  if (mount("odyssey-guard", guard.path.c_str(), "fuse", flags, options.c_str()) != 0) {
    return ErrnoStatus(errno, "mount the guard of " + guard.path);
  }
  return OkStatus();
}

Result<std::vector<pattern::PathPattern>> Parse(const std::vector<std::string>& deny) {
  std::vector<pattern::PathPattern> out;
  for (const std::string& text : deny) {
    ODY_ASSIGN_OR_RETURN(out.emplace_back(), pattern::PathPattern::Parse(text));
  }
  return out;
}

Status BecomeGuard(const cell::Guard& guard, const Confinement& confinement, int tree, int device) {
  ODY_RETURN_IF_ERROR(BecomeWorker("cell-guard", confinement, {tree, device}));
  ODY_ASSIGN_OR_RETURN(auto deny, Parse(guard.deny));
  return cell_guard::Serve({.root = UniqueFd(kFirstWorkerFd),
                            .deny = std::move(deny),
                            .git = cell_guard::GitDirectories(kFirstWorkerFd, guard.git)},
                           UniqueFd(kFirstWorkerFd + 1));
}

enum class Outcome { kStarted, kNotNeeded, kUnguarded };

Result<Outcome> StartGuard(const cell::Guard& guard, const Confinement& confinement) {
  const UniqueFd tree(open(guard.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!tree && (errno == ENOTDIR || errno == ENOENT)) return Outcome::kNotNeeded;
  if (!tree) return ErrnoStatus(errno, "open " + guard.path);
  const bool git_only = guard.deny.empty();
  if (git_only && cell_guard::GitDirectories(tree.get(), guard.git).empty()) {
    return Outcome::kNotNeeded;
  }
  const auto device = OpenDevice();
  // What can be named now is protected by mounts; that is as much as there is without FUSE.
  if (git_only && !device.ok()) return Outcome::kUnguarded;
  ODY_RETURN_IF_ERROR(device.status());
  ODY_RETURN_IF_ERROR(MountGuard(guard, tree.get(), device->get()));
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid > 0) return Outcome::kStarted;
  const Status status = BecomeGuard(guard, confinement, tree.get(), device->get());
  if (status.ok()) _exit(0);
  dprintf(2, "cell-init: guard of %s: %s\n", guard.path.c_str(), status.message().c_str());
  _exit(125);
}

// Until the kernel has asked for the owner of a guard's top directory, which it does not do before
// it makes a file there, it takes it for nobody's and refuses that.
Status Await(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? OkStatus() : ErrnoStatus(errno, "await guard of " + path);
}

// With the file that it was mounted on. ENOENT: root could not make it.
Status RemoveDevice() {
  if (umount2(kDevice, MNT_DETACH) == 0 && unlink(kDevice) == 0) return OkStatus();
  if (errno == ENOENT) return OkStatus();
  return ErrnoStatus(errno, std::string("remove ") + kDevice);
}

}  // namespace

Result<Guards> StartGuards(const std::vector<cell::Guard>& guards, const Confinement& confinement) {
  Guards started;
  if (guards.empty()) return started;
  for (const cell::Guard& guard : guards) {
    ODY_ASSIGN_OR_RETURN(const Outcome outcome, StartGuard(guard, confinement));
    if (outcome == Outcome::kStarted) started.paths.push_back(guard.path);
    if (outcome == Outcome::kUnguarded) started.unguarded.push_back(guard.path);
  }
  ODY_RETURN_IF_ERROR(RemoveDevice());
  for (const std::string& path : started.paths) ODY_RETURN_IF_ERROR(Await(path));
  return started;
}

}  // namespace odyssey::cell_init
