#include "supervisor/host_runner/owner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/os/descriptors.h"
#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::host_runner {
namespace {

constexpr int kNotStarted = 125;

// The command inherits neither our log nor our signal mask.
Status ResetStdioAndSignals() {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return ErrnoStatus(errno, "open /dev/null");
  for (int fd = 0; fd <= 2; ++fd) {
    if (dup2(null.get(), fd) < 0) return ErrnoStatus(errno, "set up stdio");
  }
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A supervisor started with a protected OOM score would hand its protection down.
  const UniqueFd score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score) (void)WriteAll(score.get(), "0");
  return OkStatus();
}

// On v2 a group whose subgroups have the controllers holds no process itself.
Status EnterGroups(const Groups& groups) {
  if (!groups.whole->v2()) ODY_RETURN_IF_ERROR(groups.whole->EnterSelf("."));
  return groups.parts->EnterSelf(groups.part);
}

// The change of all three uids away from 0 empties the capability sets; no_new_privs, which is set,
// keeps them so, set-uid programs included.
Status ChangeUser(const HostUser& user) {
  if (setgroups(0, nullptr) != 0) return ErrnoStatus(errno, "drop groups");
  if (setresgid(user.gid, user.gid, user.gid) != 0) return ErrnoStatus(errno, "set gid");
  if (setresuid(user.uid, user.uid, user.uid) != 0) return ErrnoStatus(errno, "set uid");
  return OkStatus();
}

// In execution order.
Status BecomeOwner(const HostUser& user, const Groups& groups, pid_t parent) {
  ODY_RETURN_IF_ERROR(ResetStdioAndSignals());
  // While still root, whose the groups are; before anything else is charged to us.
  ODY_RETURN_IF_ERROR(EnterGroups(groups));
  const rlimit no_core{0, 0};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0) return ErrnoStatus(errno, "limit core dumps");
  ODY_RETURN_IF_ERROR(ChangeUser(user));
  // As the user: the keyring of the process that started us may hold keys.
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS) {
    return ErrnoStatus(errno, "join a new session keyring");
  }
  // After the change of uid, which clears it; then look whether the parent died before.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return ErrnoStatus(errno, "set the death signal");
  return getppid() == parent ? OkStatus() : Unavailable("the host runner ended");
}

}  // namespace

Result<pid_t> StartAsOwner(const HostUser& user, const Groups& groups, int socket, OwnerBody body,
                           const std::string& argument) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child > 0) return child;

  Status status = PlaceDescriptors({socket}, kOwnerSocketFd);
  if (!status.ok()) _exit(kNotStarted);
  fcntl(kOwnerSocketFd, F_SETFD, FD_CLOEXEC);
  status = BecomeOwner(user, groups, parent);
  if (status.ok()) body(argument);
  (void)SendMessage(kOwnerSocketFd, cell::Encode(cell::ExecError{.status = status}));
  _exit(kNotStarted);
}

}  // namespace odyssey::host_runner
