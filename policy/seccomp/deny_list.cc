#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "policy/seccomp/rules.h"

namespace odyssey::seccomp {
namespace {

constexpr uint32_t kSlot = 1;           // the pid 1 that a command sees
constexpr uint32_t kIoprioWhoUser = 3;  // the kernel's own header of it is not C++ everywhere

}  // namespace

const std::vector<Group>& SaidToBeUnknown() {
  static const std::vector<Group> groups = {
      {"the arguments that decide are behind a pointer", {"clone3", "openat2"}},
      {"its contexts are counted for the whole host (fs.aio-max-nr), and databases do without",
       {"io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents"}},
  };
  return groups;
}

const std::vector<RefusedValues>& RefusedByValue() {
  static const std::vector<RefusedValues> refused = {
      // Typed into a terminal that someone else reads; the same through the console; line
      // disciplines are kernel modules loaded on demand.
      {SYS_ioctl, {}, 1, {TIOCSTI, TIOCLINUX, TIOCSETD}, EPERM},
      // As by a kernel without auditing, with which libaudit and so useradd go on.
      {SYS_socket, {{0, AF_NETLINK}}, 2, {NETLINK_AUDIT}, EPROTONOSUPPORT},
      // Programs in the kernel, compiled to its executable memory, of which the host has one store:
      // thousands of them, let go at once, kept every processor of it from ever starting another.
      {SYS_setsockopt,
       {{1, SOL_SOCKET}},
       2,
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF},
       EPERM},
      // Each is memory in the kernel that no control group counts, thousands to a socket. As of an
      // interface that has no multicast. IPv4 grants 20 to a socket.
      {SYS_setsockopt,
       {{1, IPPROTO_IPV6}},
       2,
       {IPV6_JOIN_GROUP, IPV6_JOIN_ANYCAST, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP,
        MCAST_MSFILTER},
       ENODEV},
      // What waits in a socket's queues is no control group's (ADR 0034): they stay as long as the
      // host has them without being asked. As where net.core.rmem_max is no more than that.
      {SYS_setsockopt, {{1, SOL_SOCKET}}, 2, {SO_SNDBUF, SO_RCVBUF}, 0},
      // The same. As a kernel without it says it, so that programs go on.
      {SYS_prctl, {}, 0, {PR_SET_SECCOMP}, EINVAL},
      // A process that opens a file on the host waits for the holder of a lease on it, 45 s each
      // time,
      // though that one may only read it.
      {SYS_fcntl, {}, 1, {F_SETLEASE}, EPERM},
      // The slot's pid 1 is of the command's user, answers for what the command does, and ends what
      // it leaves: among hundreds of busy processes it would never run again, and without open
      // files it could not answer. The next command would inherit what was changed. PRIO_USER and
      // IOPRIO_WHO_USER are everything of the user.
      {SYS_setpriority, {}, 1, {kSlot}, EPERM},
      {SYS_setpriority, {}, 0, {PRIO_USER}, EPERM},
      {SYS_sched_setscheduler, {}, 0, {kSlot}, EPERM},
      {SYS_sched_setparam, {}, 0, {kSlot}, EPERM},
      {SYS_sched_setattr, {}, 0, {kSlot}, EPERM},
      {SYS_sched_setaffinity, {}, 0, {kSlot}, EPERM},
      {SYS_ioprio_set, {}, 1, {kSlot}, EPERM},
      {SYS_ioprio_set, {}, 0, {kIoprioWhoUser}, EPERM},
      {SYS_prlimit64, {}, 0, {kSlot}, EPERM},
      // Raised again, a crash would start the host's handler.
      {SYS_setrlimit, {}, 0, {RLIMIT_CORE}, EPERM},
  };
  return refused;
}

const std::vector<RefusedValues>& NotifiedByValue() {
  static const std::vector<RefusedValues> told = {
      // Each lock is a record in the kernel's memory that no control group counts.
      {SYS_fcntl, {}, 1, {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW}, EPERM},
  };
  return told;
}

// What the kernel refuses first of all to a process without a capability over the host
// (modules, reboot, swap, clocks) is not here: then commands' attempts can be told.
const std::vector<Group>& DeniedToInit() {
  static const std::vector<Group> groups = {
      {"keyrings are not namespaced", {"keyctl", "add_key", "request_key"}},
      {"programs and probes in the kernel", {"bpf", "perf_event_open", "lookup_dcookie"}},
      {"holds the kernel still in the middle of a copy: a tool of exploits", {"userfaultfd"}},
      {"does I/O that no filter sees", {"io_uring_setup", "io_uring_enter", "io_uring_register"}},
      {"opens files past every directory's permissions", {"open_by_handle_at"}},
      {"other processes' memory and descriptors",
       {"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"}},
      {"the host's kernel log, quotas and file events",
       {"syslog", "quotactl", "quotactl_fd", "fanotify_init"}},
      {"rarely used corners of memory management",
       {"migrate_pages", "move_pages", "modify_ldt", "memfd_secret", "uselib"}},
  };
  return groups;
}

}  // namespace odyssey::seccomp
