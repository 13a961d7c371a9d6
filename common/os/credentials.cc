#include "common/os/credentials.h"

#include <errno.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace odyssey {

Status BecomeUser(uid_t uid, gid_t gid, pid_t parent) {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS)
    return ErrnoStatus(errno, "join a new session keyring");
  // Not 0, at which the kernel still starts a handler that core_pattern pipes to, as the host's
  // root; cell-init takes 0 where there is none.
  const rlimit no_core{1, 1};
  // EPERM: it is 0 already, and without CAP_SYS_RESOURCE no process here may raise it.
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 && errno != EPERM)
    return ErrnoStatus(errno, "limit core dumps");
  // An ambient capability would pass to what is executed.
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return ErrnoStatus(errno, "clear the ambient capabilities");
  // Of a process that is `uid` already: its user namespace denies setgroups(2).
  if (setgroups(0, nullptr) != 0 && geteuid() != uid) return ErrnoStatus(errno, "drop groups");
  if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
    return ErrnoStatus(errno, "become uid " + std::to_string(uid));
  // After the change of uid, which clears it; then look whether the parent died before.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return ErrnoStatus(errno, "set the death signal");
  return getppid() == parent ? OkStatus() : Unavailable("the parent process ended");
}

}  // namespace odyssey
