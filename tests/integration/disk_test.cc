// limits.disk_bytes: a cell's directories on disk are a file system of their own, of that size,
// that outlives the cell and is seen and held by nobody else.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/os/unique_fd.h"
#include "tests/integration/cell_probe.h"
#include "tests/testing/machine.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;
constexpr uint64_t kBound = 16 * kMegabyte;

class DiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/sbin/mkfs.ext4")) {
      ASSERT_EQ(getenv("ODYSSEY_MUST_RUN"), nullptr);  // NOLINT(concurrency-mt-unsafe)
      GTEST_SKIP() << "needs mkfs.ext4";
    }
    if (WhyNoLoopDevices().empty()) return;
    const Status status = Refusal(With(kBound));
    EXPECT_NE(status.message().find("limits.disk_bytes"), std::string::npos) << status.ToString();
    EXPECT_NE(status.message().find("/dev/loop"), std::string::npos) << status.ToString();
    EXPECT_EQ(Images().size(), 0u);
    GTEST_SKIP() << "this machine has no loop devices: " << WhyNoLoopDevices();
  }

  static v1::PrepareCellRequest With(uint64_t bytes, const std::string& component = "disk") {
    auto request = SupervisorHarness::Request(component);
    request.set_ephemeral(false);
    request.mutable_sandbox()->mutable_limits()->set_disk_bytes(bytes);
    return request;
  }

  Status Refusal(const v1::PrepareCellRequest& request) {
    const auto info = supervisor_.Prepare(request);
    EXPECT_FALSE(info.ok());
    return info.status();
  }

  // What the refusal of a start says; and nothing of the start is left.
  void ExpectRefused(const v1::PrepareCellRequest& request, Code code,
                     const std::vector<std::string>& words) {
    const Status status = Refusal(request);
    EXPECT_EQ(status.code(), code) << status.ToString();
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.ToString();
    }
    EXPECT_TRUE(Eventually([this] { return Devices().empty(); }));
  }

  // Images of this supervisor's cells, by the path of the host.
  std::vector<fs::path> Images() const { return Named("disk.img"); }
  std::vector<fs::path> Named(const std::string& name) const {
    std::vector<fs::path> found;
    for (const auto& entry :
         fs::recursive_directory_iterator(supervisor_.directory() + "/state/cells")) {
      if (entry.path().filename() == name) found.push_back(entry.path());
    }
    return found;
  }

  // What loop devices hold of this supervisor's.
  std::vector<std::string> Devices() const {
    std::vector<std::string> held;
    for (const auto& entry : fs::directory_iterator("/sys/block")) {
      const std::string file = Slurp(entry.path() / "loop/backing_file");
      if (file.find(supervisor_.directory()) == 0) held.push_back(file);
    }
    return held;
  }

  ::testing::AssertionResult Unseen() const {
    for (const pid_t pid : {getpid(), supervisor_.keeper(), supervisor_.worker()}) {
      const std::string mounts = Slurp("/proc/" + std::to_string(pid) + "/mounts");
      if (mounts.find(supervisor_.directory()) == std::string::npos) continue;
      return ::testing::AssertionFailure() << mounts;
    }
    return ::testing::AssertionSuccess();
  }

  // Waits until odyssey-cell-disk is in this tree, asleep in flock(2).
  static ::testing::AssertionResult Waits(const fs::path& tree) {
    const auto waits = [&tree] {
      for (const auto& entry : fs::directory_iterator("/proc")) {
        std::error_code gone;
        if (Slurp(entry.path() / "comm") != "odyssey-cell-di\n") continue;
        if (fs::read_symlink(entry.path() / "cwd", gone) != tree) continue;
        if (Slurp(entry.path() / "syscall").rfind(std::to_string(SYS_flock) + " ", 0) == 0) {
          return true;
        }
      }
      return false;
    };
    if (Eventually(waits)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "nobody waits in " << tree;
  }

  static uint64_t SpaceOf(const fs::path& file) {
    struct stat info {};
    EXPECT_EQ(stat(file.c_str(), &info), 0);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  }

  SupervisorHarness supervisor_;
};

TEST_F(DiskTest, MoreThanTheBoundIsNoSpaceAndSaysWhichLimit) {
  const std::string cell = supervisor_.Cell(With(kBound));
  const ExecResult result = supervisor_.Shell(
      cell, "head -c 64M /dev/zero | tr '\\0' x > /cell/data/home/f; echo x > /workspace/g");
  EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.ToString();
  ASSERT_FALSE(result.denials.empty()) << result.ToString();
  EXPECT_EQ(result.denials[0].kind(), "limit");
  EXPECT_EQ(result.denials[0].rule(), "mount disk_bytes 16777216");
  EXPECT_EQ(result.denials[0].grant(), "sandbox.resources.disk_mb: 32");
  ASSERT_EQ(Images().size(), 1u);
  EXPECT_EQ(fs::file_size(Images()[0]), kBound);
  EXPECT_LE(SpaceOf(Images()[0]), kBound + kMegabyte);
  EXPECT_TRUE(supervisor_.Shell(cell, "sync; rm ~/f && echo x > g && sync").Exited(0));
}

TEST_F(DiskTest, EveryDirectoryOfTheCellIsOnIt) {
  const std::string cell = supervisor_.Cell(With(kBound));
  for (const std::string place :
       {"/workspace", "/cell/data/home", "/cell/cache", "/cell/tmp", "/cell/runs"}) {
    const ExecResult result = supervisor_.Shell(
        cell, "head -c 64M /dev/zero > " + place + "/f; ls -d /workspace; rm -f " + place + "/f");
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << place << result.ToString();
  }
}

TEST_F(DiskTest, ManySmallFilesMeetTheBoundToo) {
  const Findings findings = Probe(&supervisor_, supervisor_.Cell(With(kBound)), R"(
count = 0
def many():
    global count
    while count < 8192:
        open('/workspace/%d' % count, 'w').write('x')
        count += 1
attempt('open', many)
report('some', count > 500)
)");
  EXPECT_EQ(findings, (Findings{{"open", "ENOSPC"}, {"some", "True"}}));
}

TEST_F(DiskTest, FilesOutliveTheCellAndTheSupervisorAndThePurgeRemovesAll) {
  std::string cell = supervisor_.Cell(With(kBound));
  EXPECT_TRUE(supervisor_.Shell(cell, "echo first > kept; echo second > ~/kept").Exited(0));
  EXPECT_TRUE(supervisor_.Remove(cell, /*purge=*/false).ok());
  cell = supervisor_.Cell(With(kBound));
  EXPECT_EQ(supervisor_.Shell(cell, "cat kept ~/kept").out, "first\nsecond\n");

  supervisor_.KillKeeper();
  EXPECT_TRUE(Eventually([this] { return Devices().empty(); })) << Devices()[0];
  ASSERT_TRUE(Eventually([this] { return supervisor_.Restart(); })) << supervisor_.Log();
  // The client's old connection fails once.
  EXPECT_TRUE(Eventually([&] {
    const auto info = supervisor_.Prepare(With(kBound));
    if (info.ok()) cell = info->cell_id();
    return info.ok();
  }));
  EXPECT_EQ(supervisor_.Shell(cell, "cat kept ~/kept").out, "first\nsecond\n");
  EXPECT_TRUE(supervisor_.Remove(cell, /*purge=*/true).ok());
  EXPECT_TRUE(fs::is_empty(supervisor_.directory() + "/state/cells"));
  EXPECT_TRUE(Eventually([this] { return Devices().empty(); }));
}

TEST_F(DiskTest, NobodyElseSeesItAndNothingOfItStays) {
  const std::string cell = supervisor_.Cell(With(kBound));
  EXPECT_TRUE(supervisor_.Shell(cell, "echo x > seen").Exited(0));
  EXPECT_EQ(Devices().size(), 1u);
  EXPECT_TRUE(Unseen());
  struct stat info {};
  ASSERT_EQ(stat(Images()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_uid, 0u);
  EXPECT_TRUE(Named("seen").empty());
  EXPECT_TRUE(supervisor_.Remove(cell, /*purge=*/false).ok());
  EXPECT_TRUE(Eventually([this] { return Devices().empty(); })) << Devices()[0];
  EXPECT_TRUE(Unseen());
}

TEST_F(DiskTest, ACellHasItsFilesInOneWayOnly) {
  auto directories = With(0);
  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(directories), "echo x > kept").Exited(0));
  ExpectRefused(With(kBound), Code::kFailedPrecondition,
                {"limits.disk_bytes: 16777216: ", "odyssey-ctl cell rm CELL --purge"});
  EXPECT_TRUE(Images().empty());
  const std::string as_before = supervisor_.Cell(directories);
  EXPECT_EQ(supervisor_.Shell(as_before, "cat kept").out, "x\n");
  EXPECT_TRUE(supervisor_.Remove(as_before, /*purge=*/true).ok());

  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(With(kBound)), "echo y > kept").Exited(0));
  ExpectRefused(directories, Code::kFailedPrecondition, {"limits.disk_bytes: 0: ", "purge"});
  EXPECT_EQ(supervisor_.Shell(supervisor_.Cell(With(kBound)), "cat kept").out, "y\n");
}

TEST_F(DiskTest, HasTheSizeItWasMadeWith) {
  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(With(2 * kBound)), "echo x > kept").Exited(0));
  ExpectRefused(With(kBound), Code::kFailedPrecondition,
                {"limits.disk_bytes: 16777216: ", "33554432", "--purge"});
  ExpectRefused(With(4 * kBound), Code::kFailedPrecondition,
                {"limits.disk_bytes: 67108864: ", "33554432", "--purge"});
  EXPECT_EQ(fs::file_size(Images()[0]), 2 * kBound);
  EXPECT_EQ(supervisor_.Shell(supervisor_.Cell(With(2 * kBound)), "cat kept").out, "x\n");
}

TEST_F(DiskTest, TwoCellsHaveOneEach) {
  const std::string one = supervisor_.Cell(With(kBound, "one"));
  const std::string two = supervisor_.Cell(With(kBound, "two"));
  EXPECT_EQ(Devices().size(), 2u);
  EXPECT_FALSE(supervisor_.Shell(one, "head -c 64M /dev/zero > f").Exited(0));
  EXPECT_TRUE(supervisor_.Shell(two, "head -c 8M /dev/zero > f").Exited(0));
  EXPECT_TRUE(supervisor_.Remove(one).ok());
  EXPECT_EQ(supervisor_.Shell(two, "wc -c < f").out, "8388608\n");
}

TEST_F(DiskTest, FollowsNoLinkOfTheTree) {
  EXPECT_TRUE(supervisor_.Remove(supervisor_.Cell(With(kBound)), /*purge=*/false).ok());
  const fs::path image = Images().at(0);
  const fs::path tree = image.parent_path();
  const fs::path precious = supervisor_.directory() + "/precious";
  const auto size_of_precious = [&] { return fs::file_size(precious / "file"); };
  fs::create_directory(precious);
  std::ofstream(precious / "file") << "precious";

  fs::remove(tree / "disk");
  fs::create_directory_symlink(precious, tree / "disk");
  ExpectRefused(With(kBound), Code::kInvalidArgument, {"limits.disk_bytes"});
  fs::remove(tree / "disk");

  fs::rename(image, supervisor_.directory() + "/image");
  fs::create_symlink(supervisor_.directory() + "/image", image);
  ExpectRefused(With(kBound), Code::kInvalidArgument, {"limits.disk_bytes", "disk.img"});
  fs::remove(image);
  fs::create_symlink(precious / "file", tree / "disk.new");
  ExpectRefused(With(kBound), Code::kInvalidArgument, {"limits.disk_bytes", "disk.new"});
  EXPECT_EQ(size_of_precious(), 8u);
  fs::remove(tree / "disk.new");
  ASSERT_EQ(mkfifo(image.c_str(), 0600), 0);
  ExpectRefused(With(kBound), Code::kInvalidArgument, {"limits.disk_bytes", "disk.img"});
}

TEST_F(DiskTest, AnUnfinishedOneIsMadeAnew) {
  EXPECT_TRUE(supervisor_.Remove(supervisor_.Cell(With(kBound)), /*purge=*/false).ok());
  const fs::path image = Images().at(0);
  fs::remove(image);
  std::ofstream(image.parent_path() / "disk.new") << std::string(kBound, 'x');
  EXPECT_TRUE(supervisor_.Shell(supervisor_.Cell(With(kBound)), "echo x > f").Exited(0));
  EXPECT_LT(SpaceOf(image), kBound / 2) << "with nothing of what was there";
  EXPECT_TRUE(Named("disk.new").empty());
}

// Whoever still has it: another mount of the same file system would ruin it.
TEST_F(DiskTest, WaitsUntilItIsNobodyElses) {
  EXPECT_TRUE(supervisor_.Remove(supervisor_.Cell(With(kBound)), /*purge=*/false).ok());
  UniqueFd held(open(Images().at(0).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  std::string cell;
  std::thread start([&] { cell = supervisor_.Cell(With(kBound)); });
  EXPECT_TRUE(Waits(Images().at(0).parent_path()));
  EXPECT_TRUE(Devices().empty());
  held.reset();
  start.join();
  EXPECT_TRUE(supervisor_.Shell(cell, "echo x > f").Exited(0));
  // And a live cell's is held.
  UniqueFd other(open(Images()[0].c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), -1);
}

// Two that make one at the same time would write to the same unfinished file.
TEST_F(DiskTest, IsMadeByOneAtATime) {
  EXPECT_TRUE(supervisor_.Remove(supervisor_.Cell(With(kBound)), /*purge=*/false).ok());
  const fs::path image = Images().at(0);
  fs::remove(image);
  UniqueFd held(open(image.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  std::string cell;
  std::thread start([&] { cell = supervisor_.Cell(With(kBound)); });
  EXPECT_TRUE(Waits(image.parent_path()));
  EXPECT_TRUE(Named("disk.new").empty());
  EXPECT_TRUE(Images().empty());
  held.reset();
  start.join();
  EXPECT_TRUE(supervisor_.Shell(cell, "echo x > f").Exited(0));
}

TEST_F(DiskTest, FilesAreTheCellUsersAndRunAsElsewhere) {
  const std::string script = R"(
stat -c %u . ~ /cell/tmp; touch f; stat -c %u f; mkdir d; stat -c %u d
printf '#!/bin/sh\necho ran\n' > s; chmod 755 s; chmod u+s s 2>/dev/null; ./s 2>/dev/null || echo refused
stat -c %a s; mknod n c 1 3 2>/dev/null || echo no device)";
  auto request = With(kBound);
  std::string cell = supervisor_.Cell(request);
  const std::string owned = "1000\n1000\n1000\n1000\n1000\n";
  const std::string plain = supervisor_.Shell(supervisor_.Cell(With(0, "plain")), script).out;
  EXPECT_EQ(supervisor_.Shell(cell, script).out, plain);
  EXPECT_EQ(plain.substr(0, owned.size()), owned);
  EXPECT_NE(plain.find("refused\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("no device\n"), std::string::npos) << plain;

  request.mutable_sandbox()->set_executables_mode(policy::v1::EXECUTABLES_MODE_ALL);
  cell = supervisor_.Cell(request);
  EXPECT_EQ(supervisor_.Shell(cell, "./s").out, "ran\n");
}

TEST_F(DiskTest, IsToldWithTheCell) {
  const auto info = supervisor_.Prepare(With(kBound));
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->workspace_path(), "") << "no path of the host leads there";
  grpc::ClientContext context;
  v1::DescribeCellRequest request;
  request.set_cell_id(info->cell_id());
  v1::DescribeCellResponse response;
  ASSERT_TRUE(supervisor_.stub()->DescribeCell(&context, request, &response).ok());
  EXPECT_NE(response.ShortDebugString().find("disk_bytes 16777216: "), std::string::npos);
}

TEST_F(DiskTest, TooLittleForAFileSystemOrInMemoryIsRefused) {
  ExpectRefused(With(kBound - 1), Code::kInvalidArgument,
                {"limits.disk_bytes: 16777215: ", "16777216"});
  auto in_memory = With(kBound);
  in_memory.set_ephemeral(true);
  ExpectRefused(in_memory, Code::kInvalidArgument, {"limits.disk_bytes", "limits.tmp_bytes"});
}

}  // namespace
}  // namespace odyssey::testing
