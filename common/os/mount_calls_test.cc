#include "common/os/mount_calls.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

namespace odyssey {
namespace {

namespace fs = std::filesystem;

class MountCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root mounts";
    std::string path = (fs::temp_directory_path() / "odyssey-mounts-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    fs::create_directory(directory_ / "at");
    fs::create_directory(directory_ / "from");
    fs::create_symlink("from", directory_ / "link");
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string At() const { return (directory_ / "at").string(); }
  std::string From() const { return (directory_ / "from").string(); }

  // The flags of what `make` mounts at At(), in a mount namespace that ends with the call.
  unsigned long FlagsOf(const std::function<Status()>& make) const {
    unsigned long flags = 0;
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const bool own = unshare(CLONE_NEWNS) == 0 &&
                       mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
      struct statvfs info {};
      const bool made = own && make().ok() && statvfs(At().c_str(), &info) == 0;
      _exit(made && write(ends[1], &info.f_flag, sizeof(flags)) == sizeof(flags) ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    close(ends[1]);
    EXPECT_EQ(read(ends[0], &flags, sizeof(flags)), static_cast<ssize_t>(sizeof(flags)));
    close(ends[0]);
    return flags;
  }

  Status MountClone(const MountAttributes& attributes) const {
    ODY_ASSIGN_OR_RETURN(const UniqueFd from, OpenHostPath(From()));
    ODY_ASSIGN_OR_RETURN(const UniqueFd at, OpenHostPath(At()));
    ODY_ASSIGN_OR_RETURN(const UniqueFd tree, CloneTree(from.get(), From()));
    ODY_RETURN_IF_ERROR(SetAttributes(tree.get(), attributes, From()));
    return AttachTree(tree.get(), at.get(), From());
  }

  fs::path directory_;
};

TEST_F(MountCallsTest, AClonedTreeTakesNoSetUidBitAndNoDeviceWhateverElseItIs) {
  const unsigned long plain = FlagsOf([this] { return MountClone({}); });
  EXPECT_NE(plain & ST_NOSUID, 0u);
  EXPECT_NE(plain & ST_NODEV, 0u);
  EXPECT_EQ(plain & (ST_RDONLY | ST_NOEXEC), 0u);
  const unsigned long closed =
      FlagsOf([this] { return MountClone({.read_only = true, .no_exec = true}); });
  EXPECT_EQ(closed & (ST_RDONLY | ST_NOEXEC | ST_NOSUID | ST_NODEV),
            static_cast<unsigned long>(ST_RDONLY | ST_NOEXEC | ST_NOSUID | ST_NODEV));
}

TEST_F(MountCallsTest, ATmpfsTakesNoSetUidBitAndNoDevice) {
  const unsigned long flags = FlagsOf([this]() -> Status {
    ODY_ASSIGN_OR_RETURN(const UniqueFd at, OpenHostPath(At()));
    return MountNew("tmpfs", at.get(), "size=4k", 0, At());
  });
  EXPECT_NE(flags & ST_NOSUID, 0u);
  EXPECT_NE(flags & ST_NODEV, 0u);
}

TEST_F(MountCallsTest, NoLinkIsFollowed) {
  const std::string below = (directory_ / "link/x").string();
  for (const std::string& path : {(directory_ / "link").string(), below}) {
    EXPECT_EQ(OpenHostPath(path).status().code(), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(OpenHostPath("/proc/self/root").status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(OpenHostPath(directory_).ok());
  EXPECT_EQ(OpenInRoot(OpenHostPath(directory_)->get(), "link").status().code(),
            Code::kInvalidArgument);
}

TEST_F(MountCallsTest, NothingAboveARootIsReached) {
  const auto root = OpenHostPath(From());
  ASSERT_TRUE(root.ok());
  const auto up = OpenInRoot(root->get(), "../at");
  EXPECT_EQ(up.status().code(), Code::kNotFound) << "\"..\" of the root is the root";
}

TEST_F(MountCallsTest, KnowsTheKernelsFileSystems) {
  EXPECT_TRUE(IsKernelFilesystem(OpenHostPath("/proc/sys")->get()));
  EXPECT_TRUE(IsKernelFilesystem(OpenHostPath("/sys")->get()));
  EXPECT_FALSE(IsKernelFilesystem(OpenHostPath(From())->get()));
  EXPECT_TRUE(IsKernelFilesystem(-1)) << "what cannot be asked";
}

}  // namespace
}  // namespace odyssey
