#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "policy/seccomp/conditions.h"
#include "policy/seccomp/rules.h"

namespace odyssey::seccomp {
namespace {

// socket(2): the families, types and protocols of ordinary programs. SOCK_RAW of the Internet
// families and IPPROTO_MPTCP, which goes round rules written for TCP, are not among them.
struct SocketKind {
  uint32_t family;
  uint32_t type;
  std::vector<uint32_t> protocols;
};

const std::vector<SocketKind>& SocketKinds() {
  static const std::vector<SocketKind> kinds = {
      {AF_INET, SOCK_STREAM, {0, IPPROTO_TCP}},
      {AF_INET, SOCK_DGRAM, {0, IPPROTO_UDP, IPPROTO_ICMP}},
      {AF_INET6, SOCK_STREAM, {0, IPPROTO_TCP}},
      {AF_INET6, SOCK_DGRAM, {0, IPPROTO_UDP, IPPROTO_ICMPV6}},
  };
  return kinds;
}

void AddSockets(std::vector<ArgumentRule>* rules) {
  for (const uint32_t type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    rules->push_back({"socket", {Low(0, AF_UNIX), Masked(1, kSocketTypeMask, type)}});
  }
  rules->push_back({"socketpair", {Low(0, AF_UNIX)}});
}

void AddInternetSockets(std::vector<ArgumentRule>* rules) {
  for (const SocketKind& kind : SocketKinds()) {
    for (const uint32_t protocol : kind.protocols) {
      rules->push_back(
          {"socket",
           {Low(0, kind.family), Masked(1, kSocketTypeMask, kind.type), Low(2, protocol)}});
    }
  }
}

// Not to be executed: by two places of one segment, of which only one is writable, what was written
// would be, in spite of PR_SET_MDWE.
void AddSharedMemory(std::vector<ArgumentRule>* rules) {
  rules->push_back({"shmat", {Masked(2, SHM_EXEC, 0)}});
}

void AddNode(uint32_t type, std::vector<ArgumentRule>* rules) {
  rules->push_back({"mknod", {Masked(1, S_IFMT | kSetIdBits, type)}});
  rules->push_back({"mknodat", {Masked(2, S_IFMT | kSetIdBits, type)}});
}

// No new set-uid or set-gid file: one left in a mounted host directory would belong to its owner.
void AddModes(std::vector<ArgumentRule>* rules) {
  rules->push_back({"chmod", {Masked(1, kSetIdBits, 0)}});
  rules->push_back({"fchmod", {Masked(1, kSetIdBits, 0)}});
  rules->push_back({"fchmodat", {Masked(2, kSetIdBits, 0)}});
  rules->push_back({"fchmodat2", {Masked(2, kSetIdBits, 0)}});
  rules->push_back({"creat", {Masked(1, kSetIdBits, 0)}});
  rules->push_back({"mkdir", {Masked(1, kSetIdBits, 0)}});
  rules->push_back({"mkdirat", {Masked(2, kSetIdBits, 0)}});
  // Without these flags the mode is whatever the register holds.
  rules->push_back({"open", {Masked(1, kCreatingFlags, 0)}});
  rules->push_back({"open", {Masked(2, kSetIdBits, 0)}});
  rules->push_back({"openat", {Masked(2, kCreatingFlags, 0)}});
  rules->push_back({"openat", {Masked(3, kSetIdBits, 0)}});
  // No device nodes, which is what a whiteout is too. 0 means a regular file.
  rules->push_back({"renameat2", {Masked(4, RENAME_WHITEOUT, 0)}});
  for (const uint32_t type : {0, S_IFREG, S_IFSOCK, S_IFIFO}) AddNode(type, rules);
}

// Files in memory are on no mount: neither noexec nor Landlock keeps one from being executed, and
// sealing one against that does not keep the loader from mapping it. So there are none, and no
// execution of a bare descriptor.
void AddDescriptors(std::vector<ArgumentRule>* rules) {
  rules->push_back({"execveat", {Masked(4, AT_EMPTY_PATH, 0)}});
}

void AddProcesses(std::vector<ArgumentRule>* rules) {
  // Threads and processes, but no namespaces: inside a new user namespace everything else is within
  // reach again.
  rules->push_back({"clone", {Masked(0, kCloneNamespaces | CLONE_FILES, 0)}});
  rules->push_back({"clone", {Masked(0, kCloneNamespaces | CLONE_THREAD, CLONE_THREAD)}});
  rules->push_back(
      {"unshare", {Masked(0, ~uint64_t{CLONE_FILES | CLONE_FS | CLONE_SYSVSEM} & UINT32_MAX, 0)}});
  // Asking, and what debuggers turn off; no emulation of other kernels.
  for (const uint32_t persona : {uint32_t{PER_LINUX}, uint32_t{ADDR_NO_RANDOMIZE}, UINT32_MAX}) {
    rules->push_back({"personality", {Low(0, persona)}});
  }
  rules->push_back({"seccomp", {Low(0, SECCOMP_GET_ACTION_AVAIL)}});
}

}  // namespace

const std::vector<Group>& AllowedToBuilds() {
  static const std::vector<Group> groups = {{"set-id modes",
                                             {"chmod", "fchmod", "fchmodat", "fchmodat2", "creat",
                                              "mkdir", "mkdirat", "open", "openat"}}};
  return groups;
}

const std::vector<Group>& AllowedCalls() {
  static const std::vector<Group> groups = {
      {"read and write what is open",
       {"read",
        "write",
        "pread64",
        "pwrite64",
        "readv",
        "writev",
        "preadv",
        "pwritev",
        "preadv2",
        "pwritev2",
        "lseek",
        "close",
        "close_range",
        "dup",
        "dup2",
        "dup3",
        "fcntl",
        "flock",
        "fsync",
        "fdatasync",
        "sync",
        "syncfs",
        "sync_file_range",
        "fadvise64",
        "readahead",
        "sendfile",
        "copy_file_range",
        "splice",
        "tee",
        "vmsplice",
        "fallocate",
        "ftruncate",
        "pipe",
        "pipe2",
        "cachestat"}},
      {"terminal and device requests; three of them are refused by value", {"ioctl"}},
      {"names of files: permissions and Landlock decide",
       {"access",
        "faccessat",
        "faccessat2",
        "stat",
        "lstat",
        "fstat",
        "newfstatat",
        "statx",
        "statfs",
        "fstatfs",
        "getcwd",
        "chdir",
        "fchdir",
        "readlink",
        "readlinkat",
        "getdents",
        "getdents64",
        "truncate",
        "rename",
        "renameat",
        "rmdir",
        "link",
        "linkat",
        "unlink",
        "unlinkat",
        "symlink",
        "symlinkat",
        "umask",
        "utime",
        "utimes",
        "utimensat",
        "futimesat",
        "chown",
        "fchown",
        "lchown",
        "fchownat",
        "setxattr",
        "lsetxattr",
        "fsetxattr",
        "getxattr",
        "lgetxattr",
        "fgetxattr",
        "listxattr",
        "llistxattr",
        "flistxattr",
        "removexattr",
        "lremovexattr",
        "fremovexattr",
        "inotify_init",
        "inotify_init1",
        "inotify_add_watch",
        "inotify_rm_watch"}},
      {"memory", {"mmap",          "munmap",           "mprotect",      "mremap",
                  "msync",         "mincore",          "madvise",       "brk",
                  "mlock",         "mlock2",           "munlock",       "mlockall",
                  "munlockall",    "remap_file_pages", "pkey_alloc",    "pkey_free",
                  "pkey_mprotect", "get_mempolicy",    "set_mempolicy", "set_mempolicy_home_node",
                  "membarrier",    "map_shadow_stack"}},
      {"processes; the pid namespace bounds whom they reach",
       {"fork",
        "vfork",
        "execve",
        "exit",
        "exit_group",
        "wait4",
        "waitid",
        "getpid",
        "getppid",
        "gettid",
        "getpgid",
        "setpgid",
        "getpgrp",
        "getsid",
        "setsid",
        "kill",
        "tkill",
        "tgkill",
        "pidfd_open",
        "pidfd_send_signal",
        "prctl",
        "arch_prctl",
        "set_tid_address",
        "set_robust_list",
        "get_robust_list",
        "rseq",
        "restart_syscall"}},
      {"debuggers of one's own children; pid 1 is not dumpable", {"ptrace"}},
      {"signals",
       {"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait",
        "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigsuspend", "sigaltstack", "pause", "signalfd",
        "signalfd4"}},
      {"threads and scheduling",
       {"futex", "futex_waitv", "sched_yield", "sched_setaffinity", "sched_getaffinity",
        "sched_setparam", "sched_getparam", "sched_setscheduler", "sched_getscheduler",
        "sched_setattr", "sched_getattr", "sched_get_priority_max", "sched_get_priority_min",
        "sched_rr_get_interval", "getcpu", "getpriority", "setpriority", "ioprio_get",
        "ioprio_set"}},
      {"identity; without capabilities the changing ones fail by themselves, as programs expect",
       {"getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "setuid",
        "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid",
        "setfsgid", "capget", "capset"}},
      {"limits and accounting",
       {"getrlimit", "setrlimit", "prlimit64", "getrusage", "times", "sysinfo", "uname"}},
      {"time and timers; setting the clock is not here",
       {"time", "gettimeofday", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep",
        "alarm", "getitimer", "setitimer", "timer_create", "timer_settime", "timer_gettime",
        "timer_getoverrun", "timer_delete", "timerfd_create", "timerfd_settime",
        "timerfd_gettime"}},
      {"waiting for events",
       {"poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl",
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2"}},
      {"sockets once made; the network namespace bounds whom they reach",
       {"bind", "accept", "accept4", "getsockname", "getpeername", "setsockopt", "getsockopt",
        "shutdown", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg"}},
      {"System V and POSIX IPC, in a namespace of the cell's own",
       {"shmget", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd",
        "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify",
        "mq_getsetattr"}},
      {"randomness", {"getrandom"}},
      {"programs that confine themselves further",
       {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}},
  };
  return groups;
}

const std::vector<NumberedCall>& AllowedNewCalls() {
  static const std::vector<NumberedCall> calls = {
      {"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456}, {"mseal", 462}};
  return calls;
}

const std::vector<ArgumentRule>& AllowedWithArguments() {
  static const std::vector<ArgumentRule> rules = [] {
    std::vector<ArgumentRule> all;
    AddSockets(&all);
    AddSharedMemory(&all);
    AddModes(&all);
    AddDescriptors(&all);
    AddProcesses(&all);
    return all;
  }();
  return rules;
}

const std::vector<ArgumentRule>& AllowedUnlessNotified() {
  static const std::vector<ArgumentRule> rules = [] {
    std::vector<ArgumentRule> all;
    AddInternetSockets(&all);
    // Netlink has no other types.
    for (const uint32_t type : {SOCK_RAW, SOCK_DGRAM}) {
      all.push_back(
          {"socket",
           {Low(0, AF_NETLINK), Masked(1, kSocketTypeMask, type), Low(2, NETLINK_ROUTE)}});
    }
    all.push_back({"listen", {}});
    // A process that shares its files with another one, and is no thread of it.
    all.push_back(
        {"clone", {Masked(0, kCloneNamespaces | CLONE_FILES | CLONE_THREAD, CLONE_FILES)}});
    return all;
  }();
  return rules;
}

const std::vector<ArgumentRule>& ConnectingCalls() {
  static const std::vector<ArgumentRule> rules = {{"connect", {}}, {"sendto", {}}};
  return rules;
}

const ArgumentRule& SendWithoutAddress() {
  static const ArgumentRule rule = {"sendto", {{4, SCMP_CMP_EQ, 0, 0}}};
  return rule;
}

}  // namespace odyssey::seccomp
