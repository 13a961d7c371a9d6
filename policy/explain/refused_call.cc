#include "policy/explain/refused_call.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>

#include "policy/plan/kernel_memory.h"

namespace odyssey::explain {
namespace {

struct Name {
  uint32_t number;
  const char* name;
};

// Every call that some arguments make the commands' filter refuse (policy/seccomp); the numbers are
// those that this C library does not know yet.
constexpr Name kCalls[] = {
    {SYS__sysctl, "_sysctl"},
    {SYS_acct, "acct"},
    {SYS_add_key, "add_key"},
    {SYS_adjtimex, "adjtimex"},
    {SYS_afs_syscall, "afs_syscall"},
    {SYS_bpf, "bpf"},
    {SYS_chmod, "chmod"},
    {SYS_chroot, "chroot"},
    {SYS_clock_adjtime, "clock_adjtime"},
    {SYS_clock_settime, "clock_settime"},
    {SYS_clone, "clone"},
    {SYS_creat, "creat"},
    {SYS_create_module, "create_module"},
    {SYS_delete_module, "delete_module"},
    {SYS_epoll_ctl_old, "epoll_ctl_old"},
    {SYS_epoll_wait_old, "epoll_wait_old"},
    {SYS_execveat, "execveat"},
    {SYS_fanotify_init, "fanotify_init"},
    {SYS_fanotify_mark, "fanotify_mark"},
    {SYS_fchmod, "fchmod"},
    {SYS_fchmodat, "fchmodat"},
    {452, "fchmodat2"},
    {SYS_fcntl, "fcntl"},
    {SYS_finit_module, "finit_module"},
    {SYS_fsconfig, "fsconfig"},
    {SYS_fsmount, "fsmount"},
    {SYS_fsopen, "fsopen"},
    {SYS_fspick, "fspick"},
    {SYS_get_kernel_syms, "get_kernel_syms"},
    {SYS_get_thread_area, "get_thread_area"},
    {SYS_getpmsg, "getpmsg"},
    {SYS_init_module, "init_module"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_io_uring_register, "io_uring_register"},
    {SYS_io_uring_setup, "io_uring_setup"},
    {SYS_ioctl, "ioctl"},
    {SYS_ioperm, "ioperm"},
    {SYS_iopl, "iopl"},
    {SYS_ioprio_set, "ioprio_set"},
    {SYS_kcmp, "kcmp"},
    {SYS_kexec_file_load, "kexec_file_load"},
    {SYS_kexec_load, "kexec_load"},
    {SYS_keyctl, "keyctl"},
    {SYS_listen, "listen"},
    {458, "listmount"},
    {SYS_lookup_dcookie, "lookup_dcookie"},
    {459, "lsm_get_self_attr"},
    {461, "lsm_list_modules"},
    {460, "lsm_set_self_attr"},
    {SYS_memfd_create, "memfd_create"},
    {SYS_memfd_secret, "memfd_secret"},
    {SYS_migrate_pages, "migrate_pages"},
    {SYS_mbind, "mbind"},
    {SYS_mkdir, "mkdir"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mknod, "mknod"},
    {SYS_mknodat, "mknodat"},
    {SYS_modify_ldt, "modify_ldt"},
    {SYS_mount, "mount"},
    {SYS_mount_setattr, "mount_setattr"},
    {SYS_move_mount, "move_mount"},
    {SYS_move_pages, "move_pages"},
    {SYS_name_to_handle_at, "name_to_handle_at"},
    {SYS_nfsservctl, "nfsservctl"},
    {SYS_open, "open"},
    {SYS_open_by_handle_at, "open_by_handle_at"},
    {SYS_open_tree, "open_tree"},
    {SYS_openat, "openat"},
    {SYS_perf_event_open, "perf_event_open"},
    {SYS_personality, "personality"},
    {SYS_pidfd_getfd, "pidfd_getfd"},
    {SYS_pivot_root, "pivot_root"},
    {SYS_prlimit64, "prlimit64"},
    {SYS_process_madvise, "process_madvise"},
    {SYS_process_mrelease, "process_mrelease"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_putpmsg, "putpmsg"},
    {SYS_query_module, "query_module"},
    {SYS_quotactl, "quotactl"},
    {SYS_quotactl_fd, "quotactl_fd"},
    {SYS_reboot, "reboot"},
    {SYS_renameat2, "renameat2"},
    {SYS_request_key, "request_key"},
    {SYS_sched_setaffinity, "sched_setaffinity"},
    {SYS_sched_setattr, "sched_setattr"},
    {SYS_sched_setparam, "sched_setparam"},
    {SYS_sched_setscheduler, "sched_setscheduler"},
    {SYS_seccomp, "seccomp"},
    {SYS_security, "security"},
    {SYS_set_thread_area, "set_thread_area"},
    {SYS_setdomainname, "setdomainname"},
    {SYS_sethostname, "sethostname"},
    {SYS_setns, "setns"},
    {SYS_setpriority, "setpriority"},
    {SYS_setrlimit, "setrlimit"},
    {SYS_setsockopt, "setsockopt"},
    {SYS_settimeofday, "settimeofday"},
    {SYS_shmat, "shmat"},
    {SYS_socket, "socket"},
    {SYS_socketpair, "socketpair"},
    {457, "statmount"},
    {SYS_swapoff, "swapoff"},
    {SYS_swapon, "swapon"},
    {SYS_sysfs, "sysfs"},
    {SYS_syslog, "syslog"},
    {SYS_tuxcall, "tuxcall"},
    {SYS_umount2, "umount2"},
    {SYS_unshare, "unshare"},
    {SYS_uselib, "uselib"},
    {SYS_userfaultfd, "userfaultfd"},
    {SYS_ustat, "ustat"},
    {SYS_vhangup, "vhangup"},
    {SYS_vserver, "vserver"},
};

constexpr Name kFamilies[] = {{AF_UNIX, "AF_UNIX"},
                              {AF_INET, "AF_INET"},
                              {AF_AX25, "AF_AX25"},
                              {AF_IPX, "AF_IPX"},
                              {AF_APPLETALK, "AF_APPLETALK"},
                              {AF_X25, "AF_X25"},
                              {AF_INET6, "AF_INET6"},
                              {AF_KEY, "AF_KEY"},
                              {AF_NETLINK, "AF_NETLINK"},
                              {AF_PACKET, "AF_PACKET"},
                              {AF_RDS, "AF_RDS"},
                              {AF_PPPOX, "AF_PPPOX"},
                              {AF_CAN, "AF_CAN"},
                              {AF_TIPC, "AF_TIPC"},
                              {AF_BLUETOOTH, "AF_BLUETOOTH"},
                              {AF_ALG, "AF_ALG"},
                              {AF_VSOCK, "AF_VSOCK"},
                              {AF_SMC, "AF_SMC"},
                              {AF_XDP, "AF_XDP"}};
constexpr Name kTypes[] = {
    {SOCK_STREAM, "SOCK_STREAM"}, {SOCK_DGRAM, "SOCK_DGRAM"},         {SOCK_RAW, "SOCK_RAW"},
    {SOCK_RDM, "SOCK_RDM"},       {SOCK_SEQPACKET, "SOCK_SEQPACKET"}, {SOCK_DCCP, "SOCK_DCCP"},
    {SOCK_PACKET, "SOCK_PACKET"}};
constexpr Name kRequests[] = {
    {TIOCSTI, "TIOCSTI"}, {TIOCLINUX, "TIOCLINUX"}, {TIOCSETD, "TIOCSETD"}};
constexpr Name kCommands[] = {{F_SETLEASE, "F_SETLEASE"},
                              {F_SETLK, "F_SETLK"},
                              {F_SETLKW, "F_SETLKW"},
                              {F_OFD_SETLK, "F_OFD_SETLK"},
                              {F_OFD_SETLKW, "F_OFD_SETLKW"}};
constexpr Name kOptions[] = {{SO_ATTACH_FILTER, "SO_ATTACH_FILTER"},
                             {SO_ATTACH_BPF, "SO_ATTACH_BPF"},
                             {SO_ATTACH_REUSEPORT_CBPF, "SO_ATTACH_REUSEPORT_CBPF"},
                             {SO_ATTACH_REUSEPORT_EBPF, "SO_ATTACH_REUSEPORT_EBPF"}};

template <size_t kCount>
std::string NameOf(const Name (&names)[kCount], uint32_t number) {
  const auto it = std::find_if(std::begin(names), std::end(names),
                               [&](const Name& name) { return name.number == number; });
  return it == std::end(names) ? std::to_string(number) : it->name;
}

std::string SocketText(const cell::RefusedCall& call) {
  const auto [family, type, protocol] = call.arguments;
  std::string out = "socket(" + NameOf(kFamilies, family) + ", " + NameOf(kTypes, type);
  if (protocol != 0) out += ", " + std::to_string(protocol);
  return out + ")";
}

// What is allowed up to a number (ADR 0034).
std::string RuleOf(const cell::RefusedCall& call) {
  const auto [first, second, third] = call.arguments;
  if (call.number == SYS_fcntl && first != F_SETLEASE) {
    return "kernel memory: at most " + std::to_string(cell::kMaxRangeLocks) + " locks";
  }
  if (call.number == SYS_listen) {
    return "kernel memory: at most " + std::to_string(cell::kMaxWaitingConnections) +
           " connections that wait to be accepted";
  }
  const bool is_netlink = call.number == SYS_socket && first == AF_NETLINK;
  if (is_netlink && (second == SOCK_RAW || second == SOCK_DGRAM) && third == NETLINK_ROUTE) {
    return "kernel memory: at most " + std::to_string(cell::kMaxNetlinkSockets) +
           " such sockets, or " + std::to_string(cell::kMaxNetlinkSocketsOfHost) +
           " of all where the network is the host's";
  }
  if (call.number == SYS_socket && cell::IsInternetSocket(first, second, third)) {
    return "kernel memory: at most " + std::to_string(cell::kLeastSockets) +
           " sockets, or one for each " + std::to_string(cell::kBytesOfASocket / 1024) +
           " KiB of memory_bytes";
  }
  return "seccomp";
}

}  // namespace

std::string CallName(uint32_t number) {
  std::string name = NameOf(kCalls, number);
  return name[0] >= '0' && name[0] <= '9' ? "system call " + name : name;
}

std::string CallText(const cell::RefusedCall& call) {
  switch (call.number) {
    case SYS_socket:
      return SocketText(call);
    case SYS_socketpair:
      return "socketpair(" + NameOf(kFamilies, call.arguments[0]) + ")";
    case SYS_ioctl:
      return "ioctl(" + NameOf(kRequests, call.arguments[0]) + ")";
    case SYS_fcntl:
      return "fcntl(" + NameOf(kCommands, call.arguments[0]) + ")";
    case SYS_setsockopt:
      return "setsockopt(" + NameOf(kOptions, call.arguments[0]) + ")";
    default:
      return CallName(call.number);
  }
}

Denial CallDenial(const cell::RefusedCall& call) {
  return {.kind = "syscall",
          .resource = CallText(call),
          .access = "call",
          .rule = RuleOf(call),
          .process = ProcessText(call.comm, call.pid),
          .count = call.count,
          .verdict = call.number == SYS_listen ? kKill : kDeny};
}

}  // namespace odyssey::explain
