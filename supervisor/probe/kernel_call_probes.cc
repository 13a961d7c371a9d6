// System calls that no tool of an agent needs. Each is called with arguments that do nothing, or
// that the kernel refuses for their values only after the capability check: any answer but the
// filter's says that the call is open.

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kLayer[] = "seccomp";
constexpr char kNoSuchFile[] = "/odyssey/no/such/file";

// A zeroed room for what a call reads or writes.
char* Room() {
  static char room[512];
  return room;
}

// A time that is none: more nanoseconds than a second has.
const long* NoTime() {
  static const long time[2] = {0, 4'000'000'000};
  return time;
}

// No program, so a kernel that is asked says EINVAL or EFAULT.
Answer AttachToSocket(int option) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return Answered(setsockopt(fd.get(), SOL_SOCKET, option, nullptr, 0));
}

struct CallCase {
  const char* name;
  Answer (*call)();
};

const CallCase kCalls[] = {
    {"keyctl", [] { return Call(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0); }},
    {"keyctl_join", [] { return Call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr); }},
    {"add_key",
     [] { return Call(SYS_add_key, "user", "odyssey-probe", "x", 1, KEY_SPEC_PROCESS_KEYRING); }},
    {"request_key", [] { return Call(SYS_request_key, "user", "odyssey-none", nullptr, 0); }},
    {"bpf", [] { return Call(SYS_bpf, BPF_PROG_GET_NEXT_ID, Room(), 64); }},
    {"perf_event_open", [] { return Call(SYS_perf_event_open, Room(), 0, -1, -1, 0); }},
    {"userfaultfd", [] { return Call(SYS_userfaultfd, 1); }},
    {"io_uring_setup", [] { return Call(SYS_io_uring_setup, 1, Room()); }},
    {"io_uring_enter", [] { return Call(SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0); }},
    {"io_uring_register", [] { return Call(SYS_io_uring_register, -1, 0, nullptr, 0); }},
    {"init_module", [] { return Call(SYS_init_module, Room(), 8, ""); }},
    {"finit_module", [] { return Call(SYS_finit_module, -1, "", 0); }},
    {"delete_module", [] { return Call(SYS_delete_module, "odyssey_none", O_NONBLOCK); }},
    {"kexec_load", [] { return Call(SYS_kexec_load, 0, 0, nullptr, 0xffff); }},
    {"kexec_file_load", [] { return Call(SYS_kexec_file_load, -1, -1, 0, nullptr, 0xffff); }},
    {"reboot", [] { return Call(SYS_reboot, 0, 0, 0, nullptr); }},
    {"swapon", [] { return Call(SYS_swapon, kNoSuchFile, 0); }},
    {"swapoff", [] { return Call(SYS_swapoff, kNoSuchFile); }},
    {"acct", [] { return Call(SYS_acct, kNoSuchFile); }},
    {"quotactl", [] { return Call(SYS_quotactl, 0, nullptr, 0, nullptr); }},
    {"quotactl_fd", [] { return Call(SYS_quotactl_fd, -1, 0, 0, nullptr); }},
    {"iopl", [] { return Call(SYS_iopl, 3); }},
    {"ioperm", [] { return Call(SYS_ioperm, 0x80, 1, 1); }},
    {"modify_ldt", [] { return Call(SYS_modify_ldt, 0, Room(), 16); }},
    {"settimeofday", [] { return Call(SYS_settimeofday, NoTime(), nullptr); }},
    {"clock_settime", [] { return Call(SYS_clock_settime, 0, NoTime()); }},
    {"adjtimex", [] { return Call(SYS_adjtimex, Room()); }},
    {"clock_adjtime", [] { return Call(SYS_clock_adjtime, 0, Room()); }},
    {"syslog", [] { return Call(SYS_syslog, 10, nullptr, 0); }},
    {"vhangup", [] { return Call(SYS_vhangup); }},
    {"fanotify_init", [] { return Call(SYS_fanotify_init, 0, 0); }},
    {"fanotify_mark", [] { return Call(SYS_fanotify_mark, -1, 1, 1, -1, nullptr); }},
    {"migrate_pages", [] { return Call(SYS_migrate_pages, 0, 0, nullptr, nullptr); }},
    {"move_pages", [] { return Call(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr, 0); }},
    {"memfd_secret", [] { return Call(447, 0); }},
    {"process_vm_readv", [] { return Call(SYS_process_vm_readv, getpid(), 0, 0, 0, 0, 0); }},
    {"process_vm_writev", [] { return Call(SYS_process_vm_writev, getpid(), 0, 0, 0, 0, 0); }},
    {"process_madvise", [] { return Call(SYS_process_madvise, -1, 0, 0, 0, 0); }},
    {"process_mrelease", [] { return Call(448, -1, 0); }},
    {"pidfd_getfd", [] { return Call(SYS_pidfd_getfd, -1, 0, 0); }},
    {"kcmp", [] { return Call(SYS_kcmp, getpid(), getpid(), 0, 0, 0); }},
    {"seccomp_filter", [] { return Call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr); }},
    {"seccomp_listener",
     [] {
       return Call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0);
     }},
    {"attach_filter", [] { return AttachToSocket(SO_ATTACH_FILTER); }},
    {"attach_bpf", [] { return AttachToSocket(SO_ATTACH_BPF); }},
    {"attach_reuseport_filter", [] { return AttachToSocket(SO_ATTACH_REUSEPORT_CBPF); }},
    {"attach_reuseport_bpf", [] { return AttachToSocket(SO_ATTACH_REUSEPORT_EBPF); }},
    {"personality_32", [] { return Call(SYS_personality, PER_LINUX32); }},
    {"personality_zero_page", [] { return Call(SYS_personality, MMAP_PAGE_ZERO); }},
    {"personality_executable", [] { return Call(SYS_personality, READ_IMPLIES_EXEC); }},
    {"ustat", [] { return Call(SYS_ustat, 0, Room()); }},
    {"sysfs", [] { return Call(SYS_sysfs, 3); }},
    {"lookup_dcookie", [] { return Call(SYS_lookup_dcookie, 0, Room(), 16); }},
    {"nfsservctl", [] { return Call(SYS_nfsservctl, 0, nullptr, nullptr); }},
    {"uselib", [] { return Call(SYS_uselib, kNoSuchFile); }},
    {"lsm_get_self_attr", [] { return Call(459, 0, nullptr, nullptr, 0); }},
    {"lsm_set_self_attr", [] { return Call(460, 0, nullptr, 0, 0); }},
    {"lsm_list_modules", [] { return Call(461, nullptr, nullptr, 1); }},
};

// Said to be unknown, as by a kernel that was built without them.
struct UnknownCase {
  const char* name;
  int error;
  Answer (*call)();
};

const UnknownCase kUnknown[] = {
    {"io_setup", ENOSYS, [] { return Call(SYS_io_setup, 1, Room()); }},
    {"io_submit", ENOSYS, [] { return Call(SYS_io_submit, 0, 0, nullptr); }},
    {"prctl_seccomp_filter", EINVAL,
     [] { return Answered(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0)); }},
};

// The 32-bit entrance: its numbers are others, so a filter that does not look at the architecture
// sees what is not called. Another process, for the filter kills it.
Finding Call32(int number, int argument) {
  const pid_t child = fork();
  if (child == 0) {
    int result = number;
    asm volatile("int $0x80" : "+a"(result) : "b"(argument), "c"(1), "d"(0) : "memory");
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return BrokenAt("wait");
  if (WIFEXITED(status)) return Escaped("it was answered");
  if (WTERMSIG(status) == SIGSYS) return Contained("killed by the filter: SIGSYS");
  if (WTERMSIG(status) == SIGSEGV) return NotApplicable("this kernel has no 32-bit system calls");
  return Broken("it ended by signal " + std::to_string(WTERMSIG(status)));
}

struct NumberCase {
  const char* name;
  int number;
  int argument;
};

constexpr int kInet = 2;
constexpr int kNewUser = 0x10000000;
constexpr NumberCase k32[] = {
    {"getpid", 20, 0}, {"socket", 359, kInet}, {"unshare", 310, kNewUser}, {"ptrace", 26, 0}};
constexpr long kX32 = 0x40000000;
constexpr NumberCase kOfX32[] = {{"getpid", SYS_getpid, 0},
                                 {"socket", SYS_socket, kInet},
                                 {"unshare", SYS_unshare, kNewUser},
                                 {"ptrace", 521, 0},
                                 {"mount", SYS_mount, 0}};

}  // namespace

void AddKernelCallProbes(Probes* all) {
  for (const CallCase& test : kCalls) {
    all->push_back({std::string("kernel.call_") + test.name, "EPERM", kLayer,
                    [&test](const Targets&) { return MustBeRefused(test.call(), {EPERM}); }});
  }
  for (const UnknownCase& test : kUnknown) {
    all->push_back({std::string("kernel.call_") + test.name, "as an unknown call", kLayer,
                    [&test](const Targets&) { return MustBeRefused(test.call(), {test.error}); }});
  }
  for (const NumberCase& test : k32) {
    all->push_back({std::string("kernel.32_bit_") + test.name, "it kills", kLayer,
                    [&test](const Targets&) { return Call32(test.number, test.argument); }});
  }
  for (const NumberCase& test : kOfX32) {
    all->push_back(
        {std::string("kernel.x32_") + test.name, "ENOSYS", kLayer, [&test](const Targets&) {
           return MustBeRefused(Call(kX32 | test.number, test.argument, 0, 0, 0, 0),
                                {ENOSYS, EPERM});
         }});
  }
}

}  // namespace odyssey::probe
