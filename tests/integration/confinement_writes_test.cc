// Where a cell can write: in the writable trees of its plan, and nowhere else, by no trick.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

class ConfinementWritesTest : public ::testing::Test {
 protected:
  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell();
};

// With uid 0 on the host, core_pattern alone runs a program of the agent's as root.
TEST_F(ConfinementWritesTest, NoFileOfProcSysCanBeOpenedForWriting) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
count = 0
for directory, _, names in os.walk('/proc/sys'):
    for name in names:
        path = directory + '/' + name
        count += 1
        try:
            os.close(os.open(path, os.O_WRONLY))
            report(path, 'ok')
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                report(path, errno.errorcode[error.errno])
report('count', count)
attempt('core_pattern', lambda: os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))
)");
  EXPECT_GT(std::stoi(findings.at("count")), 500);
  EXPECT_TRUE(IsRefusal(findings.at("core_pattern")));
  EXPECT_EQ(findings.size(), 2u);
  for (const auto& [path, value] : findings) {
    if (path[0] == '/') ADD_FAILURE() << path << ": " << value;
  }
}

TEST_F(ConfinementWritesTest, TheRestOfProcCannotBeWrittenEither) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
for name in ['sysrq-trigger', 'irq/default_smp_affinity', 'bus/pci/devices', 'mtrr', 'timer_list',
             'fs/ext4', 'acpi/wakeup', 'scsi/scsi', 'dynamic_debug/control', '1/comm',
             '1/oom_score_adj', '1/setgroups', '1/uid_map', 'self/uid_map', 'self/gid_map']:
    path = '/proc/' + name
    attempt(path, lambda: os.write(os.open(path, os.O_WRONLY), b'0'))
)");
  // Some are not in every kernel.
  ExpectAll(findings, {"EROFS", "EACCES", "EPERM", "EINVAL", "EISDIR", "ENOENT"}, 15);
  for (const std::string name : {"sysrq-trigger", "irq/default_smp_affinity", "1/comm"}) {
    const std::string& finding = findings.at("/proc/" + name);
    EXPECT_TRUE(IsRefusal(finding) || finding == "ENOENT") << name << ": " << finding;
  }
  EXPECT_TRUE(IsRefusal(findings.at("/proc/self/uid_map")));
}

TEST_F(ConfinementWritesTest, NothingIsMadeOutsideTheWritableTrees) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
for place in ['/', '/usr', '/usr/bin', '/usr/local/lib', '/usr/lib/python3/dist-packages', '/etc',
              '/etc/ssl', '/opt', '/run', '/var', '/cell', '/.odyssey', '/dev', '/dev/pts', '/proc',
              '/proc/self', '/etc/ld.so.conf.d', '/workspace/..', '/proc/self/root',
              '/proc/self/root/etc', '/proc/self/cwd/../etc', '/cell/data/../../usr']:
    if not os.path.isdir(place):
        continue
    attempt('create ' + place, lambda: os.open(place + '/new', os.O_WRONLY | os.O_CREAT, 0o644))
    attempt('mkdir ' + place, lambda: os.mkdir(place + '/new'))
    attempt('symlink ' + place, lambda: os.symlink('x', place + '/new'))
    attempt('fifo ' + place, lambda: os.mkfifo(place + '/new'))
    attempt('rename ' + place, lambda: (open('f', 'w').close(), os.rename('f', place + '/new')))
    attempt('link ' + place, lambda: os.link('f', place + '/new'))
)");
  ExpectAll(findings, {"EROFS", "EACCES", "EPERM", "ENOENT", "EXDEV"}, 100);
  for (const auto& [what, value] : findings) {
    const bool in_proc = what.find("/proc") != std::string::npos;
    EXPECT_TRUE(value != "ENOENT" || in_proc) << what;  // procfs has no such names
  }
}

TEST_F(ConfinementWritesTest, NoFileOutsideTheWritableTreesIsChanged) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
for path in ['/etc/passwd', '/etc/hosts', '/usr/bin/env', '/usr/bin/python3.11', '/.odyssey/cell-init',
             '/etc/ld.so.cache', '/usr/lib/os-release']:
    attempt('write ' + path, lambda: os.open(path, os.O_WRONLY))
    attempt('truncating ' + path, lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
    attempt('truncate ' + path, lambda: os.truncate(path, 0))
    attempt('chmod ' + path, lambda: os.chmod(path, 0o777))
    attempt('chown ' + path, lambda: os.chown(path, 1000, 1000))
    attempt('utime ' + path, lambda: os.utime(path))
    attempt('unlink ' + path, lambda: os.unlink(path))
    attempt('rename ' + path, lambda: os.rename(path, path + '.old'))
    attempt('setxattr ' + path, lambda: os.setxattr(path, 'user.x', b'x'))
    attempt('reopen ' + path, lambda: os.open('/proc/self/fd/%d' % os.open(path, os.O_RDONLY),
                                              os.O_WRONLY))
    attempt('reopen path ' + path, lambda: os.open('/proc/self/fd/%d' % os.open(path, os.O_PATH),
                                                   os.O_RDWR))
    os.path.lexists('link') and os.unlink('link')
    os.symlink(path, 'link')
    attempt('through a link ' + path, lambda: os.open('link', os.O_WRONLY))
    attempt('hard link ' + path, lambda: os.link(path, 'hard'))
for path in ['/workspace', '/cell', '/cell/data', '/tmp', '/usr']:
    attempt('move ' + path, lambda: os.rename(path, path + '.old'))
    attempt('rmdir ' + path, lambda: os.rmdir(path))
)");
  ExpectAll(findings, {"EROFS", "EACCES", "EPERM", "EXDEV", "EBUSY", "ENOTSUP", "ETXTBSY"}, 100);
}

TEST_F(ConfinementWritesTest, ProgramsOfTheCellCannotBeReplacedThroughProc) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
attempt('exe', lambda: os.open('/proc/self/exe', os.O_WRONLY))
attempt('init', lambda: os.open('/proc/1/exe', os.O_WRONLY))
)");
  ExpectAll(findings, {"EROFS", "EACCES", "EPERM", "ETXTBSY"}, 2);
}

TEST_F(ConfinementWritesTest, ControlGroupsAndModulesAreOutOfReach) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
for path in ['/sys/fs/cgroup/x', '/sys/kernel/x']:
    attempt(path, lambda: os.mkdir(path))
for path in ['/sys/kernel/uevent_helper', '/proc/sys/kernel/modprobe', '/dev/mem', '/dev/kmsg',
             '/dev/vda', '/dev/sda', '/dev/fuse', '/dev/kvm', '/dev/net/tun']:
    attempt(path, lambda: os.open(path, os.O_RDWR))
)");
  ExpectAll(findings, {"ENOENT", "EROFS", "EACCES", "EPERM"}, 11);
}

TEST_F(ConfinementWritesTest, NoDeviceNodeIsMadeAndNoSetIdBitIsSet) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
open('f', 'w').close()
fd = os.open('f', os.O_RDWR)
for bits in [0o4755, 0o2755, 0o6755]:
    attempt(f'chmod {bits:o}', lambda: os.chmod('f', bits))
    attempt(f'fchmod {bits:o}', lambda: os.fchmod(fd, bits))
    try_call(f'fchmodat {bits:o}', 268, -100, b'f', bits)
    attempt(f'open {bits:o}', lambda: os.open('g', os.O_CREAT | os.O_WRONLY, bits))
    try_call(f'plain_open {bits:o}', 2, b'g', 0o101, bits)
    try_call(f'creat {bits:o}', 85, b'g', bits)
    try_call(f'tmpfile {bits:o}', 257, -100, b'.', 0o20200002, bits)
    try_call(f'mknod {bits:o}', 133, b'g', 0o100000 | bits, 0)
    try_call(f'mknodat {bits:o}', 259, -100, b'g', 0o100000 | bits, 0)
    try_call(f'mkdir {bits:o}', 83, b'd', bits)
for kind, name in [(0o060000, 'block'), (0o020000, 'char')]:
    attempt(name, lambda: os.mknod(name, kind | 0o666, os.makedev(259, 0)))
    attempt(name + ' whiteout', lambda: os.mknod(name, kind | 0o666, 0))
attempt('capability', lambda: os.setxattr('f', 'security.capability', bytes.fromhex(
    '0100000200000000000000000000000000000000')))
)");
  ExpectAll(findings, {"EPERM"}, 35);
  const Findings newer = Probe(&supervisor_, cell_, R"(
open('f', 'w').close()
how = (ctypes.c_uint64 * 3)(0o101, 0o4755, 0)
try_call('fchmodat2', 452, -100, b'f', 0o4755, 0)
try_call('openat2', 437, -100, b'g', how, 24)
)");
  ExpectAll(newer, {"EPERM", "ENOSYS"}, 2);
  EXPECT_EQ(supervisor_.Shell(cell_, "find . -perm /6000").out, "");
}

TEST_F(ConfinementWritesTest, ReadOnlyModeProtectsTheWorkspaceAndLeavesTheRest) {
  auto request = SupervisorHarness::Request("read-only");
  request.mutable_sandbox()->set_mode(policy::v1::MODE_READ_ONLY);
  const std::string cell = supervisor_.Cell(request);
  const Findings refused = Probe(&supervisor_, cell, R"(
attempt('create', lambda: os.open('/workspace/x', os.O_WRONLY | os.O_CREAT))
attempt('mkdir', lambda: os.mkdir('/workspace/d'))
attempt('symlink', lambda: os.symlink('x', '/workspace/l'))
attempt('chmod', lambda: os.chmod('/workspace', 0o777))
attempt('tmpfile', lambda: os.open('/workspace', os.O_TMPFILE | os.O_RDWR))
attempt('self', lambda: os.open('/proc/self/cwd/x', os.O_WRONLY | os.O_CREAT))
)");
  ExpectAllRefused(refused, 6);
  EXPECT_TRUE(supervisor_
                  .Shell(cell,
                         "touch $HOME/x $TMPDIR/x $XDG_CACHE_HOME/x $XDG_DATA_HOME/x "
                         "/cell/runs/x /tmp/x /dev/shm/x && ls /workspace")
                  .Exited(0));

  v1::FileOpRequest write;
  write.set_cell_id(cell);
  write.mutable_write()->set_path("x");
  v1::FileOpResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(supervisor_.stub()->FileOp(&context, write, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(ConfinementWritesTest, RestagingReadOnlyEndsWhatWasWritable) {
  auto request = SupervisorHarness::Request("kept");
  request.set_ephemeral(false);
  ASSERT_TRUE(supervisor_.Shell(supervisor_.Cell(request), "echo data > f").Exited(0));
  request.mutable_sandbox()->set_mode(policy::v1::MODE_READ_ONLY);
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(supervisor_.Shell(cell, "cat f").out, "data\n");
  EXPECT_FALSE(supervisor_.Shell(cell, "echo more >> f").Exited(0));
}

// Files in memory are on no mount that could be noexec, and Landlock does not look at them.
TEST_F(ConfinementWritesTest, FilesInMemoryAreNotExecuted) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
def execute(flags):
    fd = os.memfd_create('x', flags)
    os.write(fd, open('/bin/true', 'rb').read())
    pid = os.fork()
    if pid == 0:
        try:
            os.execve(f'/proc/self/fd/{fd}', ['x'], {})
        except OSError as error:
            os._exit(error.errno)
    failure = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if failure:
        raise OSError(failure, 'execve')
def load():
    fd = os.memfd_create('x', 8)
    os.write(fd, open('/bin/true', 'rb').read())
    os.set_inheritable(fd, True)
    os.spawnv(os.P_WAIT, '/lib64/ld-linux-x86-64.so.2', ['ld.so', f'/proc/self/fd/{fd}'])
for flags in [0, 1, 2, 8, 16]:
    attempt(f'memfd {flags}', lambda: execute(flags))
attempt('memfd loaded', load)
fd = os.open('/bin/true', os.O_RDONLY)
try_call('execveat', 322, fd, b'', 0, 0, 0x1000)
)");
  ExpectAll(findings, {"EPERM", "EACCES"}, 7);
}

// Neither a file that the agent wrote nor the loader with that file as its argument.
TEST_F(ConfinementWritesTest, WhatTheAgentWroteIsNotExecuted) {
  for (const std::string place :
       {"/workspace", "/tmp", "/cell/tmp", "/cell/data/home", "/dev/shm"}) {
    const ExecResult result =
        supervisor_.Shell(cell_, "cp /bin/true " + place + "/mine && chmod +x " + place +
                                     "/mine && " + place + "/mine");
    EXPECT_TRUE(result.Exited(126)) << place << ": " << result.ToString();
    EXPECT_FALSE(
        supervisor_.Exec(cell_, {"/lib64/ld-linux-x86-64.so.2", place + "/mine"}).Exited(0))
        << place;
  }
}

}  // namespace
}  // namespace odyssey::testing
