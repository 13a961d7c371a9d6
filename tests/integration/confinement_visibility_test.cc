// What a cell can see: nothing of the host's that its plan does not show.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "common/os/unique_fd.h"
#include "tests/integration/cell_probe.h"

namespace odyssey::testing {
namespace {

class ConfinementVisibilityTest : public ::testing::Test {
 protected:
  std::set<std::string> List(const std::string& directory) {
    const ExecResult result = supervisor_.Exec(cell_, {"ls", "-A", directory});
    EXPECT_TRUE(result.Exited(0)) << result.ToString();
    const std::vector<std::string> names = Lines(result.out);
    return {names.begin(), names.end()};
  }

  static void ExpectSubset(const std::set<std::string>& names, const std::set<std::string>& of) {
    for (const std::string& name : names) EXPECT_EQ(of.count(name), 1u) << name;
  }

  SupervisorHarness supervisor_;
  const std::string cell_ = supervisor_.Cell();
};

TEST_F(ConfinementVisibilityTest, TheRootHoldsWhatThePlanSaysAndNoMore) {
  ExpectSubset(List("/"),
               {".odyssey", ".proc", "bin", "cell", "dev", "etc", "lib", "lib32", "lib64", "libx32",
                "opt", "proc", "run", "sbin", "sys", "tmp", "usr", "var", "workspace"});
  EXPECT_EQ(List("/run"), std::set<std::string>());
  EXPECT_EQ(List("/var"), std::set<std::string>{"tmp"});
  EXPECT_EQ(List("/cell"), (std::set<std::string>{"cache", "data", "runs", "tmp"}));
}

TEST_F(ConfinementVisibilityTest, NothingThatNamesTheHostOrItsUsersIsThere) {
  for (const std::string path :
       {"/sys/class", "/home", "/root", "/boot", "/srv", "/mnt", "/media", "/var/lib", "/var/log",
        "/var/spool", "/etc/machine-id", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh",
        "/etc/odyssey", "/etc/environment", "/etc/mtab", "/etc/crontab"}) {
    EXPECT_TRUE(supervisor_.Shell(cell_, "test ! -e " + path).Exited(0)) << path;
  }
  EXPECT_EQ(supervisor_.Shell(cell_, "hostname; cat /etc/hostname; uname -n").out,
            "cell\ncell\ncell\n");
  EXPECT_EQ(supervisor_.Shell(cell_, "cut -d: -f1 /etc/passwd; getent passwd | wc -l").out,
            "root\nagent\nnobody\n3\n");
}

TEST_F(ConfinementVisibilityTest, SocketsAndStateOfTheDaemonsAreNotThere) {
  ASSERT_EQ(access(supervisor_.socket().c_str(), F_OK), 0);
  for (const std::string& path : {supervisor_.socket(), supervisor_.directory(),
                                  std::string("/run/odyssey"), std::string("/var/lib/odyssey")}) {
    EXPECT_TRUE(supervisor_.Shell(cell_, "test ! -e " + path).Exited(0)) << path;
  }
  EXPECT_EQ(supervisor_.Shell(cell_, "find / -xdev -type s 2>/dev/null").out, "");
}

TEST_F(ConfinementVisibilityTest, DevicesAreTheHarmlessOnes) {
  ExpectSubset(List("/dev"),
               {"console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm",
                "stderr", "stdin", "stdout", "tty", "urandom", "zero"});
  EXPECT_EQ(supervisor_.Shell(cell_, "find / -xdev -type b 2>/dev/null").out, "");
}

TEST_F(ConfinementVisibilityTest, OnlyTheOwnTerminalIsThere) {
  const UniqueFd host(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));  // one of the host's
  ASSERT_TRUE(host);
  const std::string other = supervisor_.Cell(SupervisorHarness::Request("other"));
  v1::ExecStart start;
  start.set_cell_id(other);
  for (const char* word : {"/bin/sh", "-c", "echo up; exec sleep 1000"}) start.add_argv(word);
  start.mutable_terminal()->set_rows(24);
  start.mutable_terminal()->set_columns(80);
  RunningExec command(supervisor_.stub(), start);
  ASSERT_TRUE(command.ReadUntil("up"));

  const ExecResult mine = supervisor_.Shell(cell_, "ls /dev/pts", {.terminal = true});
  EXPECT_EQ(mine.out, "0  ptmx\r\n");
}

TEST_F(ConfinementVisibilityTest, OtherProcessesAreOutOfSightAndReach) {
  const std::string other = supervisor_.Cell(SupervisorHarness::Request("other"));
  RunningExec there(supervisor_.stub(), other, "echo up; exec sleep 4321");
  ASSERT_TRUE(there.ReadUntil("up"));
  RunningExec beside(supervisor_.stub(), cell_, "echo up; exec sleep 4321");
  ASSERT_TRUE(beside.ReadUntil("up"));
  const pid_t host_process = fork();
  if (host_process == 0) {
    execl("/bin/sleep", "sleep", "4321", nullptr);
    _exit(127);
  }

  const Findings findings = Probe(&supervisor_, cell_,
                                  R"(
pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
report('pids', sorted(pids) == [1, os.getpid()])
report('seen', any(b'4321' in open(f'/proc/{pid}/cmdline', 'rb').read()
                   for pid in pids if pid != os.getpid()))
attempt('host', lambda: os.kill()" + std::to_string(host_process) +
                                      R"(, 0))
attempt('keeper', lambda: os.kill()" + std::to_string(supervisor_.keeper()) +
                                      R"(, 0))
)");
  EXPECT_EQ(
      findings,
      (Findings{{"pids", "True"}, {"seen", "False"}, {"host", "ESRCH"}, {"keeper", "ESRCH"}}));
  (void)supervisor_.Shell(cell_, "kill -KILL -1");  // everybody there is, from where we stand
  EXPECT_EQ(kill(host_process, SIGKILL), 0);
  waitpid(host_process, nullptr, 0);
  beside.Cancel();
  there.Cancel();
  EXPECT_EQ(there.Finish().outcome.kind() == v1::OUTCOME_KIND_SIGNALLED, false);
  EXPECT_EQ(beside.Finish().outcome.kind() == v1::OUTCOME_KIND_SIGNALLED, false);
}

TEST_F(ConfinementVisibilityTest, FilesOfProcAboutTheHostSayNothing) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
def read(path):
    try:
        text = open(path, 'rb').read(4096)
        report(path, 'empty' if not text else 'says something')
    except OSError as error:
        report(path, errno.errorcode[error.errno])
for name in ['kallsyms', 'keys', 'key-users', 'cmdline', 'modules', 'config.gz', 'kcore', 'kmsg',
             'timer_list', 'slabinfo', 'vmallocinfo', 'pagetypeinfo', 'sched_debug', 'latency_stats',
             'kpageflags', 'interrupts', 'iomem', 'ioports', 'locks', 'softirqs', 'swaps']:
    read('/proc/' + name)
)");
  ExpectAll(findings, {"empty", "ENOENT", "EACCES", "EPERM"}, 21);
  const Findings log = Probe(&supervisor_, cell_, R"(
try_call('syslog', 103, 3, ctypes.create_string_buffer(64), 64)
)");
  EXPECT_EQ(log.at("syslog"), "EPERM");
}

// System V and POSIX shared memory are of the cell's own IPC namespace and /dev/shm.
TEST_F(ConfinementVisibilityTest, SharedMemoryOfTheHostAndOfOtherCellsIsNotThere) {
  constexpr key_t kKey = 0x0d155e1;
  const int segment = shmget(kKey, 4096, IPC_CREAT | 0666);
  ASSERT_GE(segment, 0);
  const UniqueFd file(shm_open("/odyssey-canary", O_CREAT | O_RDWR, 0666));
  ASSERT_TRUE(file);
  const std::string other = supervisor_.Cell(SupervisorHarness::Request("other"));
  RunningExec holder(supervisor_.stub(), other,
                     "touch /dev/shm/of-the-other; ipcmk -M 4096 >/dev/null; echo up; sleep 1000");
  ASSERT_TRUE(holder.ReadUntil("up"));

  const Findings findings = Probe(&supervisor_, cell_, R"(
try_call('shmget', 29, 0x0d155e1, 4096, 0)
report('segments', len(open('/proc/sysvipc/shm').readlines()) - 1)
report('files', os.listdir('/dev/shm'))
)");
  EXPECT_EQ(findings, (Findings{{"shmget", "ENOENT"}, {"segments", "0"}, {"files", "[]"}}));
  shmctl(segment, IPC_RMID, nullptr);
  shm_unlink("/odyssey-canary");
}

TEST_F(ConfinementVisibilityTest, InterfacesOfTheHostAreNotThere) {
  EXPECT_EQ(supervisor_.Python(cell_, "import socket; print(socket.if_nameindex())").out,
            "[(1, 'lo')]\n");
}

TEST_F(ConfinementVisibilityTest, MountsSayNothingOfTheStateDirectory) {
  auto request = SupervisorHarness::Request("ephemeral");
  const std::string cell = supervisor_.Cell(request);
  const ExecResult result = supervisor_.Shell(cell, "cat /proc/self/mountinfo /proc/self/cgroup");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out.find(supervisor_.directory()), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find(cell), std::string::npos) << result.out;
}

TEST_F(ConfinementVisibilityTest, ACellSeesNothingOfAnotherCellsTree) {
  auto request = SupervisorHarness::Request("kept");
  request.set_ephemeral(false);
  const std::string other = supervisor_.Cell(request);
  ASSERT_TRUE(
      supervisor_.Shell(other, "echo x > canary; echo x > $HOME/canary; echo x > /tmp/canary")
          .Exited(0));
  EXPECT_EQ(supervisor_.Shell(cell_, "find / -name canary 2>/dev/null").out, "");
}

}  // namespace
}  // namespace odyssey::testing
