#include "supervisor/egress/worker/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <type_traits>

#include "common/os/unique_fd.h"

namespace odyssey::egress {
namespace {

struct ReleaseFilter {
  void operator()(void* context) const { seccomp_release(context); }
};

// Of an event loop, its sockets, its memory and its end.
constexpr int kCalls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_recvfrom,
    SYS_sendto,
    SYS_accept4,
    SYS_accept,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_splice,
    SYS_pipe2,
    SYS_close,
    SYS_epoll_ctl,
    SYS_epoll_wait,
    SYS_epoll_pwait,
    SYS_poll,
    SYS_ppoll,
    SYS_timerfd_settime,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_time,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_futex,
    SYS_getrandom,
    SYS_getpid,
    SYS_gettid,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_sysinfo,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_tgkill,
    SYS_newfstatat,
    SYS_fstat,
    SYS_fstatfs,
};

// A library that looks for a file finds none.
constexpr int kRefused[] = {SYS_open, SYS_openat, SYS_access, SYS_stat, SYS_readlink};

// Where the kernel has Landlock: no file, whatever a descriptor leads to.
Status CloseFiles() {
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of the first version
  const UniqueFd rules(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled.handled_access_fs), 0)));
  if (!rules)
    return errno == ENOSYS || errno == EOPNOTSUPP ? OkStatus()
                                                  : ErrnoStatus(errno, "make Landlock's rules");
  if (syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0) return OkStatus();
  return ErrnoStatus(errno, "enter Landlock's rules");
}

}  // namespace

Status Confine() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "set no_new_privs");
  ODY_RETURN_IF_ERROR(CloseFiles());
  const std::unique_ptr<void, ReleaseFilter> filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (filter == nullptr) return Internal("seccomp_init: failed");
  int error = 0;
  for (const int call : kCalls) {
    if (error == 0) error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
  }
  for (const int call : kRefused) {
    if (error == 0) error = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOENT), call, 0);
  }
  // No memory that is both written and executed, and nothing of what was written becomes code.
  const auto without = [&](int call, unsigned argument, uint64_t bits) {
    if (error != 0) return;
    error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 1,
                             SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, bits, 0));
  };
  without(SYS_mprotect, 2, 0x4);  // PROT_EXEC
  for (const uint64_t request : {0x5421 /* FIONBIO */, 0x541b /* FIONREAD */}) {
    if (error == 0) {
      error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SYS_ioctl, 1,
                               SCMP_CMP(1, SCMP_CMP_EQ, request));
    }
  }
  for (const uint64_t command :
       {F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_SETPIPE_SZ, F_DUPFD_CLOEXEC}) {
    if (error == 0) {
      error = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SYS_fcntl, 1,
                               SCMP_CMP(1, SCMP_CMP_EQ, command));
    }
  }
  if (error == 0) error = seccomp_load(filter.get());
  return error == 0 ? OkStatus() : ErrnoStatus(-error, "load the worker's filter");
}

}  // namespace odyssey::egress
