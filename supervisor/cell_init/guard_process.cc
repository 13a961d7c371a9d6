#include "supervisor/cell_init/guard_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
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

Status MountGuard(const cell::Guard& guard, int device) {
  // The numbers are of this user namespace. No other user has a process here.
  const std::string user = std::to_string(getuid());
  const std::string options = "fd=" + std::to_string(device) + ",rootmode=40000,user_id=" + user +
                              ",group_id=" + std::to_string(getgid());
  unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
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
  return cell_guard::Serve({.root = UniqueFd(kFirstWorkerFd), .deny = std::move(deny)},
                           UniqueFd(kFirstWorkerFd + 1));
}

Status StartGuard(const cell::Guard& guard, const Confinement& confinement) {
  UniqueFd tree(open(guard.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree && errno == ENOTDIR) return OkStatus();
  if (!tree) return ErrnoStatus(errno, "open " + guard.path);
  ODY_ASSIGN_OR_RETURN(UniqueFd device, OpenDevice());
  ODY_RETURN_IF_ERROR(MountGuard(guard, device.get()));
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid > 0) return OkStatus();
  const Status status = BecomeGuard(guard, confinement, tree.get(), device.get());
  if (status.ok()) _exit(0);
  dprintf(2, "cell-init: guard of %s: %s\n", guard.path.c_str(), status.message().c_str());
  _exit(125);
}

}  // namespace

Status StartGuards(const std::vector<cell::Guard>& guards, const Confinement& confinement) {
  if (guards.empty()) return OkStatus();
  for (const cell::Guard& guard : guards) {
    ODY_RETURN_IF_ERROR(StartGuard(guard, confinement));
  }
  if (umount2(kDevice, MNT_DETACH) != 0) {
    return ErrnoStatus(errno, std::string("hide ") + kDevice);
  }
  return OkStatus();
}

}  // namespace odyssey::cell_init
