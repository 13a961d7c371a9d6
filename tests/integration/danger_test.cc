// danger_full_access: commands on the host, for those alone whom everybody concerned allowed it:
// the operator's grant file, the operator's ceiling, and the person's own word.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/integration/audit_reader.h"
#include "tests/integration/danger_fixture.h"

namespace odyssey::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// ── What a command gets ─────────────────────────────────────────────────────────────────────────

TEST_F(DangerTest, RunsAsTheOwnerWithNoOtherGroupAndNoCapability) {
  ASSERT_THAT(StatusOf(Runner()), HasSubstr("\nGroups:\t4 54321 \n")) << "there are some to drop";
  const ExecResult result = supervisor_.Shell(
      Cell(), "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; pwd");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out,
            "5\n60\n60\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
            "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
            "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t0\n" +
                Work() + "\n");
}

TEST_F(DangerTest, RunsInTheHostsNamespacesInAGroupOfItsOwn) {
  const ExecResult result =
      supervisor_.Shell(Cell(),
                        "for n in pid mnt net ipc uts user; do readlink /proc/self/ns/$n; done; "
                        "cat /proc/self/cgroup");
  std::string hosts;
  for (const char* name : {"pid", "mnt", "net", "ipc", "uts", "user"}) {
    hosts += fs::read_symlink(std::string("/proc/self/ns/") + name).string() + "\n";
  }
  EXPECT_THAT(result.out, HasSubstr(hosts));
  EXPECT_THAT(result.out, HasSubstr("/odyssey-" + std::to_string(Runner()) + "-1/exec-"));
}

TEST_F(DangerTest, TheEnvironmentIsTheOwnersAndMadeFromNothing) {
  const std::string cell = Cell();
  for (const char* program : {"env", "/usr/bin/env"}) {
    const ExecResult result = supervisor_.Exec(cell, {program});
    EXPECT_THAT(result.out, AllOf(HasSubstr("HOME=/usr/games\n"), HasSubstr("USER=games\n"),
                                  Not(HasSubstr("ODYSSEY"))));
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 6) << result.out;
  }
}

TEST_F(DangerTest, InheritsNothingOfTheSupervisors) {
  const std::string cell = Cell();
  // Without a shell, which unblocks signals on its own.
  const ExecResult signals =
      supervisor_.Exec(cell, {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
  EXPECT_EQ(signals.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  const ExecResult shell =
      supervisor_.Shell(cell, "cat /proc/self/oom_score_adj; ulimit -Sc; ulimit -Hc");
  EXPECT_EQ(shell.out, "0\n0\n0\n");
  const ExecResult python = supervisor_.Python(cell, R"(
import ctypes, os
print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))
print(ctypes.CDLL(None).syscall(250, 0, -3, 0))  # KEYCTL_GET_KEYRING_ID of the session
)");
  // 0 to 2, and the one that lists them.
  EXPECT_THAT(python.out, HasSubstr("[0, 1, 2, 3]\n")) << python.ToString();
  EXPECT_THAT(python.out, Not(HasSubstr(std::to_string(inheritance_.keyring()) + "\n")));
}

TEST_F(DangerTest, TheRunnerItselfHasLittleOfRootsRights) {
  const std::string status = StatusOf(Runner());
  // CAP_DAC_OVERRIDE, CAP_KILL, CAP_SETGID and CAP_SETUID.
  EXPECT_THAT(status, HasSubstr("\nCapPrm:\t00000000000000e2\nCapEff:\t00000000000000e2\n"
                                "CapBnd:\t0000000000000000\n"));
  EXPECT_THAT(status, HasSubstr("\nNoNewPrivs:\t1\n"));
}

TEST_F(DangerTest, ASetUidProgramGivesNothing) {
  const std::string program = Work() + "/id";
  fs::copy_file("/usr/bin/id", program);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(supervisor_.Exec(Cell(), {program, "-u"}).out, "5\n");
}

TEST_F(DangerTest, GivesATerminal) {
  const ExecResult result = supervisor_.Shell(Cell(), "tty; stty size", {.terminal = true});
  EXPECT_THAT(result.out, AllOf(HasSubstr("/dev/pts/"), HasSubstr("24 80")));
}

// What nobody would read is said, and not dropped.
TEST_F(DangerTest, StdinOfACommandThatHasNoneIsRefused) {
  RunningExec exec(supervisor_.stub(), Cell(), "echo up; exec sleep 1000");
  ASSERT_TRUE(exec.ReadUntil("up"));
  v1::ExecRequest request;
  request.set_stdin("text");
  exec.Send(request);
  const Status refused = exec.Finish().status;
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("start.open_stdin"));
}

TEST_F(DangerTest, FilesAreReadAndWrittenAsTheOwner) {
  const std::string cell = Cell();
  v1::FileOpRequest write;
  write.mutable_write()->set_path("notes/a.txt");
  write.mutable_write()->set_content("hello");
  ASSERT_TRUE(FileOp(write, cell).ok());
  struct stat info;
  ASSERT_EQ(stat((Work() + "/notes/a.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kGames);
  EXPECT_EQ(info.st_gid, kGamesGroup);

  EXPECT_TRUE(Read(cell, "/etc/passwd").ok()) << "every place of the host";
  EXPECT_EQ(Read(cell, "/etc/shadow").status().code(), Code::kPermissionDenied);
  write.mutable_write()->set_path("/etc/odyssey-test");
  EXPECT_EQ(FileOp(write, cell).status().code(), Code::kPermissionDenied);
  EXPECT_FALSE(fs::exists("/etc/odyssey-test"));
}

TEST_F(DangerTest, SaysUnconfinedWhereverACellIsDescribed) {
  const auto info = supervisor_.Prepare(Request());
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->mode(), pv1::MODE_DANGER_FULL_ACCESS);
  EXPECT_EQ(info->host_uid(), kGames);
  ASSERT_GT(info->layers_size(), 0);
  EXPECT_FALSE(info->layers(0).in_force());
  EXPECT_THAT(info->layers(0).detail(), HasSubstr("UNCONFINED"));

  v1::DescribeCellRequest request;
  request.set_cell_id(info->cell_id());
  v1::DescribeCellResponse described;
  grpc::ClientContext context;
  ASSERT_TRUE(supervisor_.stub()->DescribeCell(&context, request, &described).ok());
  EXPECT_THAT(described.plan(0), HasSubstr("NOTHING CONFINES THIS"));
}

TEST_F(DangerTest, GetInfoSaysForWhom) {
  v1::GetInfoResponse info;
  grpc::ClientContext context;
  ASSERT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
  const auto feature =
      std::find_if(info.features().begin(), info.features().end(),
                   [](const v1::Feature& f) { return f.name() == "danger_full_access"; });
  ASSERT_NE(feature, info.features().end());
  EXPECT_TRUE(feature->in_force());
  EXPECT_THAT(feature->detail(), HasSubstr("games"));
}

TEST_F(DangerTest, EveryCommandIsAudited) {
  const std::string cell = Cell();
  EXPECT_TRUE(supervisor_.Shell(cell, "exit 3").Exited(3));
  const AuditRecord grant = AwaitRecords(supervisor_, "grant")[0];
  EXPECT_THAT(grant.dump(), AllOf(HasSubstr("danger_full_access"), HasSubstr("\"owner_uid\":5")));
  const AuditRecord exec = AwaitRecords(supervisor_, "exec")[0];
  EXPECT_THAT(exec.dump(), AllOf(HasSubstr("exit 3"), HasSubstr("\"owner_uid\":5")));
  EXPECT_EQ(AwaitRecords(supervisor_, "exec_end")[0]["exit_code"], 3);
  v1::PrepareCellRequest request = Request("refused");
  request.set_allow_danger(false);
  EXPECT_FALSE(supervisor_.Prepare(request).ok());
  EXPECT_THAT(AwaitRecords(supervisor_, "refuse")[0].dump(), HasSubstr("danger_full_access"));
}

TEST_F(DangerTest, WhatTheHostRefusesItsUserIsNoDenialOfOurs) {
  const ExecResult result = supervisor_.Shell(Cell(), "cat /etc/shadow");
  EXPECT_TRUE(result.Exited(1)) << result.ToString();
  EXPECT_EQ(result.outcome.denials(), 0u);
}

// ── What ends it ────────────────────────────────────────────────────────────────────────────────

TEST_F(DangerTest, CancellingACommandEndsEverythingThatCameOfIt) {
  const std::string cell = Cell();
  RunningExec exec(supervisor_.stub(), cell, std::string(kScatter) + "sleep 905");
  ASSERT_TRUE(exec.ReadUntil("running\n"));
  ASSERT_TRUE(Eventually([] { return Sleepers() == 5; }));
  exec.Cancel();
  EXPECT_EQ(exec.Finish().status.code(), Code::kCancelled);
  EXPECT_TRUE(Eventually([] { return Sleepers() == 0; }));
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0)) << "the cell goes on";
}

TEST_F(DangerTest, TheEndOfACommandIsTheEndOfWhatItLeftBehindAndOfNothingElse) {
  const std::string cell = Cell();
  RunningExec other(supervisor_.stub(), cell, "echo here; sleep 999");
  ASSERT_TRUE(other.ReadUntil("here\n"));
  const ExecResult result = supervisor_.Shell(cell, std::string(kScatter) + "exit 7");
  EXPECT_TRUE(result.Exited(7)) << result.ToString();
  EXPECT_TRUE(Eventually([] { return Sleepers() == 1; }));
  other.Cancel();
  other.Finish();
}

TEST_F(DangerTest, RemovingTheCellLeavesNothing) {
  const std::string cell = Cell();
  RunningExec exec(supervisor_.stub(), cell, std::string(kScatter) + "sleep 905");
  ASSERT_TRUE(exec.ReadUntil("running\n"));
  ASSERT_FALSE(GroupsOf(Runner()).empty());
  ASSERT_TRUE(supervisor_.Remove(cell).ok());
  EXPECT_TRUE(NobodyLeft()) << "RemoveCell answers when nothing is left";
  EXPECT_TRUE(GroupsOf(Runner()).empty());
  EXPECT_TRUE(EndedUnderIt(exec.Finish()));
}

TEST_F(DangerTest, TheWallClockEndsTheTree) {
  const std::string cell = Cell();
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    const ExecResult result = supervisor_.Shell(cell, std::string(kScatter) + "sleep 905",
                                                {.wall_clock_ms = wall_clock_ms});
    EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << result.ToString();
    EXPECT_TRUE(Eventually([] { return Sleepers() == 0; }));
    return result.out == "running\n";
  });
}

TEST_F(DangerTest, TheLimitsHold) {
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->mutable_limits()->set_memory_bytes(64 << 20);
  request.mutable_sandbox()->mutable_limits()->set_pids(20);
  request.mutable_sandbox()->mutable_limits()->set_open_files(50);
  const std::string cell = supervisor_.Cell(request);
  const ExecResult memory = supervisor_.Python(cell, "x = bytearray(256 << 20)");
  EXPECT_EQ(memory.outcome.kind(), v1::OUTCOME_KIND_OOM_KILLED) << memory.ToString();
  const ExecResult forks = supervisor_.Python(cell, R"(
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0: time.sleep(100)
        made += 1
except OSError as e:
    print('stopped', made < 20)
)");
  EXPECT_EQ(forks.out, "stopped True\n") << forks.ToString();
  EXPECT_EQ(supervisor_.Shell(cell, "ulimit -n").out, "50\n");
}

// ── Who gets it ─────────────────────────────────────────────────────────────────────────────────

TEST_F(DangerTest, NeedsThePersonsOwnWord) {
  v1::PrepareCellRequest request = Request();
  request.set_allow_danger(false);
  ExpectRefused(request, "allow_danger");
}

TEST_F(DangerTest, NeedsTheHostsNetwork) {
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->set_network(pv1::NETWORK_NONE);
  ExpectRefused(request, "bundle disables network but host execution cannot enforce that policy");
}

TEST_F(DangerTest, UidZeroNeverRunsACommand) {
  v1::PrepareCellRequest request = Request();
  request.set_owner_uid(0);
  ExpectRefused(request, "never for uid 0");
}

TEST_F(DangerTest, IsForThoseAloneWhomTheFileNames) {
  v1::PrepareCellRequest request = Request();
  request.set_owner_uid(kDaemon);
  ExpectRefused(request, "does not name daemon (uid 1)");
}

TEST_F(DangerTest, ToCheckMakesNothing) {
  EXPECT_EQ(supervisor_.Check(Request()), OkStatus());
  EXPECT_TRUE(NobodyLeft());
  EXPECT_TRUE(GroupsOf(Runner()).empty());
  v1::ListCellsResponse cells;
  grpc::ClientContext context;
  ASSERT_TRUE(supervisor_.stub()->ListCells(&context, {}, &cells).ok());
  EXPECT_EQ(cells.cells_size(), 0);
  v1::PrepareCellRequest another = Request();
  another.set_owner_uid(kDaemon);
  EXPECT_FALSE(supervisor_.Check(another).ok());
  const AuditRecord refuse = AwaitRecords(supervisor_, "refuse")[0];
  EXPECT_EQ(refuse["what"], "check");
  EXPECT_THAT(refuse.dump(), HasSubstr("does not name daemon"));
  EXPECT_TRUE(supervisor_.Shell(Cell(), "true").Exited(0)) << "the runner goes on";
}

TEST_F(DangerTest, IsForThoseAloneWhomTheCeilingGrantsIt) {
  WriteCeiling("[daemon]");
  ExpectRefused(Request(), "mode: danger_full_access");
}

TEST_F(DangerTest, WhoLosesTheCeilingsGrantRunsNothingMore) {
  const std::string cell = Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
  WriteCeiling("[daemon]");
  const ExecResult next = supervisor_.Shell(cell, "echo ran >made");
  EXPECT_THAT(next.ToString(), HasSubstr("mode: danger_full_access"));
  EXPECT_THAT(Read(cell, "/etc/passwd").status().message(), HasSubstr("mode: danger_full_access"));
  EXPECT_FALSE(fs::exists(Work() + "/made"));
}

TEST_F(DangerTest, AFileThatOthersMayWriteCountsForNobody) {
  for (const mode_t mode : {0646, 0664}) {
    chmod(supervisor_.danger_grant_file().c_str(), mode);
    ExpectRefused(Request(), "writable by its group or by others");
  }
  chmod(supervisor_.danger_grant_file().c_str(), 0644);
  ASSERT_EQ(chown(supervisor_.danger_grant_file().c_str(), kGames, 0), 0);
  ExpectRefused(Request(), "it must be root's");
}

TEST_F(DangerTest, ABadLineInTheFileCountsForNobody) {
  std::ofstream(supervisor_.danger_grant_file()) << "games\n*\n";
  ExpectRefused(Request(), "line 2: ");
}

TEST_F(DangerTest, WhoIsTakenOutOfTheFileRunsNothingMore) {
  const std::string cell = Cell();
  RunningExec exec(supervisor_.stub(), cell, "echo here; sleep 999");
  ASSERT_TRUE(exec.ReadUntil("here\n"));
  std::ofstream(supervisor_.danger_grant_file()) << "daemon\n";
  const ExecResult next = supervisor_.Shell(cell, "id -u");
  EXPECT_EQ(next.out, "");
  EXPECT_THAT(next.ToString(), HasSubstr("does not name games"));
  EXPECT_TRUE(EndedUnderIt(exec.Finish())) << "the cell ended";
  EXPECT_TRUE(Eventually(NobodyLeft));
  ExpectRefused(Request(), "does not name games");
}

TEST_F(DangerTest, WhoIsTakenOutOfTheFileReadsNothingMore) {
  const std::string cell = Cell();
  ASSERT_TRUE(Read(cell, "/etc/passwd").ok());
  std::ofstream(supervisor_.danger_grant_file()) << "daemon\n";
  const Status refused = Read(cell, "/etc/passwd").status();
  EXPECT_THAT(refused.message(), HasSubstr("does not name games"));
}

TEST_F(DangerTest, WhatItCouldNotHoldIsRefused) {
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->add_deny("**/.env");
  ExpectRefused(request, "deny: **/.env: host execution cannot enforce that");
}

TEST_F(DangerTest, ACellThatFailsIsNeverReplacedByTheHost) {
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->set_mode(pv1::MODE_WORKSPACE_WRITE);
  request.mutable_sandbox()->set_network(pv1::NETWORK_NONE);
  request.set_workspace(Work() + "/missing");
  ExpectRefused(request, "missing");
  EXPECT_TRUE(ChildrenOf(Runner()).empty());
}

class NobodyGrantedTest : public DangerTest {
 protected:
  NobodyGrantedTest() : DangerTest("") {}
};

TEST_F(NobodyGrantedTest, ThereIsNoRunnerAndNoDanger) {
  EXPECT_EQ(Runner(), -1);
  EXPECT_FALSE(fs::exists(supervisor_.directory() + "/run/host.sock"));
  ExpectRefused(Request(), "the operator grants it to no user");
}

// A socket in the runner's place is no runner: who listens there has to be root.
TEST_F(NobodyGrantedTest, AnotherUsersSocketIsNotBelieved) {
  const std::string path = supervisor_.directory() + "/run/host.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  ASSERT_EQ(seteuid(kDaemon), 0);
  const int listening = listen(fd.get(), 4);  // whose credentials a peer is told
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(listening, 0);
  ExpectRefused(Request(), "the host runner's socket is served by uid 1");
  unlink(path.c_str());
}

class EverybodysUidGrantedTest : public DangerTest {
 protected:
  EverybodysUidGrantedTest() : DangerTest(std::to_string(kRpcUid) + "\n5\n") {}
};

TEST_F(EverybodysUidGrantedTest, OdysseysOwnUidsNeverRunACommand) {
  v1::PrepareCellRequest request = Request();
  request.set_owner_uid(kRpcUid);
  EXPECT_FALSE(supervisor_.Prepare(request).ok());
  EXPECT_TRUE(supervisor_.Shell(Cell(), "true").Exited(0)) << "a uid in the file counts";
}

}  // namespace
}  // namespace odyssey::testing
