// Which user commands are inside, and whose files those of the host appear as: with another uid
// than the usual one, and where a file system cannot be idmapped.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/cell_probe.h"
#include "tests/testing/machine.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOwner = 4321;

class CellUserTest : public ::testing::Test {
 protected:
  // What a test mounts is nobody else's, and ends with the program.
  static void SetUpTestSuite() {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  }

  CellUserTest() {
    fs::create_directory(directory_);
    EXPECT_EQ(chown(directory_.c_str(), kOwner, kOwner), 0);
  }
  ~CellUserTest() override {
    while (umount2(directory_.c_str(), MNT_DETACH) == 0) {
    }
  }

  v1::PrepareCellRequest Request(policy::v1::Access access) {
    v1::PrepareCellRequest request = SupervisorHarness::Request("user");
    policy::v1::Mount* mount = request.mutable_sandbox()->add_mounts();
    mount->set_source(directory_);
    mount->set_target("/d");
    mount->set_access(access);
    return request;
  }

  bool Explains(const std::string& cell, const std::string& text) {
    const auto lines = ExplanationOf(&supervisor_, cell);
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.find(text) != std::string::npos; });
  }

  void File(const std::string& name, mode_t mode) {
    std::ofstream(directory_ / name) << name;
    ASSERT_EQ(chmod((directory_ / name).c_str(), mode), 0);
    ASSERT_EQ(chown((directory_ / name).c_str(), kOwner, kOwner), 0);
  }

  SupervisorHarness supervisor_;
  const fs::path directory_ = supervisor_.directory() + "/d";
};

TEST_F(CellUserTest, IsTheOneThatThePolicyNames) {
  for (const uint32_t user : {1u, 1000u, 1234u, 65534u, 4294967294u}) {
    auto request = Request(policy::v1::ACCESS_READ_WRITE);
    request.mutable_sandbox()->set_user(user);
    const auto cell = supervisor_.Prepare(request);
    ASSERT_TRUE(cell.ok()) << cell.status().ToString();
    const std::string id = std::to_string(user);
    const ExecResult result = supervisor_.Shell(cell->cell_id(), R"(
id -u; id -g; id -un; id -gn; stat -c %u /workspace /cell/data/home /tmp /d
touch /workspace/a /tmp/a ~/a /d/a && stat -c %u /d/a
grep -c '^Cap.*0000000000000000$' /proc/self/status)");
    std::string expected = id + "\n" + id + "\nagent\nagent\n";
    for (int i = 0; i < 5; ++i) expected += id + "\n";
    EXPECT_EQ(result.out, expected + "5\n") << result.ToString();
    struct stat info {};
    ASSERT_EQ(stat((directory_ / "a").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, kOwner);
    EXPECT_NE(cell->host_uid(), user);
    EXPECT_FALSE(SupervisorHarness::ProcessesOf(cell->host_uid()).empty());
  }
}

TEST_F(CellUserTest, IsNeverMinusOne) {
  auto request = Request(policy::v1::ACCESS_READ_ONLY);
  request.mutable_sandbox()->set_user(4294967295u);
  const Status status = supervisor_.Prepare(request).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "user: 4294967295: 1 to 4294967294 are allowed, or 0 for 1000");
}

// As the owner himself may on the host: a group that is not the directory's is no obstacle, nor is
// an owner who lets everybody write; and nobody's file becomes another's.
TEST_F(CellUserTest, FilesOfAnotherGroupAndOfOthersAreUsedAsTheirOwnerMay) {
  constexpr gid_t kGroup = 33;
  File("group", 0664);
  File("shared", 0666);
  File("closed", 0644);
  fs::create_directory(directory_ / "sg");
  ASSERT_EQ(chown((directory_ / "group").c_str(), kOwner, kGroup), 0);
  ASSERT_EQ(chown((directory_ / "shared").c_str(), 0, 0), 0);
  ASSERT_EQ(chown((directory_ / "closed").c_str(), 0, 0), 0);
  ASSERT_EQ(chown((directory_ / "sg").c_str(), kOwner, kGroup), 0);
  ASSERT_EQ(chmod((directory_ / "sg").c_str(), 02775), 0);
  const std::string cell = supervisor_.Cell(Request(policy::v1::ACCESS_READ_WRITE));
  Findings findings = Probe(&supervisor_, cell, R"(
attempt('append', lambda: os.write(os.open('/d/group', os.O_WRONLY | os.O_APPEND), b'+'))
attempt('chmod', lambda: os.chmod('/d/group', 0o640))
attempt('rename', lambda: os.rename('/d/group', '/d/moved'))
attempt('set-group directory', lambda: os.close(os.open('/d/sg/new', os.O_CREAT | os.O_WRONLY)))
attempt('write for all', lambda: os.write(os.open('/d/shared', os.O_WRONLY), b'+'))
attempt('remove', lambda: os.unlink('/d/closed') if os.stat('/d/closed').st_uid == 65534 else 0 / 0)
)");
  ExpectAll(findings, {"ok"}, 6);
  findings = Probe(&supervisor_, cell, R"(
open('/d/mine', 'w').close()
for gid in [0, 33, 65534]:
    attempt(f'give group {gid}', lambda: os.chown('/d/mine', -1, gid))
attempt('give', lambda: os.chown('/d/mine', 0, -1))
attempt('take', lambda: os.chown('/d/shared', os.getuid(), -1))
attempt('chmod of another', lambda: os.chmod('/d/shared', 0o777))
)");
  ExpectAll(findings, {"EPERM", "EINVAL"}, 6);
  const auto owners = [&](const std::string& name) {
    struct stat info {};
    EXPECT_EQ(stat((directory_ / name).c_str(), &info), 0) << name;
    return std::pair(info.st_uid, info.st_gid);
  };
  EXPECT_EQ(owners("moved"), std::pair(kOwner, kGroup));
  EXPECT_EQ(owners("sg/new"), std::pair(kOwner, kGroup));
  EXPECT_EQ(owners("mine"), std::pair(kOwner, gid_t{kOwner}));
  EXPECT_EQ(owners("shared"), std::pair(uid_t{0}, gid_t{0}));
  EXPECT_FALSE(fs::exists(directory_ / "closed"));

  // Through a guard too.
  auto next = Request(policy::v1::ACCESS_READ_WRITE);
  next.mutable_key()->set_component("guarded");
  next.mutable_sandbox()->add_deny("**/.env");
  const ExecResult result = supervisor_.Shell(
      supervisor_.Cell(next), "echo x >>/d/moved && chmod 600 /d/moved && mv /d/moved /d/again");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(owners("again"), std::pair(kOwner, kGroup));
}

// The next cell's launcher stands ready before there is a next cell.
TEST_F(CellUserTest, SeesWhatIsMountedNow) {
  File("stays", 0644);
  const std::string first = supervisor_.Cell(Request(policy::v1::ACCESS_READ_ONLY));
  EXPECT_EQ(supervisor_.Shell(first, "ls /d").out, "stays\n");
  // By when the launcher for the next cell is asleep, a few ms later.
  ASSERT_TRUE(supervisor_.Shell(first, "sleep 0.3").Exited(0));
  ASSERT_EQ(mount("none", directory_.c_str(), "ramfs", 0, "mode=0755"), 0);
  File("mounted", 0644);
  auto next = Request(policy::v1::ACCESS_READ_ONLY);
  next.mutable_key()->set_component("next");
  EXPECT_EQ(supervisor_.Shell(supervisor_.Cell(next), "ls /d").out, "mounted\n");
}

// ramfs has no idmapped mounts.
TEST_F(CellUserTest, ReadsWhatEverybodyMayWhereNothingCanBeIdmapped) {
  ASSERT_EQ(mount("none", directory_.c_str(), "ramfs", 0, "mode=0755"), 0);
  ASSERT_EQ(chown(directory_.c_str(), kOwner, kOwner), 0);
  File("open", 0644);
  File("closed", 0600);
  File("wide", 0666);
  File("program", 04755);
  const std::string cell = supervisor_.Cell(Request(policy::v1::ACCESS_READ_ONLY));
  const Findings findings = Probe(&supervisor_, cell, R"(
attempt('open', lambda: open('/d/open').read())
attempt('closed', lambda: open('/d/closed').read())
attempt('write', lambda: os.open('/d/wide', os.O_WRONLY))
attempt('create', lambda: os.open('/d/new', os.O_CREAT | os.O_WRONLY))
attempt('chmod', lambda: os.chmod('/d/open', 0o777))
attempt('execute', lambda: os.execv('/d/program', ['program']))
report('owner', os.stat('/d').st_uid)
)");
  EXPECT_EQ(findings.at("open"), "ok");
  EXPECT_EQ(findings.at("closed"), "EACCES");
  EXPECT_EQ(findings.at("write"), "EROFS");
  EXPECT_EQ(findings.at("create"), "EROFS");
  EXPECT_EQ(findings.at("chmod"), "EROFS");
  EXPECT_EQ(findings.at("execute"), "EACCES");
  EXPECT_EQ(findings.at("owner"), "65534");
  EXPECT_TRUE(Explains(cell, "/d: its file system cannot be idmapped"));
}

TEST_F(CellUserTest, RefusesWhereThatWouldShowNothingOrWouldHaveToWrite) {
  ASSERT_EQ(mount("none", directory_.c_str(), "ramfs", 0, "mode=0755"), 0);
  Status status = supervisor_.Prepare(Request(policy::v1::ACCESS_READ_WRITE)).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
  EXPECT_NE(status.message().find("mount " + directory_.string() + ": its file system"),
            std::string::npos)
      << status.ToString();
  ASSERT_EQ(chmod(directory_.c_str(), 0750), 0);
  status = supervisor_.Prepare(Request(policy::v1::ACCESS_READ_ONLY)).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
  auto request = SupervisorHarness::Request("user");
  request.set_workspace(directory_);
  status = supervisor_.Prepare(request).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
}

// Wherever it is mounted: by its path nothing would refuse it.
TEST_F(CellUserTest, ShowsNoFileSystemOfTheKernels) {
  for (const char* type : {"proc", "sysfs"}) {
    ASSERT_EQ(mount("none", directory_.c_str(), type, 0, nullptr), 0) << type;
    for (const auto access : {policy::v1::ACCESS_READ_ONLY, policy::v1::ACCESS_READ_WRITE}) {
      const Status status = supervisor_.Prepare(Request(access)).status();
      EXPECT_EQ(status.code(), Code::kPermissionDenied) << type << ": " << status.ToString();
      EXPECT_NE(status.message().find(directory_.string() + ": it is on a kernel file system"),
                std::string::npos)
          << status.ToString();
    }
    ASSERT_EQ(umount2(directory_.c_str(), MNT_DETACH), 0);
  }
}

TEST_F(CellUserTest, ReadsAnOverlayAsItIs) {
  for (const std::string part : {"lower", "upper", "work"}) {
    fs::create_directory(directory_ / part);
  }
  std::ofstream(directory_ / "lower/file") << "from below";
  const std::string base = directory_.string();
  const std::string options =
      "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work";
  ASSERT_EQ(mount("none", base.c_str(), "overlay", 0, options.c_str()), 0);
  const std::string cell = supervisor_.Cell(Request(policy::v1::ACCESS_READ_ONLY));
  EXPECT_EQ(supervisor_.Shell(cell, "cat /d/file; > /d/file").out, "from below");
  EXPECT_EQ(Slurp(directory_ / "file"), "from below");
}

TEST_F(CellUserTest, SaysNothingOfThatWhereItIsMapped) {
  const std::string cell = supervisor_.Cell(Request(policy::v1::ACCESS_READ_ONLY));
  EXPECT_TRUE(Explains(cell, "/d: the host's"));
  EXPECT_FALSE(Explains(cell, "idmapped"));
}

TEST_F(CellUserTest, APathThatIsNotThereIsNamed) {
  auto request = SupervisorHarness::Request("user");
  policy::v1::Mount* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source("/does/not/exist");
  mount->set_target("/d");
  mount->set_access(policy::v1::ACCESS_READ_ONLY);
  const Status status = supervisor_.Prepare(request).status();
  EXPECT_EQ(status.code(), Code::kNotFound) << status.ToString();
  EXPECT_NE(status.message().find("/does/not/exist"), std::string::npos) << status.ToString();
}

TEST_F(CellUserTest, BestEffortIsNoWeakerThanItsKernel) {
  auto request = SupervisorHarness::Request("user");
  request.mutable_sandbox()->set_landlock(policy::v1::LANDLOCK_BEST_EFFORT);
  const auto cell = supervisor_.Prepare(request);
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  bool truncate = false;
  for (const v1::Feature& layer : cell->layers()) {
    truncate = truncate || (layer.name() == "landlock_truncate" && layer.in_force());
  }
  EXPECT_EQ(truncate, LandlockAbi() >= kLandlockTruncate);
  const Findings findings = Probe(&supervisor_, cell->cell_id(), R"(
attempt('make', lambda: os.open('/dev/new', os.O_CREAT | os.O_WRONLY))
)");
  EXPECT_EQ(findings.at("make"), "EACCES");
}

}  // namespace
}  // namespace odyssey::testing
