// `deny`: names that nothing in the cell may open in a host tree, whenever and by whomever they
// were made.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kSecret[] = "the-secret-text";
class DenyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = supervisor_.WhyNoDeniedNames(); !why.empty()) GTEST_SKIP() << why;
    std::string path = (fs::temp_directory_path() / "odyssey-deny-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    tree_ = path;
    fs::create_directories(tree_ / "deep/er");
    fs::create_directories(tree_ / "secrets");
    fs::create_directories(tree_ / "open");
    fs::create_directories(tree_ / "vault/a");
    fs::create_directories(tree_ / "vault/b");
    for (const char* name : {".env", "deep/er/.env", "secrets/key", "vault/a/key"})
      Write(name, kSecret);
    Write("open/file", "open text");
    for (const auto& entry : fs::recursive_directory_iterator(tree_)) Own(entry.path());
    Own(tree_);
  }

  void TearDown() override { fs::remove_all(tree_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(tree_ / name) << text;
    Own(tree_ / name);
  }
  static void Own(const fs::path& path) { ASSERT_EQ(lchown(path.c_str(), 5000, 5000), 0); }

  v1::PrepareCellRequest Request() const {
    v1::PrepareCellRequest request = SupervisorHarness::Request("test");
    request.set_workspace(tree_);
    for (const char* pattern : {"**/.env", "secrets/**", "*.pem", "vault/**/key"}) {
      request.mutable_sandbox()->add_deny(pattern);
    }
    return request;
  }

  // Every way to read or replace `name` fails, and none shows the secret.
  void ExpectOutOfReach(const std::string& cell, const std::string& name) {
    for (const char* attempt :
         {"cat N", "head -c 5 < N", "cp N open/copy", "ln N open/hard", "mv N open/moved",
          "echo x > N", "echo x >> N", "truncate -s 0 N", "rm N",
          "ln -sf /workspace/N open/l; cat open/l", "tar cf - N", "touch N", "chmod 777 N",
          "stat N", "cd $(dirname N) && cat $(basename N)", "cat /proc/self/cwd/N",
          "python3 -c 'print(open(\"N\").read())'"}) {
      std::string script = attempt;
      for (size_t at; (at = script.find('N')) != std::string::npos;) script.replace(at, 1, name);
      const ExecResult result = supervisor_.Shell(cell, script);
      EXPECT_FALSE(result.Exited(0)) << script;
      EXPECT_EQ((result.out + result.err).find(kSecret), std::string::npos) << script;
    }
    std::ifstream back(tree_ / name);
    std::string text;
    std::getline(back, text);
    EXPECT_EQ(text, kSecret) << name << " was changed";
  }

  fs::path tree_;
  SupervisorHarness supervisor_;
};

TEST_F(DenyTest, WhatIsThereAtTheStartIsOutOfReach) {
  const std::string cell = supervisor_.Cell(Request());
  for (const char* name : {".env", "deep/er/.env", "secrets/key"}) ExpectOutOfReach(cell, name);
}

TEST_F(DenyTest, WhatTheHostMakesLaterIsOutOfReachToo) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, "ls open deep/er").Exited(0));
  Write("open/.env", kSecret);
  Write("secrets/later", kSecret);
  Write("late.pem", kSecret);
  for (const char* name : {"open/.env", "secrets/later", "late.pem"}) ExpectOutOfReach(cell, name);
}

TEST_F(DenyTest, TheCellCannotMakeSuchNamesNorMoveADirectoryToUncoverThem) {
  const std::string cell = supervisor_.Cell(Request());
  for (const char* script :
       {"echo x > open/.env", "mkdir open/.env", "ln -s x open/.env", "mv open/file open/.env",
        "ln open/file new.pem", "mv secrets elsewhere", "mv open secrets2 && mv secrets2 secrets",
        "mv -T open secrets", "mv vault/a elsewhere", "mv vault elsewhere",
        "python3 -c 'import os; os.mkfifo(\"open/.env\")'",
        "python3 -c 'import os; os.rename(\"secrets\", \"deep/s\")'"}) {
    const ExecResult result = supervisor_.Shell(cell, script);
    EXPECT_FALSE(result.Exited(0)) << script << ": " << result.ToString();
    (void)supervisor_.Shell(cell, "test -e secrets2 && mv secrets2 open");
  }
  EXPECT_TRUE(fs::exists(tree_ / "secrets/key"));
  EXPECT_TRUE(fs::exists(tree_ / "vault/a/key"));
  // Where it makes no difference a directory may go, and a file anywhere.
  EXPECT_TRUE(supervisor_.Shell(cell, "mv -T vault/a vault/c && mv -T vault/c vault/a").Exited(0));
  EXPECT_TRUE(supervisor_.Shell(cell, "echo x > vault/plain && mv vault/plain open/").Exited(0));
  EXPECT_FALSE(fs::exists(tree_ / "open/.env"));
}

TEST_F(DenyTest, ALinkSwappedInWhileTheGuardWalksLeadsNowhere) {
  const std::string cell = supervisor_.Cell(Request());
  const ExecResult result = supervisor_.Python(cell, R"(
import os, threading, time
os.mkdir('a'); open('a/key', 'w').write('mine'); os.symlink('secrets', 'b')
stop = False
def swap():
    while not stop:
        try:
            os.rename('a', 'c'); os.rename('b', 'a'); os.rename('a', 'b'); os.rename('c', 'a')
        except OSError: pass
t = threading.Thread(target=swap); t.start()
seen = set()
for i in range(3000):
    try: seen.add(open('a/key').read())
    except OSError: pass
stop = True; t.join()
print(sorted(seen))
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out.find(kSecret), std::string::npos) << result.out;
}

TEST_F(DenyTest, EverythingElseWorksAndBelongsToTheOwnerOnTheHost) {
  const std::string cell = supervisor_.Cell(Request());
  const ExecResult result = supervisor_.Shell(
      cell,
      "set -e; echo hello > new; cat new; mkdir d; mv new d/n; chmod 640 d/n; stat -c '%a %u' d/n; "
      "ln -s n d/l; cat d/l; ls -A; rm -r d; echo more >> open/file; cat open/file; "
      "head -c 3000000 /dev/zero > big; wc -c < big; truncate -s 5 big; wc -c < big; "
      "touch -d 2001-02-03 big; date -r big +%Y; test ! -e deep/.env.example; "
      "python3 -c 'import mmap; f=open(\"big\",\"r+b\"); m=mmap.mmap(f.fileno(),0); m[0]=65; "
      "m.flush()'; "
      "head -c 1 big; echo; df . >/dev/null; rm big");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(
      result.out,
      "hello\n640 1000\nhello\nd\ndeep\nopen\nsecrets\nvault\nopen textmore\n3000000\n5\n2001\nA\n")
      << result.ToString();
  struct stat info;
  ASSERT_EQ(stat((tree_ / "open/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 5000u);
}

TEST_F(DenyTest, GitWorksInAGuardedWorkspace) {
  const std::string cell = supervisor_.Cell(Request());
  const ExecResult result = supervisor_.Shell(
      cell,
      "set -e; git init -q . 2>&1; git config user.email a@b; git config user.name a; "
      "git add -A; git commit -qm first; git checkout -qb other; echo x > y; git add y; "
      "git commit -qm second; git checkout -q -; git merge -q other; git log --oneline | wc -l; "
      "git ls-files");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "2\nopen/file\ny\n") << result.ToString();
}

TEST_F(DenyTest, FileOperationsSeeTheSame) {
  const std::string cell = supervisor_.Cell(Request());
  grpc::ClientContext context;
  v1::FileOpRequest request;
  v1::FileOpResponse response;
  request.set_cell_id(cell);
  request.mutable_read()->set_path(".env");
  const grpc::Status status = supervisor_.stub()->FileOp(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
}

TEST_F(DenyTest, ReadOnlyMountsAreGuardedToo) {
  v1::PrepareCellRequest request = SupervisorHarness::Request("test");
  auto* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source(tree_);
  mount->set_target("/data");
  mount->set_access(policy::v1::ACCESS_READ_ONLY);
  request.mutable_sandbox()->add_deny("**/.env");
  const std::string cell = supervisor_.Cell(request);
  EXPECT_TRUE(supervisor_.Shell(cell, "cat /data/open/file").Exited(0));
  EXPECT_FALSE(supervisor_.Shell(cell, "cat /data/.env").Exited(0));
  EXPECT_FALSE(supervisor_.Shell(cell, "echo x > /data/new").Exited(0));
  EXPECT_FALSE(fs::exists(tree_ / "new"));
}

TEST_F(DenyTest, TheDeviceAndTheTreeBeneathAreOutOfReach) {
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_TRUE(supervisor_.Shell(cell, "test ! -e /dev/fuse").Exited(0));
  EXPECT_FALSE(supervisor_.Shell(cell, "umount /workspace").Exited(0));
  EXPECT_FALSE(supervisor_.Shell(cell, "unshare -Ur true").Exited(0));
}

// Nor is the guard's program any command's to execute, in the mode that allows most either.
TEST_F(DenyTest, TheProgramOfTheGuardIsNoCommands) {
  v1::PrepareCellRequest all = Request();
  all.mutable_key()->set_component("all");
  all.mutable_sandbox()->set_executables_mode(policy::v1::EXECUTABLES_MODE_ALL);
  for (const v1::PrepareCellRequest& request : {Request(), all}) {
    const std::string cell = supervisor_.Cell(request);
    const ExecResult result = supervisor_.Shell(
        cell,
        "test -e /.odyssey/cell-guard && test ! -f /.odyssey/cell-guard || echo there; "
        "/.odyssey/cell-guard");
    EXPECT_TRUE(result.Exited(126)) << result.ToString();
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(DenyTest, AKilledGuardClosesTheTree) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, "cat open/file").Exited(0));
  pid_t guard = -1;
  for (const pid_t pid : supervisor_.CellProcesses()) {
    if (CommandName(pid) == "cell-guard") guard = pid;
  }
  ASSERT_TRUE(SignalProcess(guard, SIGKILL));
  EXPECT_TRUE(Eventually([&] {
    return !supervisor_.Exec(cell, {"cat", "/workspace/open/file"}, {.cwd = "/tmp"}).Exited(0);
  }));
  EXPECT_FALSE(supervisor_.Exec(cell, {"cat", "/workspace/.env"}, {.cwd = "/tmp"}).Exited(0));
}

// A database that two guards show, and that a cell without one writes too.
TEST_F(DenyTest, LocksOfFilesHoldAgainstTheHostAndOtherCells) {
  const std::string begin =
      "import sqlite3\n"
      "base = sqlite3.connect('open/base', timeout=60, isolation_level=None)\n";
  const std::string writes =
      "for i in range(50):\n"
      "    base.execute('begin immediate')\n"
      "    count, = base.execute('select count(*) from t').fetchone()\n"
      "    base.execute('insert into t values (?, ?)', (count, 'x' * 500))\n"
      "    base.execute('commit')\n";
  v1::PrepareCellRequest other = Request();
  other.mutable_key()->set_component("other");
  v1::PrepareCellRequest beside = Request();
  beside.mutable_key()->set_component("beside");
  beside.mutable_sandbox()->clear_deny();
  const std::string cells[] = {supervisor_.Cell(Request()), supervisor_.Cell(other),
                               supervisor_.Cell(beside)};
  const auto python = [&](const std::string& cell, const std::string& program) {
    return supervisor_.Exec(cell, {"python3", "-c", begin + program});
  };
  ASSERT_TRUE(python(cells[2], "base.execute('create table t (n unique, text)')").Exited(0));
  std::vector<std::thread> writers;
  for (const std::string& cell : cells) {
    writers.emplace_back([&, cell] {
      const ExecResult result = python(cell, writes);
      EXPECT_TRUE(result.Exited(0)) << result.err;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(python(cells[2],
                   "print(*base.execute('pragma integrity_check').fetchone(),\n"
                   "      *base.execute('select count(*) from t').fetchone())")
                .out,
            "ok 150\n");
}

TEST_F(DenyTest, ABadPatternIsRefusedByName) {
  v1::PrepareCellRequest request = Request();
  request.mutable_sandbox()->add_deny("../x");
  const auto cell = supervisor_.Prepare(request);
  ASSERT_FALSE(cell.ok());
  EXPECT_EQ(cell.status().code(), Code::kInvalidArgument);
  EXPECT_NE(cell.status().message().find("deny[4]: \"../x\""), std::string::npos)
      << cell.status().message();
}

}  // namespace
}  // namespace odyssey::testing
