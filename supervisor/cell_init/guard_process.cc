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

// A request that is withdrawn keeps no other guard's waiting: O_NONBLOCK.
Result<UniqueFd> OpenDevice() {
  UniqueFd fd(open(kDevice, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd) return fd;
  return ErrnoStatus(errno, std::string("deny: open ") + kDevice +
                                " (denied names need FUSE in the kernel, and a device policy of "
                                "the supervisor's service that allows it)");
}

// A guard that is mounted and not served yet.
struct Mounted {
  const GuardPlace* place;
  UniqueFd device;
};

// The guard's tree may do no more than what is beneath it. On what was opened, whatever has its
// name now.
Status MountGuard(const Mounted& mounted) {
  const cell::Guard& guard = mounted.place->guard;
  const int tree = mounted.place->tree.get();
  struct statvfs beneath;
  if (fstatvfs(tree, &beneath) != 0) {
    return ErrnoStatus(errno, "look at " + guard.path);
  }
  // The numbers are of this user namespace. No other user has a process here.
  const std::string user = std::to_string(getuid());
  const std::string options = "fd=" + std::to_string(mounted.device.get()) +
                              ",rootmode=40000,user_id=" + user +
                              ",group_id=" + std::to_string(getgid());
  unsigned long flags = MS_NOSUID | MS_NODEV;
  if ((beneath.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if (guard.read_only) flags |= MS_RDONLY;
  const std::string place = "/proc/self/fd/" + std::to_string(tree);
  if (mount("odyssey-guard", place.c_str(), "fuse", flags, options.c_str()) != 0) {
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

Status BecomeGuard(const std::vector<Mounted>& mounted, const Confinement& confinement) {
  std::vector<int> wanted;
  for (const Mounted& one : mounted) {
    wanted.push_back(one.place->tree.get());
    wanted.push_back(one.device.get());
  }
  ODY_RETURN_IF_ERROR(BecomeWorker("cell-guard", confinement, wanted));
  std::vector<cell_guard::GuardedTree> trees;
  int fd = kFirstWorkerFd;
  for (const Mounted& one : mounted) {
    ODY_ASSIGN_OR_RETURN(auto deny, Parse(one.place->guard.deny));
    trees.push_back({.root = UniqueFd(fd),
                     .deny = std::move(deny),
                     .git = cell_guard::GitDirectories(fd, one.place->guard.git),
                     .fuse = UniqueFd(fd + 1)});
    fd += 2;
  }
  return cell_guard::Serve(std::move(trees));
}

Result<std::vector<Mounted>> MountGuards(const std::vector<GuardPlace>& places, Guards* started) {
  std::vector<Mounted> mounted;
  for (const GuardPlace& place : places) {
    const cell::Guard& guard = place.guard;
    auto device = OpenDevice();
    // What can be named now is protected by mounts; that is as much as there is without FUSE.
    if (guard.deny.empty() && !device.ok()) {
      for (const std::string& git : guard.git) {
        started->unguarded.push_back(git.empty() ? guard.path : guard.path + "/" + git);
      }
      continue;
    }
    ODY_RETURN_IF_ERROR(device.status());
    mounted.push_back({&place, std::move(*device)});
    ODY_RETURN_IF_ERROR(MountGuard(mounted.back()));
    started->paths.push_back(guard.path);
  }
  return mounted;
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

Result<Guards> StartGuards(const std::vector<GuardPlace>& places, const Confinement& confinement) {
  Guards started;
  ODY_ASSIGN_OR_RETURN(const auto mounted, MountGuards(places, &started));
  ODY_RETURN_IF_ERROR(RemoveDevice());
  if (mounted.empty()) return started;
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    const Status status = BecomeGuard(mounted, confinement);
    if (status.ok()) _exit(0);
    dprintf(2, "cell-init: guard: %s\n", status.message().c_str());
    _exit(125);
  }
  for (const std::string& path : started.paths) ODY_RETURN_IF_ERROR(Await(path));
  return started;
}

}  // namespace odyssey::cell_init
