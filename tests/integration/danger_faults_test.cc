// danger_full_access when something goes wrong: an rpc that is not what it was, and kill -9 of any
// one process. Nothing of a command stays, and nobody gets what was not granted.

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <memory>

#include "common/os/message_socket.h"
#include "supervisor/wire/cell_wire.h"
#include "supervisor/wire/host_wire.h"
#include "supervisor/wire/root_wire.h"
#include "tests/integration/danger_fixture.h"

namespace odyssey::testing {
namespace {

using ::testing::HasSubstr;

// ── A hostile rpc ───────────────────────────────────────────────────────────────────────────────

// Connects to the host runner as `uid`.
UniqueFd ConnectAs(uid_t uid, const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(seteuid(uid), 0);
  const int done = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  EXPECT_EQ(seteuid(0), 0);
  return done == 0 ? std::move(fd) : UniqueFd();
}

class HostileRpcTest : public DangerTest {
 protected:
  std::string Socket() const { return wire::HostSocket(supervisor_.directory() + "/run"); }
  static wire::HostPlan Plan(uint32_t uid) {
    return {.cell_id = "cel_hostile",
            .uid = uid,
            .workspace = "/tmp",
            .memory_bytes = 1 << 30,
            .cpu_millis = 1000,
            .pids = 100};
  }
  static std::string Launch(const wire::HostPlan& plan) {
    return wire::Encode(wire::Launch{.request = 1, .plan = wire::Encode(plan)});
  }
  static wire::Launched Ask(const UniqueFd& fd, uint32_t uid) {
    wire::Launched launched;
    EXPECT_TRUE(SendMessage(fd.get(), Launch(Plan(uid))).ok());
    const auto answer = ReceiveMessage(fd.get());
    EXPECT_TRUE(answer.ok() && answer->fds.empty());
    EXPECT_TRUE(answer.ok() && wire::Decode(answer->bytes, &launched).ok());
    return launched;
  }
  UniqueFd ConnectAsRpc(wire::HostHello* hello) const {
    UniqueFd fd = ConnectAs(kRpcUid, Socket());
    EXPECT_TRUE(fd);
    const auto message = ReceiveMessage(fd.get());
    EXPECT_TRUE(message.ok() && wire::Decode(message->bytes, hello).ok());
    return fd;
  }
  UniqueFd ConnectAsRpc() const {
    wire::HostHello hello;
    return ConnectAsRpc(&hello);
  }
};

TEST_F(HostileRpcTest, NobodyElseIsHeard) {
  EXPECT_FALSE(ConnectAs(kGames, Socket())) << "not even a granted user";
  const UniqueFd root = ConnectAs(0, Socket());
  EXPECT_EQ(ReceiveMessage(root.get()).status().code(), Code::kUnavailable) << "told nothing";
}

TEST_F(HostileRpcTest, GetsNoUserWhomTheFileDoesNotName) {
  const UniqueFd fd = ConnectAsRpc();
  for (const uint32_t uid : {kDaemon, 2u, 4242u}) {
    EXPECT_FALSE(Ask(fd, uid).status.ok()) << uid;
  }
  EXPECT_TRUE(ChildrenOf(Runner()).empty());
}

TEST_F(HostileRpcTest, OneConversationMoreThanThereMayBeIsToldSo) {
  std::vector<UniqueFd> all;
  wire::HostHello hello;
  for (int i = 0; i < 64; ++i) {
    all.push_back(ConnectAsRpc(&hello));
    EXPECT_EQ(hello.error, "") << i;
  }
  const UniqueFd refused = ConnectAsRpc(&hello);
  EXPECT_THAT(hello.error, HasSubstr("64 cells on the host"));
  EXPECT_EQ(ReceiveMessage(refused.get()).status().code(), Code::kUnavailable);
  all.pop_back();
  EXPECT_TRUE(Eventually([&] {
    all.push_back(ConnectAsRpc(&hello));
    if (!hello.error.empty()) all.pop_back();
    return hello.error.empty();
  }));
}

TEST_F(HostileRpcTest, GetsNoUidOfACellEvenIfTheFileNamesIt) {
  const auto cell = supervisor_.Prepare(SupervisorHarness::Request("confined"));
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  std::ofstream(supervisor_.danger_grant_file()) << cell->host_uid() << "\n";
  const wire::Launched answer = Ask(ConnectAsRpc(), cell->host_uid());
  EXPECT_EQ(answer.status.code(), Code::kPermissionDenied);
  EXPECT_THAT(answer.status.message(), HasSubstr("Odyssey's own"));
}

// An rpc that wants slots and sends nothing to them.
class WaitingTest : public HostileRpcTest {
 protected:
  void LaunchWith(uint32_t pids) {
    rpc_ = ConnectAsRpc();
    wire::HostPlan plan = Plan(kGames);
    plan.pids = pids;
    ASSERT_TRUE(SendMessage(rpc_.get(), Launch(plan)).ok());
    auto launched = ReceiveMessage(rpc_.get());
    ASSERT_TRUE(launched.ok() && launched->fds.size() == 1);
    cell_ = std::move(launched->fds[0]);
  }
  Message AskForSlot() {
    EXPECT_TRUE(SendMessage(cell_.get(), cell::EncodeEmpty(cell::MessageType::kWantSlot)).ok());
    auto answer = ReceiveMessage(cell_.get());
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return answer.ok() ? std::move(*answer) : Message();
  }

  UniqueFd rpc_, cell_;
};

TEST_F(WaitingTest, AProcessOfTheOwnersHasNoneOfTheSupervisorsStdio) {
  LaunchWith(100);
  const Message slot = AskForSlot();
  ASSERT_TRUE(Eventually([] { return Owned().size() == 1; }));
  for (const char* fd : {"0", "1", "2"}) {
    std::error_code error;
    const fs::path link = fs::path("/proc") / std::to_string(Owned()[0]) / "fd" / fd;
    EXPECT_EQ(fs::read_symlink(link, error), "/dev/null") << fd;
  }
}

// A group's limit on processes refuses forks, and lets in who was forked outside.
TEST_F(WaitingTest, MoreProcessesThanTheCellMayHaveAreRefused) {
  LaunchWith(3);
  std::vector<Message> slots;
  for (int i = 0; i < 3; ++i) {
    slots.push_back(AskForSlot());
    EXPECT_EQ(slots.back().fds.size(), 2u) << i;
  }
  const Message refused = AskForSlot();
  cell::CellError why;
  ASSERT_TRUE(cell::Decode(refused.bytes, &why).ok());
  EXPECT_EQ(why.status.message(), "as many processes as the cell may have");
  EXPECT_TRUE(Eventually([] { return Owned().size() == 3; }));
}

// It would be another cell's processes that nobody knows any more.
TEST_F(WaitingTest, ASecondLaunchEndsTheRunner) {
  LaunchWith(100);
  const Message slot = AskForSlot();
  const pid_t runner = Runner();
  ASSERT_TRUE(SendMessage(rpc_.get(), Launch(Plan(kGames))).ok());
  EXPECT_TRUE(Eventually([&] { return CommandName(runner).empty(); })) << supervisor_.Log();
  EXPECT_TRUE(Eventually(NobodyLeft));
  EXPECT_THAT(supervisor_.Log(), HasSubstr("a second launch"));
}

struct Breach {
  const char* name;
  std::string bytes;
  bool with_descriptor = false;
};

class BreachTest : public HostileRpcTest, public ::testing::WithParamInterface<int> {
 protected:
  static Breach Make(int number) {
    wire::HostPlan anywhere = Plan(kGames);
    anywhere.workspace = "/tmp/..";
    wire::HostPlan unlimited = Plan(kGames);
    unlimited.pids = 0;
    const std::vector<Breach> breaches = {
        {"uid 0", Launch(Plan(0))},
        {"rpc's own uid", Launch(Plan(kRpcUid))},
        {"a workspace that climbs", Launch(anywhere)},
        {"no limit", Launch(unlimited)},
        {"rubbish", "\xff\xff\xff\xff"},
        {"a plan of root's", wire::Encode(wire::Launch{.request = 1, .plan = "plan"})},
        {"an answer", wire::Encode(wire::Gone{.cell_id = "cel_hostile"})},
        {"trailing bytes", Launch(Plan(kGames)) + "x"},
        {"a descriptor", Launch(Plan(kGames)), true},
    };
    return breaches.at(static_cast<size_t>(number));
  }
};

TEST_P(BreachTest, EndsTheRunnerAndRpcAndEveryCell) {
  const Breach breach = Make(GetParam());
  const std::string cell = Cell();
  RunningExec exec(supervisor_.stub(), cell, "echo here; sleep 999");
  ASSERT_TRUE(exec.ReadUntil("here\n"));
  const pid_t runner = Runner(), rpc = supervisor_.rpc();

  const UniqueFd fd = ConnectAsRpc();
  const std::vector<int> fds = breach.with_descriptor ? std::vector<int>{0} : std::vector<int>{};
  ASSERT_TRUE(SendMessage(fd.get(), breach.bytes, fds).ok());
  const auto ended = [&] { return CommandName(runner).empty() && CommandName(rpc).empty(); };
  EXPECT_TRUE(Eventually(ended)) << breach.name << supervisor_.Log();
  EXPECT_TRUE(Eventually(NobodyLeft)) << breach.name;
  EXPECT_TRUE(EndedUnderIt(exec.Finish()));
  EXPECT_TRUE(Eventually([&] { return GroupsOf(runner).empty(); }));
  EXPECT_THAT(supervisor_.Log(), HasSubstr("odyssey-host-runner: "));
}

INSTANTIATE_TEST_SUITE_P(Ways, BreachTest, ::testing::Range(0, 9));

// ── kill -9 ─────────────────────────────────────────────────────────────────────────────────────

class KilledDangerTest : public DangerTest {
 protected:
  void SetUp() override {
    DangerTest::SetUp();
    exec_ = std::make_unique<RunningExec>(supervisor_.stub(), Cell(),
                                          std::string(kScatter) + "sleep 905");
    ASSERT_TRUE(exec_->ReadUntil("running\n"));
    ASSERT_TRUE(Eventually([] { return Sleepers() == 5; }));
    runner_ = Runner();
    ASSERT_GT(runner_, 1);
  }
  void ExpectNothingLeft() {
    EXPECT_TRUE(EndedUnderIt(exec_->Finish()));
    EXPECT_TRUE(Eventually(NobodyLeft)) << Owned().size();
    EXPECT_TRUE(Eventually([&] { return GroupsOf(runner_).empty(); }));
  }
  // The supervisor may be on its way down, or up again.
  void ExpectWorksAgain() {
    std::string cell;
    const auto prepared = [&] {
      const auto info = supervisor_.Prepare(Request("again"));
      cell = info.ok() ? info->cell_id() : "";
      return info.ok();
    };
    ASSERT_TRUE(Eventually(prepared)) << supervisor_.Log();
    const ExecResult again = supervisor_.Shell(cell, "id -u");
    EXPECT_EQ(again.out, "5\n") << again.ToString() << supervisor_.Log();
  }

  std::unique_ptr<RunningExec> exec_;
  pid_t runner_ = -1;
};

TEST_F(KilledDangerTest, KillingTheRunnerLeavesNothingAndAnotherTakesItsPlace) {
  ASSERT_TRUE(SignalProcess(runner_, SIGKILL));
  ExpectNothingLeft();
  ExpectWorksAgain();
  EXPECT_NE(Runner(), runner_);
}

TEST_F(KilledDangerTest, KillingRpcLeavesNothing) {
  ASSERT_TRUE(SignalProcess(supervisor_.rpc(), SIGKILL));
  ExpectNothingLeft();
  ExpectWorksAgain();
}

TEST_F(KilledDangerTest, KillingTheWorkerLeavesNothing) {
  ASSERT_TRUE(SignalProcess(supervisor_.worker(), SIGKILL));
  ExpectNothingLeft();
  ExpectWorksAgain();
}

TEST_F(KilledDangerTest, KillingTheKeeperLeavesNothing) {
  supervisor_.KillKeeper();
  ExpectNothingLeft();
  EXPECT_TRUE(Eventually([&] { return CommandName(runner_).empty(); }));
  ASSERT_TRUE(Eventually([&] { return supervisor_.Restart(); })) << supervisor_.Log();
  ExpectWorksAgain();
}

// The same user's other processes are within a command's reach; Odyssey's are not.
TEST_F(KilledDangerTest, ACommandKillsWhatTheUserMayAndNothingOfOdysseys) {
  const std::string cell = supervisor_.Cell(Request("second"));
  EXPECT_TRUE(supervisor_.Shell(cell, "kill -9 -1; true").Exited(0));
  const ExecResult killed = exec_->Finish();
  EXPECT_EQ(killed.outcome.kind(), v1::OUTCOME_KIND_SIGNALLED) << killed.ToString();
  EXPECT_EQ(Runner(), runner_);
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
}

// Whoever removed the groups of a dead runner would be too late for what runs meanwhile.
TEST_F(DangerTest, ACommandDiesWithTheRunnerWhateverTheKeeperDoes) {
  RunningExec exec(supervisor_.stub(), Cell(), "echo here; exec sleep 999");
  ASSERT_TRUE(exec.ReadUntil("here\n"));
  const pid_t keeper = supervisor_.keeper(), runner = Runner();
  ASSERT_TRUE(SignalProcess(keeper, SIGSTOP));
  EXPECT_TRUE(SignalProcess(runner, SIGKILL));
  // The keeper, whose they are now, reaps nothing.
  const auto dead = [](pid_t pid) { return StatusOf(pid).find("State:\tZ") != std::string::npos; };
  EXPECT_TRUE(Eventually([&] {
    const std::vector<pid_t> pids = Owned();
    return std::all_of(pids.begin(), pids.end(), dead);
  }));
  EXPECT_TRUE(SignalProcess(keeper, SIGCONT));
  EXPECT_TRUE(EndedUnderIt(exec.Finish()));
}

// A dead process that somebody traces is the tracer's to reap before it is ours.
TEST_F(DangerTest, WhoTracesACommandDoesNotHoldTheEndOfTheCellUp) {
  const std::string cell = Cell();
  RunningExec exec(supervisor_.stub(), cell, std::string(kScatter) + "sleep 905");
  ASSERT_TRUE(exec.ReadUntil("running\n"));
  ASSERT_TRUE(Eventually([] { return Sleepers() == 5; }));
  const std::vector<pid_t> traced = Owned();
  for (const pid_t pid : traced) ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0) << pid;
  EXPECT_TRUE(supervisor_.Remove(cell).ok());
  EXPECT_TRUE(GroupsOf(Runner()).empty());
  EXPECT_EQ(Owned(), traced) << "they were held";
  for (const pid_t pid : traced) EXPECT_EQ(waitpid(pid, nullptr, __WALL), pid);
  EXPECT_TRUE(EndedUnderIt(exec.Finish()));
  EXPECT_TRUE(supervisor_.Shell(Cell(), "true").Exited(0));
}

TEST_F(DangerTest, NobodyButTheKeeperStartsARunner) {
  const std::string run = supervisor_.directory() + "/another";
  fs::create_directory(run);
  const std::string program = ProgramDirectory() + "/odyssey-host-runner";
  const pid_t child = fork();
  if (child == 0) {
    execl(program.c_str(), program.c_str(), "--state", run.c_str(), "--run", run.c_str(),
          "--danger-grants", supervisor_.danger_grant_file().c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  EXPECT_TRUE(Eventually([&] { return waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_FALSE(fs::exists(run + "/host.sock"));
  if (status == -1) kill(child, SIGKILL);
}

}  // namespace
}  // namespace odyssey::testing
