#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cell_filters.h"
#include "tests/testing/seccomp_fixture.h"

namespace odyssey::seccomp {
namespace {

TEST(SeccompFilterTest, AllowsWhatOrdinaryProgramsDo) {
  for (const int number : {SYS_read,
                           SYS_write,
                           SYS_mmap,
                           SYS_futex,
                           SYS_execve,
                           SYS_fork,
                           SYS_vfork,
                           SYS_wait4,
                           SYS_ptrace,
                           SYS_pipe2,
                           SYS_accept4,
                           SYS_bind,
                           SYS_connect,
                           SYS_statx,
                           SYS_getrandom,
                           SYS_rseq,
                           SYS_epoll_wait,
                           SYS_epoll_pwait2,
                           SYS_landlock_restrict_self,
                           SYS_prctl,
                           SYS_setuid,
                           SYS_sched_setaffinity,
                           SYS_set_mempolicy,
                           SYS_membarrier,
                           SYS_copy_file_range,
                           SYS_close_range,
                           SYS_pidfd_open,
                           SYS_pidfd_send_signal,
                           SYS_shmget,
                           SYS_mq_open,
                           SYS_inotify_add_watch,
                           SYS_timer_create,
                           SYS_renameat2,
                           SYS_prlimit64,
                           SYS_futex_waitv,
                           SYS_sendmsg,
                           SYS_setsid,
                           SYS_kill,
                           SYS_fcntl,
                           454,
                           455,
                           456,
                           462}) {
    EXPECT_EQ(Ask(Command(), number).action, kAllow) << number;
  }
}

TEST(SeccompFilterTest, RefusesWhatNoPolicyMayGive) {
  for (const int number : {SYS_mount,
                           SYS_umount2,
                           SYS_pivot_root,
                           SYS_chroot,
                           SYS_open_tree,
                           SYS_move_mount,
                           SYS_fsopen,
                           SYS_fsconfig,
                           SYS_fsmount,
                           SYS_fspick,
                           SYS_mount_setattr,
                           SYS_setns,
                           SYS_sethostname,
                           SYS_setdomainname,
                           SYS_keyctl,
                           SYS_add_key,
                           SYS_request_key,
                           SYS_bpf,
                           SYS_perf_event_open,
                           SYS_userfaultfd,
                           SYS_io_uring_setup,
                           SYS_io_uring_enter,
                           SYS_io_uring_register,
                           SYS_open_by_handle_at,
                           SYS_kexec_load,
                           SYS_kexec_file_load,
                           SYS_init_module,
                           SYS_finit_module,
                           SYS_delete_module,
                           SYS_reboot,
                           SYS_swapon,
                           SYS_swapoff,
                           SYS_pidfd_getfd,
                           SYS_process_vm_readv,
                           SYS_process_vm_writev,
                           SYS_acct,
                           SYS_quotactl,
                           SYS_quotactl_fd,
                           SYS_iopl,
                           SYS_ioperm,
                           SYS_settimeofday,
                           SYS_clock_settime,
                           SYS_syslog,
                           SYS_fanotify_init,
                           SYS_kcmp,
                           SYS_migrate_pages,
                           SYS_move_pages,
                           SYS_modify_ldt,
                           SYS_memfd_secret,
                           SYS_uselib,
                           SYS_vhangup,
                           SYS_lookup_dcookie}) {
    EXPECT_EQ(Ask(Command(), number).action, kDeny) << number;
  }
  // open_tree_attr: newer than the allow list's last.
  ExpectCases({{467, {}, kAbsent}});
}

TEST(SeccompFilterTest, LeavesOutOfTheAllowListWhatFewProgramsUse) {
  ExpectCases({{SYS_name_to_handle_at, {}, kDeny},
               {SYS_ustat, {}, kDeny},
               {SYS_sysfs, {}, kDeny},
               {SYS_process_madvise, {}, kDeny}});
}

TEST(SeccompFilterTest, KillsForeignArchitectures) {
  for (const auto* program : {&Command(), &Notifying(), &NotifyingOfConnects(), &Init()}) {
    for (const int number : {SYS_read, 359, 310}) {
      EXPECT_EQ(Ask(*program, number, {}, AUDIT_ARCH_I386).action, kKill);
    }
    EXPECT_EQ(Ask(*program, SYS_read, {}, AUDIT_ARCH_AARCH64).action, kKill);
  }
}

TEST(SeccompFilterTest, AnswersX32AndUnknownNumbersAsAnOldKernelWould) {
  for (const int number : {0x40000000, 0x40000029, 0x400001ff, -1}) {
    EXPECT_EQ(Ask(Command(), number).action, kAbsent) << number;
    EXPECT_EQ(Ask(Init(), number).action, kAbsent) << number;
  }
  ExpectCases({{463, {}, kAbsent}, {SYS_clone3, {}, kAbsent}, {SYS_openat2, {}, kAbsent}});
}

// Contexts of asynchronous I/O are counted for the whole host.
TEST(SeccompFilterTest, HasNoAsynchronousIo) {
  ExpectCases({{SYS_io_setup, {8, 0x7f0012345678}, kAbsent},
               {SYS_io_submit, {}, kAbsent},
               {SYS_io_getevents, {}, kAbsent},
               {SYS_io_pgetevents, {}, kAbsent},
               {SYS_io_cancel, {}, kAbsent},
               {SYS_io_destroy, {}, kAbsent}});
}

// Whole numbers of them, freed at once, held up the host's kernel for good.
TEST(SeccompFilterTest, PutsNoProgramIntoTheKernel) {
  std::vector<Case> cases;
  for (const uint64_t option :
       {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
    cases.push_back({SYS_setsockopt, {3, SOL_SOCKET, option}, kDeny});
    cases.push_back({SYS_setsockopt, {3, SOL_SOCKET | kHigh, option}, kDeny});
    cases.push_back({SYS_setsockopt, {3, SOL_SOCKET, option | kHigh}, kDeny});
    // The same number on another level is another option: 26 is IPV6_V6ONLY.
    cases.push_back({SYS_setsockopt, {3, IPPROTO_IPV6, option}, kAllow});
    cases.push_back({SYS_getsockopt, {3, SOL_SOCKET, option}, kAllow});
  }
  for (const uint64_t option : {SO_REUSEADDR, SO_DETACH_FILTER, SO_LOCK_FILTER, SO_RCVTIMEO}) {
    cases.push_back({SYS_setsockopt, {3, SOL_SOCKET, option}, kAllow});
  }
  cases.push_back({SYS_prctl, {PR_SET_SECCOMP, SECCOMP_MODE_FILTER}, kNoSuch});
  cases.push_back({SYS_prctl, {PR_SET_SECCOMP | kHigh, SECCOMP_MODE_STRICT}, kNoSuch});
  cases.push_back({SYS_prctl, {PR_GET_SECCOMP}, kAllow});
  cases.push_back({SYS_prctl, {PR_SET_NAME}, kAllow});
  ExpectCases(cases);
}

TEST(SeccompFilterTest, SharedMemoryIsNotExecuted) {
  ExpectCases({{SYS_shmat, {1, 0, 0}, kAllow},
               {SYS_shmat, {1, 0, SHM_RDONLY | SHM_RND}, kAllow},
               {SYS_shmat, {1, 0, SHM_EXEC}, kDeny},
               {SYS_shmat, {1, 0, kHigh | SHM_EXEC | SHM_RDONLY}, kDeny}});
}

TEST(SeccompFilterTest, QueuesOfSocketsStayAsTheHostMakesThem) {
  for (const uint64_t option : {SO_RCVBUF, SO_SNDBUF}) {
    ExpectCases({{SYS_setsockopt, {3, SOL_SOCKET, option}, kNotDone},
                 {SYS_setsockopt, {3, SOL_SOCKET | kHigh, option | kHigh}, kNotDone},
                 {SYS_setsockopt, {3, IPPROTO_TCP, option}, kAllow},
                 {SYS_getsockopt, {3, SOL_SOCKET, option}, kAllow}});
  }
}

TEST(SeccompFilterTest, MakesThreadsAndProcessesButNoNamespaces) {
  const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                          CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID;
  std::vector<Case> cases = {
      {SYS_clone, {thread}, kAllow},
      {SYS_clone, {SIGCHLD}, kAllow},
      {SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}, kAllow},
      {SYS_unshare, {0}, kAllow},
      {SYS_unshare, {CLONE_FILES | CLONE_FS | CLONE_SYSVSEM}, kAllow},
      {SYS_unshare, {0x80}, kDeny},
  };
  for (const uint64_t flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                              CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
    cases.push_back({SYS_clone, {flag | SIGCHLD}, kDeny});
    cases.push_back({SYS_clone, {flag | kHigh}, kDeny});
    cases.push_back({SYS_unshare, {flag}, kDeny});
    cases.push_back({SYS_unshare, {flag | kHigh | CLONE_FS}, kDeny});
  }
  ExpectCases(cases);
}

TEST(SeccompFilterTest, TypesNothingIntoAnothersTerminal) {
  std::vector<Case> cases;
  for (const uint64_t request : {TIOCSTI, TIOCLINUX, TIOCSETD}) {
    cases.push_back({SYS_ioctl, {0, request}, kDeny});
    cases.push_back({SYS_ioctl, {0, request | kHigh}, kDeny});
    cases.push_back({SYS_ioctl, {0, request | 0xffffffff00000000}, kDeny});
  }
  for (const uint64_t request : {TCGETS, TIOCGWINSZ, TIOCSWINSZ, TIOCSCTTY, FIONREAD, FIONBIO}) {
    cases.push_back({SYS_ioctl, {0, request}, kAllow});
  }
  // The request's number is no argument of another call.
  cases.push_back({SYS_write, {0, TIOCSTI}, kAllow});
  ExpectCases(cases);
}

TEST(SeccompFilterTest, OpensTheSocketsOfOrdinaryPrograms) {
  const uint64_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
  ExpectCases({{SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, kAllow},
               {SYS_socket, {AF_UNIX, SOCK_DGRAM | flags, 0}, kAllow},
               {SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}, kAllow},
               {SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}, kAllow}});
  for (const Args& args : std::vector<Args>{{AF_INET, SOCK_STREAM | flags, IPPROTO_TCP},
                                            {AF_INET, SOCK_STREAM, 0},
                                            {AF_INET, SOCK_DGRAM, IPPROTO_UDP},
                                            {AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
                                            {AF_INET6, SOCK_STREAM, 0},
                                            {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6}}) {
    ExpectNotified(SYS_socket, args);  // a cell has a number of them
  }
}

TEST(SeccompFilterTest, JoinsNoGroupOfIpv6) {
  for (const uint64_t option : {IPV6_JOIN_GROUP, IPV6_JOIN_ANYCAST, MCAST_JOIN_GROUP,
                                MCAST_JOIN_SOURCE_GROUP, MCAST_MSFILTER}) {
    ExpectCases(
        {{SYS_setsockopt, {3, IPPROTO_IPV6, option}, SECCOMP_RET_ERRNO | ENODEV},
         {SYS_setsockopt, {3, kHigh | IPPROTO_IPV6, kHigh | option}, SECCOMP_RET_ERRNO | ENODEV},
         {SYS_setsockopt, {3, IPPROTO_IP, option}, kAllow}});
  }
}

TEST(SeccompFilterTest, HasNoPoliciesOfMemoryThatOutliveItsMapping) {
  ExpectCases({{SYS_mbind, {}, kDeny}, {SYS_set_mempolicy, {}, kAllow}});
}

TEST(SeccompFilterTest, OpensNoOtherSocketFamily) {
  std::vector<Case> cases;
  for (uint64_t family = 1; family < 64; ++family) {
    const bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6;
    if (!known) cases.push_back({SYS_socketpair, {family, SOCK_STREAM, 0}, kDeny});
    if (known || family == AF_NETLINK) continue;
    cases.push_back({SYS_socket, {family, SOCK_STREAM, 0}, kDeny});
    cases.push_back({SYS_socket, {family | kHigh, SOCK_RAW, 0}, kDeny});
  }
  for (uint64_t protocol = 1; protocol < 32; ++protocol) {
    if (protocol == NETLINK_AUDIT) continue;  // refused with another error
    cases.push_back({SYS_socket, {AF_NETLINK, SOCK_RAW, protocol}, kDeny});
  }
  cases.push_back({SYS_socket, {0xffffffff, SOCK_STREAM, 0}, kDeny});
  cases.push_back({SYS_socketpair, {AF_INET, SOCK_STREAM, 0}, kDeny});
  ExpectCases(cases);
}

TEST(SeccompFilterTest, OpensNoRawPacketOrMultipathSocket) {
  ExpectCases({
      {SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, kDeny},
      {SYS_socket, {AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW}, kDeny},
      {SYS_socket, {AF_INET6, SOCK_RAW, 0}, kDeny},
      {SYS_socket, {AF_INET, SOCK_PACKET, 0}, kDeny},
      {SYS_socket, {AF_INET, SOCK_STREAM, kMptcp}, kDeny},
      {SYS_socket, {AF_INET6, SOCK_STREAM, kMptcp | kHigh}, kDeny},
      {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, kDeny},
      {SYS_socket, {AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP}, kDeny},
  });
}

TEST(SeccompFilterTest, LeavesNoSetIdFileBehind) {
  std::vector<Case> cases;
  for (const uint64_t mode : {04755, 02755, 06755, 04000}) {
    for (const auto& [number, at] : std::vector<std::pair<int, size_t>>{{SYS_chmod, 1},
                                                                        {SYS_fchmod, 1},
                                                                        {SYS_fchmodat, 2},
                                                                        {452, 2},
                                                                        {SYS_creat, 1},
                                                                        {SYS_mknod, 1},
                                                                        {SYS_mknodat, 2}}) {
      Args args(4, 0);
      args[at] = mode | S_IFREG;
      cases.push_back({number, args, kDeny});
      args[at] |= kHigh;
      cases.push_back({number, args, kDeny});
      args[at] = 01777;
      cases.push_back({number, args, kAllow});
    }
    for (const uint64_t flags : {O_CREAT | O_WRONLY, O_TMPFILE | O_RDWR}) {
      cases.push_back({SYS_open, {0, flags, mode}, kDeny});
      cases.push_back({SYS_openat, {0, 0, flags, mode}, kDeny});
      cases.push_back({SYS_open, {0, flags, 0644}, kAllow});
      cases.push_back({SYS_openat, {0, 0, flags, 01777}, kAllow});
    }
    // Without O_CREAT the mode is noise.
    cases.push_back({SYS_open, {0, O_RDWR | O_DIRECTORY, mode}, kAllow});
    cases.push_back({SYS_openat, {0, 0, O_RDONLY, ~uint64_t{0}}, kAllow});
    cases.push_back({SYS_mkdir, {0, mode}, kDeny});
    cases.push_back({SYS_mkdirat, {0, 0, mode}, kDeny});
  }
  ExpectCases(cases);
}

TEST(SeccompFilterTest, ThereIsNoAuditingToTalkTo) {
  for (const auto* program : {&Command(), &Notifying(), &Build()}) {
    const Verdict verdict = Ask(*program, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT});
    EXPECT_EQ(verdict.action, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
  }
}

TEST(SeccompFilterTest, ABuildMakesSetIdFilesOfPackages) {
  for (const uint64_t mode : {04755, 02755, 0644}) {
    EXPECT_EQ(Ask(Build(), SYS_fchmod, {0, mode}).action, kAllow);
    EXPECT_EQ(Ask(Build(), SYS_chmod, {0, mode}).action, kAllow);
    EXPECT_EQ(Ask(Build(), SYS_openat, {0, 0, O_CREAT | O_WRONLY, mode}).action, kAllow);
    EXPECT_EQ(Ask(Build(), SYS_mkdirat, {0, 0, mode}).action, kAllow);
  }
  for (int number = 0; number < 512; ++number) {
    const auto other = Ask(NotifyingOfConnects(), number).action;
    EXPECT_EQ(Ask(Build(), number).action, other) << number;
  }
}

TEST(SeccompFilterTest, MakesNoDeviceNodes) {
  std::vector<Case> cases;
  for (const uint64_t type : {S_IFBLK, S_IFCHR, S_IFDIR, S_IFLNK}) {
    cases.push_back({SYS_mknod, {0, type | 0600}, kDeny});
    cases.push_back({SYS_mknodat, {0, 0, type | 0600}, kDeny});
  }
  for (const uint64_t type : {0, S_IFREG, S_IFSOCK, S_IFIFO}) {
    cases.push_back({SYS_mknod, {0, type | 0600}, kAllow});
    cases.push_back({SYS_mknodat, {0, 0, type | 0600}, kAllow});
  }
  ExpectCases(cases);
  // What a whiteout leaves behind is one.
  ExpectCases({{SYS_renameat2, {0, 0, 0, 0, RENAME_NOREPLACE}, kAllow},
               {SYS_renameat2, {0, 0, 0, 0, RENAME_EXCHANGE}, kAllow},
               {SYS_renameat2, {0, 0, 0, 0, RENAME_WHITEOUT}, kDeny},
               {SYS_renameat2, {0, 0, 0, 0, kHigh | RENAME_WHITEOUT | RENAME_NOREPLACE}, kDeny}});
}

// 0 would bring back the host's handler of crashes, which runs as its root.
TEST(SeccompFilterTest, ChangesNoLimitOfCoreFiles) {
  constexpr uint64_t kPointer = 0x7f0012345678, kHighPointer = 0x7f0000000000;
  ExpectCases({{SYS_setrlimit, {RLIMIT_CORE, kPointer}, kDeny},
               {SYS_setrlimit, {kHigh | RLIMIT_CORE, kPointer}, kDeny},
               {SYS_setrlimit, {RLIMIT_NOFILE, kPointer}, kAllow},
               {SYS_prlimit64, {0, RLIMIT_CORE, kPointer, 0}, kDeny},
               {SYS_prlimit64, {0, RLIMIT_CORE, kHighPointer, 0}, kDeny},
               {SYS_prlimit64, {7, kHigh | RLIMIT_CORE, kPointer, kPointer}, kDeny},
               {SYS_prlimit64, {0, RLIMIT_CORE, 0, kPointer}, kAllow},
               {SYS_prlimit64, {0, RLIMIT_NOFILE, kPointer, 0}, kAllow},
               {SYS_prlimit64, {RLIMIT_CORE, RLIMIT_STACK, kPointer, 0}, kAllow},
               {SYS_getrlimit, {RLIMIT_CORE, kPointer}, kAllow},
               {SYS_ioctl, {RLIMIT_CORE, __NR_setrlimit}, kAllow},
               {SYS_ioctl, {0, __NR_prlimit64, kPointer}, kAllow}});
}

TEST(SeccompFilterTest, HasNoFileInMemory) {
  constexpr uint64_t kCloseOnExec = 1, kExecutable = 0x10, kNoExecSealed = 8;
  ExpectCases({{SYS_memfd_create, {0, 0}, kDeny},
               {SYS_memfd_create, {0, kCloseOnExec}, kDeny},
               {SYS_memfd_create, {0, kExecutable}, kDeny},
               {SYS_memfd_create, {0, kNoExecSealed}, kDeny},
               {SYS_memfd_create, {0, kNoExecSealed | kCloseOnExec}, kDeny},
               {SYS_execveat, {3, 0, 0, 0, AT_EMPTY_PATH}, kDeny},
               {SYS_execveat, {3, 0, 0, 0, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW}, kDeny},
               {SYS_execveat, {3, 0, 0, 0, 0}, kAllow}});
}

TEST(SeccompFilterTest, LeavesTheSlotsOwnPriorityAndLimitsAlone) {
  constexpr uint64_t kPointer = 0x7f0012345678;
  for (const uint64_t who : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32 | 1, uint64_t{2}}) {
    const uint32_t expected = static_cast<uint32_t>(who) == 1 ? kDeny : kAllow;
    ExpectCases({{SYS_setpriority, {PRIO_PROCESS, who, 19}, expected},
                 {SYS_setpriority, {PRIO_PGRP, who, 19}, expected},
                 {SYS_setpriority, {PRIO_USER, who, 19}, kDeny},
                 {SYS_sched_setscheduler, {who, 5, 0}, expected},
                 {SYS_sched_setparam, {who, 0}, expected},
                 {SYS_sched_setattr, {who, 0}, expected},
                 {SYS_sched_setaffinity, {who, 8, 0}, expected},
                 {SYS_ioprio_set, {1, who, 0}, expected},
                 {SYS_ioprio_set, {2, who, 0}, expected},
                 {SYS_ioprio_set, {3, who, 0}, kDeny},
                 {SYS_prlimit64, {who, RLIMIT_NOFILE, kPointer, 0}, expected},
                 {SYS_prlimit64, {who, RLIMIT_CPU, kPointer, kPointer}, expected}});
  }
}

TEST(SeccompFilterTest, EmulatesNoOtherKernel) {
  ExpectCases({{SYS_personality, {0}, kAllow},
               {SYS_personality, {0x0040000}, kAllow},
               {SYS_personality, {0xffffffff}, kAllow},
               {SYS_personality, {~uint64_t{0}}, kAllow},
               {SYS_personality, {0x0008}, kDeny},
               {SYS_personality, {0x0100000}, kDeny},
               {SYS_personality, {0x0400000}, kDeny}});
}

TEST(SeccompFilterTest, AnswersQuestionsAboutSeccompOnly) {
  ExpectCases({{SYS_seccomp, {SECCOMP_GET_ACTION_AVAIL}, kAllow},
               {SYS_seccomp, {SECCOMP_SET_MODE_FILTER}, kDeny},
               {SYS_seccomp, {SECCOMP_SET_MODE_STRICT}, kDeny},
               {SYS_seccomp, {SECCOMP_GET_NOTIF_SIZES}, kDeny}});
}

TEST(SeccompFilterTest, LetsInitDoItsWork) {
  for (const int number : {SYS_mount, SYS_umount2, SYS_setns, SYS_ptrace, SYS_clone3, SYS_openat2,
                           SYS_seccomp, SYS_execve, SYS_pidfd_open}) {
    EXPECT_EQ(Ask(Init(), number).action, kAllow) << number;
  }
  EXPECT_EQ(Ask(Init(), SYS_clone, {CLONE_NEWPID | CLONE_NEWNS}).action, kAllow);
  for (const int number : {SYS_keyctl, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
                           SYS_io_uring_setup, SYS_open_by_handle_at, SYS_fanotify_init, SYS_syslog,
                           SYS_process_vm_writev, SYS_pidfd_getfd, SYS_quotactl}) {
    EXPECT_EQ(Ask(Init(), number).action, kDeny) << number;
  }
}

// Filters are inherited: what cell-init may not do, no command may, so nothing a command is allowed
// may be denied to cell-init.
TEST(SeccompFilterTest, DeniesInitNothingThatCommandsMayDo) {
  for (int number = 0; number < 470; ++number) {
    if (Ask(Command(), number).action == kAllow) {
      EXPECT_EQ(Ask(Init(), number).action, kAllow) << number;
    }
    if (Ask(Init(), number).action != kAllow) {
      EXPECT_EQ(Ask(Command(), number).action, kDeny) << number;
    }
  }
}

TEST(SeccompFilterTest, AnswersEveryNumberInFewSteps) {
  // A new filter is run for every number, at each exec; a list instead of a tree takes hundreds.
  for (int number = 0; number < 512; ++number) {
    EXPECT_LT(Ask(Command(), number).steps, 60u) << number;
  }
  EXPECT_LT(Command().size(), 1000u);
  RecordProperty("command_instructions", static_cast<int>(Command().size()));
}

TEST(SeccompFilterTest, GeneratesTheHeaderFromTheSameRules) {
  const auto bytes = [](const auto& program) {
    return std::string(reinterpret_cast<const char*>(std::data(program)),
                       std::size(program) * sizeof(sock_filter));
  };
  EXPECT_TRUE(bytes(kCommandFilter) == bytes(Command()));
  EXPECT_TRUE(bytes(kNotifyingFilter) == bytes(Notifying()));
  EXPECT_TRUE(bytes(kNotifyingOfConnectsFilter) == bytes(NotifyingOfConnects()));
  EXPECT_TRUE(bytes(kBuildFilter) == bytes(Build()));
  EXPECT_TRUE(bytes(kInitFilter) == bytes(Init()));
}

}  // namespace
}  // namespace odyssey::seccomp
