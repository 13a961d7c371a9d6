#include "common/os/credentials.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace odyssey {

Status BecomeUser(uid_t uid, pid_t parent) {
  if (setgroups(0, nullptr) != 0) return ErrnoStatus(errno, "drop groups");
  if (setresgid(uid, uid, uid) != 0) return ErrnoStatus(errno, "set gid");
  if (setresuid(uid, uid, uid) != 0) return ErrnoStatus(errno, "set uid");
  // After the change of uid, which clears it; then look whether the parent died before.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return ErrnoStatus(errno, "set the death signal");
  return getppid() == parent ? OkStatus() : Unavailable("the parent process ended");
}

}  // namespace odyssey
