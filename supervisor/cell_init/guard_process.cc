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

#include "common/os/mount_calls.h"
#include "policy/plan/plan.h"
#include "supervisor/cell_init/execute.h"
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
  const cell::Guard* guard;
  UniqueFd tree;  // O_PATH, what is beneath
  UniqueFd device;
};

// The guard's tree may do no more than what is beneath it. On what was opened, whatever has its
// name now.
Status MountGuard(const Mounted& mounted) {
  const cell::Guard& guard = *mounted.guard;
  const int tree = mounted.tree.get();
  struct statvfs beneath;
  if (fstatvfs(tree, &beneath) != 0) return ErrnoStatus(errno, "look at " + guard.path);
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

// Returns only on failure.
Status BecomeGuard(const std::vector<Mounted>& mounted, const Confinement& confinement) {
  std::vector<int> wanted;
  std::vector<std::string> arguments = {"cell-guard"};
  for (const Mounted& one : mounted) {
    wanted.insert(wanted.end(), {one.tree.get(), one.device.get()});
    arguments.insert(arguments.end(), one.guard->deny.begin(), one.guard->deny.end());
    arguments.emplace_back();
  }
  ODY_RETURN_IF_ERROR(BecomeWorker("cell-guard", confinement, wanted));
  char* const no_environment[] = {nullptr};
  execve(plan::kGuardPath, Pointers(&arguments).data(), no_environment);
  return ErrnoStatus(errno, std::string("execute ") + plan::kGuardPath);
}

// All trees are opened before there is a guard anywhere: a guard that is not served yet answers no
// request.
Result<std::vector<Mounted>> OpenTrees(const std::vector<cell::Guard>& guards) {
  std::vector<Mounted> mounted;
  for (const cell::Guard& guard : guards) {
    ODY_ASSIGN_OR_RETURN(UniqueFd tree, OpenHostPath(guard.path));
    struct stat info;
    if (fstat(tree.get(), &info) != 0) return ErrnoStatus(errno, "look at " + guard.path);
    if (!S_ISDIR(info.st_mode)) continue;
    ODY_ASSIGN_OR_RETURN(UniqueFd device, OpenDevice());
    mounted.push_back({&guard, std::move(tree), std::move(device)});
  }
  return mounted;
}

// Until the kernel has asked for the owner of a guard's top directory, which it does not do before
// it makes a file there, it sees an unmapped owner and returns EOVERFLOW.
Status Await(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? OkStatus() : ErrnoStatus(errno, "await guard of " + path);
}

// Of what root has made for the guard, nothing is a command's. ENOENT: the plan asked for nothing.
Status HideFromCommands() {
  // With the file that it was mounted on.
  const bool removed = umount2(kDevice, MNT_DETACH) == 0 && unlink(kDevice) == 0;
  if (!removed && errno != ENOENT) return ErrnoStatus(errno, std::string("remove ") + kDevice);
  const int hidden = mount("/dev/null", plan::kGuardPath, nullptr, MS_BIND, nullptr);
  if (hidden == 0 || errno == ENOENT) return OkStatus();
  return ErrnoStatus(errno, std::string("hide ") + plan::kGuardPath);
}

}  // namespace

Result<bool> StartGuards(const cell::Configure& configure) {
  ODY_ASSIGN_OR_RETURN(auto mounted, OpenTrees(configure.guards));
  if (mounted.empty()) {
    ODY_RETURN_IF_ERROR(HideFromCommands());
    return false;
  }
  // In a Landlock domain that may execute the guard too: no command is in it.
  cell::Configure own = configure;
  own.rules.push_back({plan::kGuardPath, cell::kRead | cell::kExecute});
  ODY_ASSIGN_OR_RETURN(const Confinement confinement, Confinement::Build(own));
  for (const Mounted& one : mounted) ODY_RETURN_IF_ERROR(MountGuard(one));
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    const Status status = BecomeGuard(mounted, confinement);
    dprintf(2, "cell-init: guard: %s\n", status.message().c_str());
    _exit(125);
  }
  // The guard's alone: if the guard ends now, the read returns end-of-file.
  for (Mounted& one : mounted) one.device.reset();
  for (const Mounted& one : mounted) ODY_RETURN_IF_ERROR(Await(one.guard->path));
  ODY_RETURN_IF_ERROR(HideFromCommands());
  return true;
}

}  // namespace odyssey::cell_init
