// Who a cell's processes are: seen from inside, and from the host, which cannot be fooled.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "policy/plan/kernel_memory.h"
#include "tests/integration/cell_probe.h"
#include "tests/integration/inheritance.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kNoCapabilities[] = "0000000000000000";
constexpr const char* kNamespaces[] = {"pid", "mnt", "net", "ipc", "uts", "cgroup", "user"};

class ConfinementIdentityTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { umask(0); }
  static void TearDownTestSuite() { umask(022); }

  ConfinementIdentityTest() {
    info_ = *supervisor_.Prepare(SupervisorHarness::Request("identity"));
    cell_ = info_.cell_id();
  }

  static std::string Namespace(pid_t pid, const std::string& name) {
    std::error_code error;
    return fs::read_symlink("/proc/" + std::to_string(pid) + "/ns/" + name, error).string();
  }

  // How many processes have our session keyring: each holds a reference.
  int KeyringUses() const {
    char id[16];
    snprintf(id, sizeof(id), "%08lx ", inheritance_.keyring());
    for (const std::string& line : Lines(Slurp("/proc/keys"))) {
      if (line.rfind(id, 0) != 0) continue;
      std::istringstream words(line.substr(sizeof("00000000")));
      std::string flags;
      int uses = -1;
      words >> flags >> uses;
      return uses;
    }
    return -1;
  }

  // "" if it is closed.
  static std::string Descriptor(pid_t pid, int fd) {
    std::error_code error;
    const std::string link = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
    return fs::read_symlink(link, error).string();
  }

  // The bits of a "Sig…" line of its status.
  static uint64_t Signals(pid_t pid, const std::string& field) {
    return std::stoull(StatusField(pid, field), nullptr, 16);
  }
  static uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }

  Inheritance inheritance_;  // before the supervisor starts
  SupervisorHarness supervisor_;
  v1::CellInfo info_;
  std::string cell_;
};

TEST_F(ConfinementIdentityTest, EveryProcessOfTheCellHasTheCellsUserOnTheHost) {
  const RunningExec command(supervisor_.stub(), cell_, "sleep 1000 & (sleep 1000 &) ; wait");
  const uid_t uid = info_.host_uid();
  EXPECT_GT(uid, 65535u);  // nobody that the host knows
  ASSERT_TRUE(Eventually([&] { return SupervisorHarness::ProcessesOf(uid).size() >= 6; }));

  const std::string four = std::to_string(uid) + "\t" + std::to_string(uid) + "\t" +
                           std::to_string(uid) + "\t" + std::to_string(uid);
  const std::vector<pid_t> members = MembersOf(supervisor_, info_.host_uid());
  EXPECT_GE(members.size(), 6u);  // bubblewrap, pid 1, a slot's two, and what was started
  for (const pid_t pid : members) {
    EXPECT_EQ(StatusField(pid, "Uid"), four) << CommandName(pid);
    EXPECT_EQ(StatusField(pid, "Gid"), four) << CommandName(pid);
    EXPECT_EQ(StatusField(pid, "Groups"), "") << CommandName(pid);
  }
  // And no process of that user escaped the cell's control groups.
  for (const pid_t pid : SupervisorHarness::ProcessesOf(uid)) {
    EXPECT_NE(std::find(members.begin(), members.end(), pid), members.end()) << CommandName(pid);
  }
}

TEST_F(ConfinementIdentityTest, CellsHaveUsersOfTheirOwn) {
  const auto other = supervisor_.Prepare(SupervisorHarness::Request("other"));
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->host_uid(), info_.host_uid());
}

TEST_F(ConfinementIdentityTest, ACommandHasNoCapabilityAndCannotGainAny) {
  const ExecResult result = supervisor_.Exec(cell_, {"cat", "/proc/self/status"});
  Findings status;
  for (const std::string& line : Lines(result.out)) {
    const size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    status[line.substr(0, line.find(':'))] = value == std::string::npos ? "" : line.substr(value);
  }
  EXPECT_EQ(status["Uid"], "1000\t1000\t1000\t1000");
  EXPECT_EQ(status["Gid"], "1000\t1000\t1000\t1000");
  EXPECT_EQ(status["Groups"], "");
  for (const std::string set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(status[set], kNoCapabilities) << set;
  }
  EXPECT_EQ(status["NoNewPrivs"], "1");
  EXPECT_EQ(status["Seccomp"], "2");
}

// bubblewrap's monitor and pid 1 are the only ones that hold any, and those in the cell's own user
// namespace; whatever can run the agent's code has none.
TEST_F(ConfinementIdentityTest, TheHostSeesNoCapabilityOnWhatRunsInTheCell) {
  v1::FileOpRequest list;
  list.set_cell_id(cell_);
  list.mutable_list();
  v1::FileOpResponse listed;
  grpc::ClientContext context;
  ASSERT_TRUE(supervisor_.stub()->FileOp(&context, list, &listed).ok());  // starts the file worker

  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  for (const std::string name : {"sleep", "cell-tools"}) {
    const pid_t pid = AwaitProcess(info_.host_uid(), name);
    ASSERT_GT(pid, 0) << name;
    for (const std::string set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      EXPECT_EQ(StatusField(pid, set), kNoCapabilities) << name << " " << set;
    }
  }
  for (const pid_t pid : MembersOf(supervisor_, info_.host_uid())) {
    EXPECT_EQ(StatusField(pid, "NoNewPrivs"), "1") << CommandName(pid);
    // The monitor waits outside for pid 1 and does nothing else.
    if (CommandName(pid) == "bwrap") continue;
    EXPECT_EQ(StatusField(pid, "Seccomp"), "2") << CommandName(pid);
  }
}

TEST_F(ConfinementIdentityTest, NamespacesAreNeitherTheHostsNorAnotherCells) {
  const auto other = *supervisor_.Prepare(SupervisorHarness::Request("other"));
  const RunningExec here(supervisor_.stub(), cell_, "exec sleep 1000");
  const RunningExec there(supervisor_.stub(), other.cell_id(), "exec sleep 1000");
  const pid_t mine = AwaitProcess(info_.host_uid(), "sleep");
  const pid_t theirs = AwaitProcess(other.host_uid(), "sleep");
  ASSERT_TRUE(mine > 0 && theirs > 0);
  for (const std::string name : kNamespaces) {
    const std::set<std::string> distinct = {Namespace(getpid(), name), Namespace(mine, name),
                                            Namespace(theirs, name)};
    EXPECT_EQ(distinct.size(), 3u) << name << " " << Namespace(mine, name);
  }
}

TEST_F(ConfinementIdentityTest, ACommandHasStdinStdoutStderrAndNoOtherDescriptor) {
  const Findings inside = Probe(&supervisor_, cell_, R"(
for name in os.listdir('/proc/self/fd'):
    try:
        report(name, os.readlink('/proc/self/fd/' + name))
    except FileNotFoundError:  # of the listing itself
        pass
)");
  std::set<std::string> names;
  for (const auto& [name, value] : inside) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"0", "1", "2"}));

  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  const pid_t pid = AwaitProcess(info_.host_uid(), "sleep");
  ASSERT_GT(pid, 0);
  // Eventually: its loader has files open for a moment.
  EXPECT_TRUE(Eventually([&] {
    names.clear();
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      names.insert(entry.path().filename());
    }
    return names == std::set<std::string>{"0", "1", "2"};
  })) << ::testing::PrintToString(names);
}

TEST_F(ConfinementIdentityTest, NoProcessOfTheCellHoldsADescriptorOfTheHost) {
  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  ASSERT_GT(AwaitProcess(info_.host_uid(), "sleep"), 0);
  for (const pid_t pid : MembersOf(supervisor_, info_.host_uid())) {
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(entry.path(), error).string();
      EXPECT_EQ(target.find("/etc/shadow"), std::string::npos) << CommandName(pid);
      EXPECT_EQ(target.find(supervisor_.directory()), std::string::npos) << target;
    }
  }
}

// A command gets descriptors of its own; whatever waits or serves in the cell has none to talk
// through but a pipe for what fails.
TEST_F(ConfinementIdentityTest, NoProcessOfTheCellHasTheSupervisorsStdio) {
  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  ASSERT_GT(AwaitProcess(info_.host_uid(), "sleep"), 0);
  size_t seen = 0;
  for (const pid_t pid : MembersOf(supervisor_, info_.host_uid())) {
    if (CommandName(pid) == "sleep") continue;
    ++seen;
    EXPECT_EQ(Descriptor(pid, 0), "/dev/null") << CommandName(pid);
    EXPECT_EQ(Descriptor(pid, 1), "/dev/null") << CommandName(pid);
    EXPECT_EQ(Descriptor(pid, 2).rfind("pipe:", 0), 0u) << CommandName(pid);
  }
  EXPECT_GE(seen, 3u);  // bubblewrap, pid 1, a slot
}

// A session that had a terminal would give it to whoever opens /dev/tty.
TEST_F(ConfinementIdentityTest, NoProcessOfTheCellIsOfTheSupervisorsSession) {
  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  const pid_t sleeper = AwaitProcess(info_.host_uid(), "sleep");
  ASSERT_GT(sleeper, 0);
  for (const pid_t pid : MembersOf(supervisor_, info_.host_uid())) {
    if (CommandName(pid) == "bwrap") continue;  // it opens nothing: see above
    EXPECT_NE(getsid(pid), getsid(supervisor_.keeper())) << CommandName(pid);
    EXPECT_EQ(getsid(pid) == sleeper, pid == sleeper) << "a command leads one of its own";
  }
}

// Without a shell, which unblocks signals on its own.
TEST_F(ConfinementIdentityTest, ACommandStartsWithNoSignalBlockedOrIgnored) {
  for (int i = 0; i < 2; ++i) {  // the second one in the slot of the first
    const ExecResult result =
        supervisor_.Exec(cell_, {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
    EXPECT_EQ(result.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  }
}

TEST_F(ConfinementIdentityTest, ACommandHasTheUsualUmask) {
  EXPECT_EQ(supervisor_.Shell(cell_, "umask").out, "0022\n");
}

// SIGCHLD is what each of them waits for.
TEST_F(ConfinementIdentityTest, NoSignalThatTheSupervisorBlocksOrIgnoresIsSoInTheCell) {
  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  ASSERT_GT(AwaitProcess(info_.host_uid(), "sleep"), 0);
  ASSERT_NE(Signals(supervisor_.keeper(), "SigBlk") & Bit(SIGUSR2), 0u);
  ASSERT_NE(Signals(supervisor_.keeper(), "SigIgn") & Bit(SIGHUP), 0u);
  for (const pid_t pid : MembersOf(supervisor_, info_.host_uid())) {
    // A process that serves reads these from a descriptor; a command is born without any.
    const bool is_command = CommandName(pid) == "sleep";
    const uint64_t own = is_command ? 0 : Bit(SIGCHLD) | Bit(cell::kConnectionsSignal);
    EXPECT_EQ(Signals(pid, "SigBlk") & ~own, 0u) << CommandName(pid);
    EXPECT_EQ(Signals(pid, "SigIgn"), 0u) << CommandName(pid);
  }
}

TEST_F(ConfinementIdentityTest, TheEnvironmentIsTheCellsAndWhatWasMapped) {
  auto request = SupervisorHarness::Request("environment");
  (*request.mutable_sandbox()->mutable_env())["MAPPED"] = "value";
  const std::string cell = supervisor_.Cell(request);
  for (const char* program : {"env", "/usr/bin/env"}) {
    const std::vector<std::string> lines = Lines(supervisor_.Exec(cell, {program}).out);
    std::set<std::string> variables(lines.begin(), lines.end());
    EXPECT_EQ(std::erase_if(variables,
                            [](const std::string& variable) {
                              return variable.rfind("ODYSSEY_RUN=/cell/runs/run_", 0) == 0;
                            }),
              1u);
    // As many as the cell may use, which is no more than this machine has.
    for (const char* counted :
         {"OMP_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT", "PYTEST_XDIST_AUTO_NUM_WORKERS"}) {
      const std::string count = std::to_string(std::min(sysconf(_SC_NPROCESSORS_ONLN), 2L));
      EXPECT_EQ(variables.erase(std::string(counted) + "=" + count), 1U) << counted;
    }
    EXPECT_EQ(variables, (std::set<std::string>{
                             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                             "HOME=/cell/data/home", "TMPDIR=/cell/tmp", "XDG_DATA_HOME=/cell/data",
                             "XDG_CACHE_HOME=/cell/cache", "LANG=C.UTF-8", "SHELL=/bin/sh",
                             "USER=agent", "LOGNAME=agent", "ODYSSEY_SANDBOX=1",
                             "npm_config_fetch_retries=0", "MAPPED=value"}));
  }
}

TEST_F(ConfinementIdentityTest, NoEnvironmentOfTheHostIsInAnyProcessOfTheCell) {
  const RunningExec command(supervisor_.stub(), cell_, "exec sleep 1000");
  ASSERT_GT(AwaitProcess(info_.host_uid(), "sleep"), 0);
  ASSERT_NE(Slurp("/proc/" + std::to_string(supervisor_.keeper()) + "/environ")
                .find(Inheritance::kSecret),
            std::string::npos);
  for (const pid_t pid : MembersOf(supervisor_, info_.host_uid())) {
    const std::string environment = Slurp("/proc/" + std::to_string(pid) + "/environ");
    EXPECT_EQ(environment.find(Inheritance::kSecret), std::string::npos) << CommandName(pid);
    if (CommandName(pid) == "sleep") continue;
    EXPECT_TRUE(environment.empty() || environment == std::string("PWD=/\0", 6)) << environment;
  }
}

TEST_F(ConfinementIdentityTest, RpcHasNothingOfRoots) {
  const pid_t rpc = supervisor_.rpc();
  ASSERT_GT(rpc, 1);
  ASSERT_EQ(Descriptor(supervisor_.keeper(), Inheritance::kLeak), "/etc/shadow") << "none to lose";
  const std::string proc = "/proc/" + std::to_string(rpc);
  for (const std::string ids : {"Uid", "Gid"}) {
    EXPECT_EQ(StatusField(rpc, ids).find("0\t"), std::string::npos) << StatusField(rpc, ids);
  }
  EXPECT_EQ(StatusField(rpc, "Groups"), "");
  for (const std::string set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "SigBlk"}) {
    EXPECT_EQ(StatusField(rpc, set), kNoCapabilities) << set;
  }
  EXPECT_EQ(StatusField(rpc, "NoNewPrivs"), "1");
  EXPECT_EQ(Slurp(proc + "/environ"), "");
  struct stat environment;
  ASSERT_EQ(stat((proc + "/environ").c_str(), &environment), 0);
  EXPECT_EQ(environment.st_uid, 0u) << "not dumpable: not even its own user's to look into";
  for (const auto& entry : fs::directory_iterator(proc + "/fd")) {
    std::error_code error;
    const std::string target = fs::read_symlink(entry.path(), error).string();
    EXPECT_NE(target, "/etc/shadow");
    EXPECT_EQ(target.find(ProgramDirectory()), std::string::npos) << target;
  }
}

TEST_F(ConfinementIdentityTest, PidOneCannotBeLookedInto) {
  const Findings findings = Probe(&supervisor_, cell_, R"(
attempt('environ', lambda: open('/proc/1/environ').read())
attempt('mem', lambda: open('/proc/1/mem', 'rb').read(1))
attempt('maps', lambda: open('/proc/1/maps').read())
attempt('exe', lambda: os.readlink('/proc/1/exe'))
attempt('exe_write', lambda: open('/proc/1/exe', 'r+b'))
attempt('root', lambda: os.listdir('/proc/1/root'))
attempt('cwd', lambda: os.listdir('/proc/1/cwd'))
attempt('fd', lambda: os.listdir('/proc/1/fd'))
attempt('namespace', lambda: os.readlink('/proc/1/ns/mnt'))
)");
  ExpectAllRefused(findings, 9);
}

TEST_F(ConfinementIdentityTest, ACellHasASessionKeyringOfItsOwn) {
  constexpr int kSleepers = 50;
  const int before = KeyringUses();
  ASSERT_GT(before, 0);
  RunningExec command(
      supervisor_.stub(), cell_,
      "for i in $(seq " + std::to_string(kSleepers) + "); do sleep 1000 & done; echo up; wait");
  ASSERT_TRUE(command.ReadUntil("up"));
  // Half of them would be enough to see: what the supervisor itself starts or ends meanwhile, the
  // next cell's launcher, does have it.
  EXPECT_LT(KeyringUses(), before + kSleepers / 2);
}

TEST_F(ConfinementIdentityTest, ACommandHasAnOomScoreOfItsOwn) {
  EXPECT_EQ(supervisor_.Shell(cell_, "cat /proc/self/oom_score_adj").out, "0\n");
  EXPECT_FALSE(supervisor_.Shell(cell_, "echo -100 > /proc/self/oom_score_adj").Exited(0));
}

TEST_F(ConfinementIdentityTest, NoCoreFileIsWritten) {
  EXPECT_EQ(supervisor_.Shell(cell_, "ulimit -c; ulimit -Hc").out, "0\n0\n");
}

}  // namespace
}  // namespace odyssey::testing
