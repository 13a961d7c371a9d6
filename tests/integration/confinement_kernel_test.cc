// The kernel's doors that no tool of an agent needs: each is tried from inside a cell.

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/cell_probe.h"
#include "tests/testing/machine.h"

namespace odyssey::testing {
namespace {

class ConfinementKernelTest : public ::testing::Test {
 protected:
  Findings Ask(const std::string& script, const ExecOptions& options = {}) {
    return Probe(&supervisor_, cell_, script, options);
  }

  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell();
};

TEST_F(ConfinementKernelTest, NoNewNamespace) {
  EXPECT_FALSE(supervisor_.Exec(cell_, {"unshare", "-U", "true"}).Exited(0));
  EXPECT_FALSE(
      supervisor_.Exec(cell_, {"unshare", "-Urmpf", "mount", "-t", "proc", "p", "/tmp"}).Exited(0));
  const Findings findings = Ask(R"(
flags = {'time': 0x80, 'mnt': 0x20000, 'cgroup': 0x2000000, 'uts': 0x4000000, 'ipc': 0x8000000,
         'user': 0x10000000, 'pid': 0x20000000, 'net': 0x40000000}
def child_of(flag):
    pid = call(56, flag | 17, 0, 0, 0, 0)  # clone, SIGCHLD
    if pid == 0:
        os._exit(0)
for name, flag in flags.items():
    try_call('unshare_' + name, 272, flag)
    if name != 'time':  # clone(2) takes it for part of the signal
        attempt('clone_' + name, lambda: child_of(flag))
)");
  ExpectAll(findings, {"EPERM"}, 15);
}

TEST_F(ConfinementKernelTest, Clone3IsNotThereSoThatLibcFallsBack) {
  const Findings findings = Ask(R"(
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)  # CLONE_NEWUSER, SIGCHLD
try_call('newuser', 435, arguments, 88)
arguments[0] = 0
try_call('plain', 435, arguments, 88)
)");
  EXPECT_EQ(findings, (Findings{{"newuser", "ENOSYS"}, {"plain", "ENOSYS"}}));
}

TEST_F(ConfinementKernelTest, NoChangeToTheMountsOrTheRoot) {
  const Findings findings = Ask(R"(
attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)  # clear read-only
try_call('tmpfs', 165, b't', b'/tmp', b'tmpfs', 0, None)
try_call('proc', 165, b'p', b'/tmp', b'proc', 0, None)
try_call('cgroup', 165, b'c', b'/tmp', b'cgroup', 0, b'memory')
try_call('overlay', 165, b'o', b'/tmp', b'overlay', 0, b'lowerdir=/proc')
try_call('bind', 165, b'/', b'/tmp', None, 0x1000, None)
try_call('remount', 165, None, b'/usr', None, 0x20 | 0x1000, None)
try_call('umount', 166, b'/proc/kallsyms', 2)
try_call('umount_proc', 166, b'/proc', 2)
try_call('pivot_root', 155, b'/tmp', b'/tmp')
try_call('chroot', 161, b'/tmp')
try_call('open_tree', 428, -100, b'/', 1)
try_call('move_mount', 429, -100, b'/tmp', -100, b'/run', 0)
try_call('fsopen', 430, b'tmpfs', 0)
try_call('fsconfig', 431, 0, 0, None, None, 0)
try_call('fsmount', 432, 0, 0, 0)
try_call('fspick', 433, -100, b'/usr', 0)
try_call('mount_setattr', 442, -100, b'/usr', 0x8000, attributes, 32)
try_call('sethostname', 170, b'x', 1)
try_call('setdomainname', 171, b'x', 1)
)");
  ExpectAll(findings, {"EPERM"}, 19);
  const Findings newer = Ask(R"(
attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
try_call('open_tree_attr', 467, -100, b'/usr', 0, attributes, 32)
try_call('statmount', 457, attributes, attributes, 32, 0)
try_call('listmount', 458, attributes, attributes, 1, 0)
)");
  ExpectAll(newer, {"EPERM", "ENOSYS"}, 3);
}

TEST_F(ConfinementKernelTest, NamespacesOfOthersCannotBeJoined) {
  const Findings findings = Ask(R"(
for name in ['user', 'mnt', 'pid', 'net']:
    fd = os.open('/proc/self/ns/' + name, os.O_RDONLY)
    try_call('setns_' + name, 308, fd, 0)
    attempt('open_' + name, lambda: os.open('/proc/1/ns/' + name, os.O_RDONLY))
try_call('pidfd', 308, call(434, os.getpid(), 0), 0x20000)
)");
  ExpectAll(findings, {"EPERM", "EACCES"}, 9);
  EXPECT_EQ(findings.at("setns_user"), "EPERM");
}

TEST_F(ConfinementKernelTest, PidOneIsOutOfReachOfDebuggers) {
  const Findings findings = Ask(R"(
remote = (ctypes.c_uint64 * 2)(0x400000, 8)
local = (ctypes.c_uint64 * 2)(ctypes.addressof(remote), 8)
try_call('attach', 101, 16, 1, 0, 0)
try_call('seize', 101, 0x4206, 1, 0, 0)
try_call('readv', 310, 1, local, 1, remote, 1, 0)
try_call('writev', 311, 1, local, 1, remote, 1, 0)
try_call('own_readv', 310, os.getpid(), local, 1, remote, 1, 0)
try_call('pidfd_getfd', 438, call(434, 1, 0), 0, 0)
try_call('own_pidfd_getfd', 438, call(434, os.getpid(), 0), 0, 0)
try_call('kcmp', 312, 1, os.getpid(), 0, 0, 0)
)");
  ExpectAll(findings, {"EPERM"}, 8);
}

TEST_F(ConfinementKernelTest, KernelServicesAreClosed) {
  const Findings findings = Ask(R"(
room = ctypes.create_string_buffer(256)
try_call('keyctl', 250, 0, -3, 0)
try_call('keyctl_join', 250, 1, None)
try_call('add_key', 248, b'user', b'x', b'y', 1, -3)
try_call('request_key', 249, b'user', b'x', None, -3)
try_call('bpf', 321, 0, room, 128)
try_call('perf_event_open', 298, room, 0, -1, -1, 0)
try_call('userfaultfd', 323, 1)
try_call('io_uring_setup', 425, 1, room)
try_call('io_uring_enter', 426, 0, 0, 0, 0, None)
try_call('io_uring_register', 427, 0, 0, None, 0)
try_call('name_to_handle_at', 303, -100, b'/', room, room, 0)
try_call('open_by_handle_at', 304, -100, room, 0)
try_call('init_module', 175, room, 8, b'')
try_call('finit_module', 313, 0, b'', 0)
try_call('kexec_load', 246, 0, 0, None, 0)
try_call('reboot', 169, 0, 0, 0, None)
try_call('swapon', 167, b'/tmp/x', 0)
try_call('acct', 163, b'/tmp/x')
try_call('quotactl', 179, 0, None, 0, None)
try_call('iopl', 172, 3)
try_call('ioperm', 173, 0, 8, 1)
try_call('modify_ldt', 154, 0, room, 16)
try_call('settimeofday', 164, room, None)
try_call('clock_settime', 227, 0, room)
try_call('adjtimex', 159, room)
try_call('fanotify_init', 300, 0, 0)
try_call('memfd_secret', 447, 0)
try_call('vhangup', 153)
try_call('seccomp_filter', 317, 1, 8, None)  # with a listener
)");
  ExpectAll(findings, {"EPERM"}, 29);
}

TEST_F(ConfinementKernelTest, NobodyTypesIntoATerminal) {
  const std::string script = R"(
import fcntl
byte = ctypes.create_string_buffer(b'x')
for name in ['/dev/tty', '/dev/stdin']:
    fd = os.open(name, os.O_RDWR)
    for request in [0x5412, 0x541c, 0x5423]:  # TIOCSTI, TIOCLINUX, TIOCSETD
        for high in [0, 1 << 32, 0xffffffff << 32]:
            try_call(f'{name} {request | high:x}', 16, fd, request | high, byte)
    attempt(f'{name} TIOCGWINSZ', lambda: fcntl.ioctl(fd, 0x5413, b'\0' * 8))
)";
  Findings findings = Ask(script, {.terminal = true});
  for (const char* name : {"/dev/tty TIOCGWINSZ", "/dev/stdin TIOCGWINSZ"}) {
    EXPECT_EQ(findings[name].substr(0, 2), "ok");  // a terminal it is
    findings.erase(name);
  }
  for (auto& [name, value] : findings) value.resize(value.find_last_not_of('\r') + 1);
  ExpectAll(findings, {"EPERM"}, 18);
}

TEST_F(ConfinementKernelTest, NoProgramGoesIntoTheKernel) {
  Findings findings = Ask(R"(
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
accept_all = (ctypes.c_uint64 * 1)(0xffffffff00000006)
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(accept_all))
for high in [0, 1 << 32]:
    for option in [26, 50, 51, 52]:
        try_call(f'attach {option | high:x}', 54, s.fileno(), 1 | high, option | high, program, 16)
try_call('seccomp', 157, 22, 2, program, 0, 0)
try_call('detach', 54, s.fileno(), 1, 27, program, 4)
)");
  EXPECT_EQ(findings["seccomp"], "EINVAL");  // a kernel without it says so
  EXPECT_EQ(findings["detach"], "ENOENT");   // the kernel's own answer: there is none
  findings.erase("seccomp");
  findings.erase("detach");
  ExpectAll(findings, {"EPERM"}, 8);
}

TEST_F(ConfinementKernelTest, AsynchronousIoIsNotThere) {
  const Findings findings = Ask(R"(
context = ctypes.c_uint64(0)
for name, number in {'setup': 206, 'destroy': 207, 'getevents': 208, 'submit': 209, 'cancel': 210,
                     'pgetevents': 333}.items():
    try_call(name, number, 1, ctypes.byref(context), 0, 0, 0, 0)
)");
  ExpectAll(findings, {"ENOSYS"}, 6);
}

// The host counts them for everybody.
TEST_F(ConfinementKernelTest, TerminalsAreFew) {
  const Findings findings = Ask(R"(
held = []
def open_many():
    while len(held) < 1000:
        held.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))
attempt('many', open_many)
print(f'held={len(held)}')
)");
  EXPECT_EQ(findings, (Findings{{"many", "ENOSPC"}, {"held", "128"}}));
  EXPECT_EQ(supervisor_.Exec(cell_, {"tty"}, {.terminal = true}).out, "/dev/pts/0\r\n");
}

// A filter that knows 64-bit numbers only would let these through. Where the machine has none, the
// instruction ends the process by itself.
TEST_F(ConfinementKernelTest, SystemCallsOf32BitsKill) {
  const ExecResult result = supervisor_.Python(cell_, R"(
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b8140000' '00cd80c3'))  # mov eax, 20 (getpid); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print('start', flush=True)
print(ctypes.CFUNCTYPE(ctypes.c_long)(address)())
)");
  EXPECT_EQ(result.out, "start\n");
  EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << result.ToString();
  if (WhyNo32BitCalls().empty()) {
    EXPECT_EQ(result.outcome.signal(), SIGSYS);
  } else {
    EXPECT_TRUE(result.outcome.signal() == SIGSYS || result.outcome.signal() == SIGSEGV)
        << result.ToString() << "; this machine: " << WhyNo32BitCalls();
  }
}

TEST_F(ConfinementKernelTest, SystemCallsOfX32AreNotThere) {
  const Findings findings = Ask(R"(
x32 = 0x40000000
for name, number in {'getpid': 39, 'socket': 41, 'unshare': 272, 'ptrace': 521, 'mount': 165}.items():
    try_call(name, x32 | number, 0, 0, 0, 0, 0)
)");
  ExpectAll(findings, {"ENOSYS"}, 5);
}

TEST_F(ConfinementKernelTest, OnlyOrdinarySocketsAreMade) {
  const Findings findings = Ask(R"(
refused = {'packet': (17, 3, 0), 'vsock': (40, 1, 0), 'alg': (38, 5, 0), 'key': (15, 3, 2),
           'xdp': (44, 3, 0), 'rds': (21, 5, 0), 'tipc': (30, 5, 0), 'can': (29, 3, 1),
           'bluetooth': (31, 3, 1), 'nfc': (39, 5, 0), 'smc': (43, 1, 0), 'qipcrtr': (42, 2, 0),
           'ax25': (3, 5, 0), 'appletalk': (5, 2, 0), 'ieee802154': (36, 3, 0),
           'raw': (2, 3, 1), 'raw6': (10, 3, 58), 'raw_cloexec': (2, 3 | 0o2000000, 255),
           'mptcp': (2, 1, 262), 'sctp': (2, 1, 132), 'packet_of_inet': (2, 10, 0),
           'generic': (16, 3, 16), 'netfilter': (16, 3, 12), 'uevent': (16, 3, 15),
           'xfrm': (16, 3, 6), 'sock_diag': (16, 3, 4)}
for name, arguments in refused.items():
    try_call(name, 41, *arguments)
try_call('pair_inet', 53, 2, 1, 0, (ctypes.c_int * 2)())
)");
  ExpectAll(findings, {"EPERM"}, 27);
  // As a kernel without auditing does, or useradd would not go on.
  ExpectAll(Ask("try_call('audit', 41, 16, 3, 9)\n"), {"EPROTONOSUPPORT"}, 1);
  const Findings allowed = Ask(R"(
for name, arguments in {'tcp': (2, 1, 0), 'udp6': (10, 2, 0), 'unix': (1, 1, 0),
                        'unix_packets': (1, 5, 0), 'route': (16, 3, 0)}.items():
    try_call(name, 41, *arguments)
try_call('pair', 53, 1, 2, 0, (ctypes.c_int * 2)())
)");
  ExpectAll(allowed, {"ok"}, 6);
}

TEST_F(ConfinementKernelTest, PrivilegesOfOldAreGone) {
  const Findings findings = Ask(R"(
attempt('setuid', lambda: os.setuid(0))
attempt('setgid', lambda: os.setgid(0))
attempt('setgroups', lambda: os.setgroups([0]))
attempt('nice', lambda: os.nice(-5))
attempt('real_time', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
room = (ctypes.c_uint64 * 2)(1 << 62, 1 << 62)
try_call('mlock_limit', 160, 8, room)
try_call('files_limit', 160, 7, room)
try_call('core_limit', 160, 4, room)
attempt('chown', lambda: (open('f', 'w').close(), os.chown('f', 0, 0)))
)");
  EXPECT_EQ(findings.at("setuid"), "EINVAL");  // no such user in this namespace
  EXPECT_EQ(findings.at("setgid"), "EINVAL");
  EXPECT_EQ(findings.at("setgroups"), "EPERM");
  EXPECT_EQ(findings.at("chown"), "EINVAL");
  for (const std::string name : {"real_time", "mlock_limit", "files_limit", "core_limit"}) {
    EXPECT_EQ(findings.at(name), "EPERM") << name;
  }
  EXPECT_TRUE(IsRefusal(findings.at("nice")));
}

TEST_F(ConfinementKernelTest, SetUserIdProgramsOfTheHostGainNothing) {
  const ExecResult result = supervisor_.Shell(
      cell_,
      "for f in $(find /usr/bin -perm -4000); do test -u $f && echo $f; done; id -u; su -c id");
  EXPECT_NE(result.out.find("1000\n"), std::string::npos) << result.ToString();
  EXPECT_EQ(result.out.find("uid=0"), std::string::npos) << result.ToString();
  EXPECT_EQ(supervisor_.Shell(cell_, "findmnt -n -o OPTIONS /usr || cat /proc/self/mounts")
                    .out.find("nosuid") == std::string::npos,
            false);
}

}  // namespace
}  // namespace odyssey::testing
