// The operator's ceiling, enforced by the real supervisor: what it does not grant is refused, by
// name, and while it cannot be used nothing is.

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;
namespace pv1 = ::odyssey::policy::v1;

constexpr uint32_t kAlice = 4242, kBob = 4243;  // nobody's, on any host

class CeilingTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(Directory("data")); }

  std::string Directory(const std::string& name) const {
    return supervisor_.directory() + "/" + name;
  }

  // Line 1 is the version; `rest` begins on line 2. Returns the file's path.
  std::string Write(const std::string& name, const std::string& rest) const {
    fs::create_directory(supervisor_.policy_directory());
    const std::string path = supervisor_.policy_directory() + "/" + name;
    std::ofstream(path) << "version: odyssey.ceiling/v1\n" << rest << "builtin: false\n";
    return path;
  }

  static v1::PrepareCellRequest Request(uint32_t owner = kAlice) {
    v1::PrepareCellRequest request = SupervisorHarness::Request("ceiling");
    request.set_owner_uid(owner);
    return request;
  }
  v1::PrepareCellRequest Mounting(const std::string& source, uint32_t owner = kAlice,
                                  pv1::Access access = pv1::ACCESS_READ_ONLY) const {
    v1::PrepareCellRequest request = Request(owner);
    pv1::Mount* mount = request.mutable_sandbox()->add_mounts();
    mount->set_source(source);
    mount->set_target("/data");
    mount->set_access(access);
    return request;
  }

  void ExpectRefused(const Status& status, const std::vector<std::string>& words,
                     Code code = Code::kPermissionDenied) const {
    EXPECT_EQ(status.code(), code) << status.ToString();
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos)
          << word << " in " << status.message();
    }
  }
  void ExpectRefused(const v1::PrepareCellRequest& request, const std::vector<std::string>& words,
                     Code code = Code::kPermissionDenied) {
    ExpectRefused(supervisor_.Prepare(request).status(), words, code);
  }
  void ExpectAllowed(const v1::PrepareCellRequest& request) {
    const auto info = supervisor_.Prepare(request);
    EXPECT_TRUE(info.ok()) << info.status().ToString();
  }

  v1::GetInfoResponse Info() {
    grpc::ClientContext context;
    v1::GetInfoResponse info;
    EXPECT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
    return info;
  }
  v1::Feature OperatorPolicy() {
    const v1::GetInfoResponse info = Info();
    for (const v1::Feature& feature : info.features()) {
      if (feature.name() == "operator_policy") return feature;
    }
    ADD_FAILURE() << "no operator_policy";
    return {};
  }
  Status List(const std::string& cell_id) {
    grpc::ClientContext context;
    v1::FileOpRequest request;
    request.set_cell_id(cell_id);
    request.mutable_list();
    v1::FileOpResponse response;
    const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
    return Status(static_cast<Code>(status.error_code()), status.error_message());
  }

  SupervisorHarness supervisor_;
};

// ── Whose it is ─────────────────────────────────────────────────────────────────────────────────

class OwnershipTest : public CeilingTest {
 protected:
  void SetUp() override {
    CeilingTest::SetUp();
    for (const std::string name : {"roots", "open", "alices"}) {
      fs::create_directory(Directory(name));
      for (const std::string file : {"closed", "for-all"}) {
        std::ofstream(Directory(name + "/" + file)) << file;
        ASSERT_EQ(chmod(Directory(name + "/" + file).c_str(), file == "closed" ? 0600 : 0644), 0);
      }
    }
    ASSERT_EQ(chmod(Directory("roots").c_str(), 0700), 0);
    ASSERT_EQ(chmod(Directory("alices").c_str(), 0700), 0);
    for (const std::string path : {"alices", "alices/closed", "alices/for-all"}) {
      ASSERT_EQ(chown(Directory(path).c_str(), kAlice, kAlice), 0);
    }
  }
  void ExpectAnothers(const v1::PrepareCellRequest& request) {
    ExpectRefused(request, {"it is uid 0's", "the own of uid 4242"});
  }
  std::string Run(const v1::PrepareCellRequest& request, const std::string& script) {
    const auto info = supervisor_.Prepare(request);
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    return info.ok() ? supervisor_.Shell(info->cell_id(), script).out : "";
  }
  // What alice may have without an operator's word about her and the place.
  void ExpectOnlyHerOwn() {
    ExpectAnothers(Mounting(Directory("roots")));
    ExpectAnothers(Mounting(Directory("roots"), kAlice, pv1::ACCESS_READ_WRITE));
    ExpectAnothers(Mounting(Directory("open"), kAlice, pv1::ACCESS_READ_WRITE));
    EXPECT_EQ(Run(Mounting(Directory("open")), "cat /data/for-all /data/closed; stat -c %u /data"),
              "for-all65534\n");
    EXPECT_EQ(Run(Mounting(Directory("alices"), kAlice, pv1::ACCESS_READ_WRITE),
                  "cat /data/closed; echo >/data/new; stat -c %u /data/new"),
              "closed1000\n");
  }
};

TEST_F(OwnershipTest, WithoutACeilingEverybodyHasHisOwn) {
  ExpectOnlyHerOwn();
  EXPECT_EQ(Run(Mounting(Directory("roots"), 0), "cat /data/closed"), "closed") << "root asks";
}

// The rights of a directory are its parents' too: what is below one that is closed to her is.
TEST_F(OwnershipTest, WhatIsBehindADirectoryClosedToHerStaysBehindIt) {
  for (const std::string name : {"roots/open", "roots/hers"}) fs::create_directory(Directory(name));
  ASSERT_EQ(chown(Directory("roots/hers").c_str(), kAlice, kAlice), 0);
  fs::copy_file("/bin/true", Directory("roots/tool"));
  std::ofstream(Directory("roots/open/for-all")) << "for-all";
  const auto expect_closed = [&](const v1::PrepareCellRequest& request) {
    ExpectRefused(request, {"open " + Directory("roots/"), "Permission denied to uid 4242"});
  };
  expect_closed(Mounting(Directory("roots/open")));
  expect_closed(Mounting(Directory("roots/open/for-all")));
  expect_closed(Mounting(Directory("roots/for-all")));
  expect_closed(Mounting(Directory("roots/hers"), kAlice, pv1::ACCESS_READ_WRITE));
  EXPECT_EQ(Run(Mounting(Directory("roots/open"), 0), "cat /data/for-all"), "for-all");

  auto as_workspace = Mounting(Directory("open"));
  as_workspace.set_workspace(Directory("roots/open"));
  as_workspace.mutable_sandbox()->set_mode(pv1::MODE_READ_ONLY);
  expect_closed(as_workspace);
  auto with_tool = Mounting(Directory("open"));
  with_tool.mutable_sandbox()->set_executables_mode(pv1::EXECUTABLES_MODE_EXPLICIT);
  with_tool.mutable_sandbox()->add_executables(Directory("roots/tool"));
  expect_closed(with_tool);

  Write("10.yaml", "grants:\n  - users: ['4242']\n    read: [" + Directory("roots/open") + "]\n");
  EXPECT_EQ(Run(Mounting(Directory("roots/open")), "cat /data/for-all"), "for-all");
}

TEST_F(OwnershipTest, WhatIsGrantedToEverybodyOrByAPatternIsStillHisWhoseItIs) {
  Write("10.yaml", "grants:\n  - users: ['*']\n    write: [" + supervisor_.directory() + "]\n");
  ExpectOnlyHerOwn();
  Write("10.yaml",
        "grants:\n  - users: ['4242']\n    write: [" + supervisor_.directory() + "/*]\n");
  ExpectOnlyHerOwn();
}

TEST_F(OwnershipTest, AGrantThatNamesPersonAndPlaceIsTheOperatorsWord) {
  Write("10.yaml", "grants:\n  - users: ['4242']\n    write: [" + Directory("roots") + "]\n");
  EXPECT_EQ(Run(Mounting(Directory("roots"), kAlice, pv1::ACCESS_READ_WRITE),
                "cat /data/closed; echo >/data/new"),
            "closed");
  struct stat info {};
  ASSERT_EQ(stat(Directory("roots/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  // Taken back while the cell lives.
  const auto cell = supervisor_.Prepare(Mounting(Directory("roots")));
  ASSERT_TRUE(cell.ok());
  Write("10.yaml", "grants:\n  - users: ['*']\n    write: [" + Directory("roots") + "]\n");
  ExpectRefused(List(cell->cell_id()), {"grants it no longer"});
}

// ── What is granted ─────────────────────────────────────────────────────────────────────────────

TEST_F(CeilingTest, AMountThatIsNotGrantedIsRefusedByTheRule) {
  const std::string file =
      Write("10.yaml", "grants:\n  - users: ['*']\n    read: [" + Directory("data/in") + "]\n");
  fs::create_directories(Directory("data/in"));
  ExpectAllowed(Mounting(Directory("data/in")));
  ExpectRefused(Mounting(Directory("data")),
                {"mounts[0].source: " + Directory("data") + ": reading it is not granted",
                 "uid 4242", Directory("data/in") + " (" + file + ":4)"});
  ExpectRefused(Mounting(Directory("data/in"), kAlice, pv1::ACCESS_READ_WRITE),
                {"writing it is not granted", "reading it is, by " + file + ":4"});
  v1::PrepareCellRequest workspace = Request();
  workspace.set_workspace(Directory("data/in"));
  ExpectRefused(workspace, {"workspace: " + Directory("data/in") + ": writing it is not granted"});
  workspace.mutable_sandbox()->set_mode(pv1::MODE_READ_ONLY);
  ExpectAllowed(workspace);
}

TEST_F(CeilingTest, ACheckSaysWhatPrepareSaysAndMakesNothing) {
  Write("10.yaml", "grants: [{users: ['4242'], read: [" + Directory("data") + "]}]\n");
  EXPECT_EQ(supervisor_.Check(Mounting(Directory("data"))), OkStatus());
  v1::ListCellsResponse cells;
  grpc::ClientContext context;
  ASSERT_TRUE(supervisor_.stub()->ListCells(&context, {}, &cells).ok());
  EXPECT_EQ(cells.cells_size(), 0);
  const auto expect_same = [&](const v1::PrepareCellRequest& request, Code code) {
    const Status checked = supervisor_.Check(request);
    EXPECT_EQ(checked.code(), code) << checked.ToString();
    EXPECT_EQ(checked, supervisor_.Prepare(request).status());
  };
  expect_same(Mounting(Directory("data"), kBob), Code::kPermissionDenied);
  Write("10.yaml", "grants: [{users: ['4242'], reed: [/srv]}]\n");
  expect_same(Request(), Code::kFailedPrecondition);
}

TEST_F(CeilingTest, AGrantIsForItsUserOnly) {
  Write("10.yaml", "grants: [{users: ['4242'], write: [" + Directory("data") + "]}]\n");
  ExpectAllowed(Mounting(Directory("data"), kAlice, pv1::ACCESS_READ_WRITE));
  ExpectRefused(Mounting(Directory("data"), kBob), {"uid 4243", "granted: nothing"});
  ExpectRefused(Mounting(Directory("data"), 0), {"uid 0 (root)"});
}

TEST_F(CeilingTest, AForbiddenPlaceIsRefusedWhateverIsGranted) {
  const std::string first = Write("10.yaml", "grants: [{users: ['*'], write: [/]}]\n");
  const std::string second = Write("20.yaml", "forbidden: [" + Directory("data/secret") + "]\n");
  fs::create_directories(Directory("data/secret"));
  fs::create_directories(Directory("data/open"));
  ExpectAllowed(Mounting(Directory("data/open")));
  ExpectRefused(Mounting(Directory("data/secret")), {"forbidden by " + second + ":2"});
  ExpectRefused(Mounting(Directory("data")), {"it holds what is forbidden by " + second + ":2"});
}

TEST_F(CeilingTest, NoFileGrantsOdysseysOwnPlaces) {
  const std::string file = Write("10.yaml", "grants: [{users: ['*'], write: [/]}]\n");
  for (const std::string& path :
       {supervisor_.policy_directory(), file, Directory("state"), Directory("run")}) {
    ExpectRefused(Mounting(path, 0, pv1::ACCESS_READ_WRITE), {path, "Odyssey's own"});
  }
}

// What he writes has his own group, as on the host, and what belongs to the directory's is not his.
TEST_F(CeilingTest, ADirectoryOfHisMakesNobodyAMemberOfItsGroup) {
  const std::string directory = Directory("odd");
  fs::create_directory(directory);
  ASSERT_EQ(chown(directory.c_str(), kAlice, 0), 0);
  std::ofstream(directory + "/roots") << "secret";
  ASSERT_EQ(chmod((directory + "/roots").c_str(), 0660), 0);
  const auto cell = supervisor_.Prepare(Mounting(directory, kAlice, pv1::ACCESS_READ_WRITE));
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  const ExecResult result = supervisor_.Shell(
      cell->cell_id(), "cat /data/roots; echo x >> /data/roots; echo mine > /data/new");
  EXPECT_EQ(result.out, "") << result.ToString();
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  struct stat info {};
  ASSERT_EQ(stat((directory + "/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kAlice);
  EXPECT_NE(info.st_gid, 0u);
  EXPECT_EQ(fs::file_size(directory + "/roots"), 6u);
}

TEST_F(CeilingTest, AVariableThatLooksLikeASecretIsGrantedByItsNameOnly) {
  v1::PrepareCellRequest request = Request();
  (*request.mutable_sandbox()->mutable_env())["DEPLOY_TOKEN"] = "hunter2";
  ExpectRefused(request, {"env: DEPLOY_TOKEN: it looks like a secret"});
  Write("10.yaml", "grants: [{users: ['*'], env: ['*', '*_TOKEN']}]\n");
  ExpectRefused(request, {"env: DEPLOY_TOKEN: it looks like a secret"});
  Write("10.yaml", "grants: [{users: ['*'], env: [DEPLOY_TOKEN]}]\n");
  const auto cell = supervisor_.Prepare(request);
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  EXPECT_EQ(supervisor_.Shell(cell->cell_id(), "printf %s \"$DEPLOY_TOKEN\"").out, "hunter2");
  (*request.mutable_sandbox()->mutable_env())["EDITOR"] = "vi";
  ExpectRefused(request, {"env: EDITOR: not granted", "DEPLOY_TOKEN ("});
}

TEST_F(CeilingTest, WhatWeakensACellNeedsAGrant) {
  const std::string file = Write("10.yaml", "grants: []\n");
  v1::PrepareCellRequest network = Request();
  network.mutable_sandbox()->set_network(pv1::NETWORK_FULL);
  ExpectRefused(network, {"network: full: not granted", "none is allowed"});
  v1::PrepareCellRequest all = Request();
  all.mutable_sandbox()->set_executables_mode(pv1::EXECUTABLES_MODE_ALL);
  ExpectRefused(all, {"executables_mode: all: not granted"});
  v1::PrepareCellRequest bare = Request();
  bare.mutable_sandbox()->set_protection(pv1::PROTECTION_NONE);
  ExpectRefused(bare, {"protection: none: not granted"});
  v1::PrepareCellRequest lax = Request();
  lax.mutable_sandbox()->set_landlock(pv1::LANDLOCK_BEST_EFFORT);
  ExpectRefused(lax, {"landlock: best_effort: not granted"});
  ExpectAllowed(Request());
  Write("10.yaml",
        "grants: [{users: ['4242'], network: [full], executables: [all], "
        "landlock: [best_effort]}]\n");
  network.mutable_sandbox()->set_landlock(pv1::LANDLOCK_BEST_EFFORT);  // before Linux 6.12
  ExpectAllowed(network);
  ExpectAllowed(all);
}

TEST_F(CeilingTest, DangerNeedsTheGrantAndThePersonsWordAndIsNeverRoots) {
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->set_mode(pv1::MODE_DANGER_FULL_ACCESS);
  request.mutable_sandbox()->set_network(pv1::NETWORK_FULL);
  request.set_allow_danger(true);
  ExpectRefused(request, {"mode: danger_full_access: not granted", "uid 4242"});
  Write("10.yaml", "grants: [{users: ['*'], mode: [danger_full_access], network: [full]}]\n");
  request.set_owner_uid(0);
  ExpectRefused(request, {"mode: danger_full_access: never for uid 0"});
  request.set_owner_uid(kAlice);
  request.set_allow_danger(false);
  ExpectRefused(request, {"mode: danger_full_access", "allow_danger"});
}

// ── Limits ──────────────────────────────────────────────────────────────────────────────────────

TEST_F(CeilingTest, LimitsAboveTheBoundAreRefusedAndUnsetOnesLieWithin) {
  const std::string file = Write("10.yaml",
                                 "limits:\n  max:\n    memory_mb: 256\n    wall_clock_s: 1\n"
                                 "  default:\n    pids: 77\n");
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->mutable_limits()->set_memory_bytes(257 << 20);
  ExpectRefused(request,
                {"limits.memory_bytes: 269484032: at most 268435456 is allowed by " + file + ":4"});
  EXPECT_EQ(Info().default_limits().memory_bytes(), 256u << 20);
  EXPECT_EQ(Info().default_limits().pids(), 77u);
  EXPECT_EQ(Info().default_limits().wall_clock_ms(), 1000u);

  const std::string cell = supervisor_.Cell(Request());
  const ExecResult longer = supervisor_.Exec(cell, {"/bin/true"}, {.wall_clock_ms = 1001});
  ExpectRefused(longer.status,
                {"start.wall_clock_ms: 1001: at most 1000 is allowed by " + file + ":5"});
  const ExecResult endless = supervisor_.Exec(cell, {"/bin/sleep", "600"}, {.wall_clock_ms = 0});
  EXPECT_EQ(endless.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << endless.ToString();
}

// ── A ceiling that changes ──────────────────────────────────────────────────────────────────────

TEST_F(CeilingTest, AWarmCellThatItHasComeToRefuseIsNotUsed) {
  const v1::PrepareCellRequest request = Mounting(Directory("data"));
  const std::string cell = supervisor_.Cell(request);
  Write("10.yaml", "grants: [{users: ['4242'], read: [" + Directory("data") + "]}]\n");
  EXPECT_EQ(supervisor_.Cell(request), cell) << "still allowed: still warm";
  Write("10.yaml", "grants: [{users: ['4243'], read: [" + Directory("data") + "]}]\n");
  ExpectRefused(request, {"mounts[0].source"});
  ExpectRefused(supervisor_.Shell(cell, "true").status, {"mounts[0].source"});
  ExpectRefused(List(cell), {"mounts[0].source"});
  EXPECT_TRUE(supervisor_.Remove(cell).ok()) << "but it can be ended";
}

TEST_F(CeilingTest, AnotherOwnerGetsACellOfHisOwn) {
  const auto alices = supervisor_.Prepare(Request(kAlice));
  const auto bobs = supervisor_.Prepare(Request(kBob));
  ASSERT_TRUE(alices.ok() && bobs.ok());
  EXPECT_EQ(alices->owner_uid(), kAlice);
  EXPECT_EQ(bobs->owner_uid(), kBob);
  EXPECT_NE(alices->cell_id(), bobs->cell_id());
}

TEST_F(CeilingTest, WhileAFileIsWrongNothingIsMadeOrUsed) {
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_TRUE(OperatorPolicy().in_force());
  EXPECT_NE(OperatorPolicy().detail().find("built in"), std::string::npos);
  const std::string file = Write("10.yaml", "grants:\n  - users: [alice]\n    reed: [/srv]\n");
  const std::vector<std::string> words = {file + ":4: grants[0].reed: unknown field `reed`"};
  ExpectRefused(Request(), words, Code::kFailedPrecondition);
  ExpectRefused(supervisor_.Shell(cell, "true").status, words, Code::kFailedPrecondition);
  EXPECT_FALSE(OperatorPolicy().in_force());
  ExpectRefused(Status(Code::kFailedPrecondition, OperatorPolicy().detail()), words,
                Code::kFailedPrecondition);
  Write("10.yaml", "grants: []\n");
  EXPECT_TRUE(supervisor_.Shell(cell, "true").Exited(0));
  ExpectAllowed(Request());
  EXPECT_NE(OperatorPolicy().detail().find("1 file in " + supervisor_.policy_directory()),
            std::string::npos);
}

TEST_F(CeilingTest, AFileThatOthersCouldWriteIsNoCeiling) {
  const std::string file = Write("10.yaml", "grants: [{users: ['*'], write: [/]}]\n");
  ExpectAllowed(Mounting(Directory("data")));
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  ExpectRefused(Request(), {file + ": its group or others may write it"},
                Code::kFailedPrecondition);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(chown(file.c_str(), kAlice, kAlice), 0);
  ExpectRefused(Request(), {file + ": it belongs to uid 4242"}, Code::kFailedPrecondition);
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(supervisor_.policy_directory().c_str(), 01777), 0);
  ExpectRefused(Request(), {supervisor_.policy_directory() + ": its group or others"},
                Code::kFailedPrecondition);
}

TEST_F(CeilingTest, AFileThatItsUserCannotReadIsNoCeiling) {
  const std::string file = Write("10.yaml", "grants: [{users: ['*'], write: [/]}]\n");
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  ExpectRefused(Request(), {file}, Code::kFailedPrecondition);
}

// ── A start with a wrong one ────────────────────────────────────────────────────────────────────

TEST_F(CeilingTest, ASupervisorDoesNotStartUnderAWrongOne) {
  const std::string file = Write("10.yaml", "limits: {max: {pids: many}}\n");
  const pid_t keeper = supervisor_.keeper(), worker = supervisor_.worker();
  supervisor_.KillKeeper();
  ASSERT_TRUE(Eventually([&] { return CommandName(worker).empty() && CgroupsOf(keeper).empty(); }));
  EXPECT_FALSE(supervisor_.Restart());
  EXPECT_NE(supervisor_.Log().find(file + ":2: limits.max.pids: must be a whole number"),
            std::string::npos)
      << supervisor_.Log();
  Write("10.yaml", "limits: {max: {pids: 100}}\n");
  EXPECT_TRUE(supervisor_.Restart()) << supervisor_.Log();
}

}  // namespace
}  // namespace odyssey::testing
