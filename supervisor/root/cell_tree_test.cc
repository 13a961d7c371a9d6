#include "supervisor/root/cell_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/file.h"
#include "common/os/mount_calls.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::root {
namespace {

namespace fs = std::filesystem;

class CellTreeTest : public ::testing::Test {
 protected:
  UniqueFd Root() const { return OpenHostPath(directory_.path()).value(); }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  int Purge(const std::string& tree) {
    const auto pid = StartRemovingCellTree(directory_.path(), tree);
    int status = -1;
    if (pid.ok()) waitpid(*pid, &status, 0);
    return status;
  }

  const fakes::TemporaryDirectory directory_;
};

TEST_F(CellTreeTest, MakesEachMissingDirectoryForItsOwnerAlone) {
  const auto opened = OpenTreeDirectory(Root().get(), "data/home", getuid());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  for (const char* name : {"data", "data/home"}) {
    struct stat info;
    ASSERT_EQ(stat(Path(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u);
    EXPECT_EQ(info.st_uid, getuid());
  }
  EXPECT_TRUE(OpenTreeDirectory(Root().get(), "data/home", getuid()).ok()) << "a second time";
}

TEST_F(CellTreeTest, FollowsNoLinkWhereverTheCellLeftIt) {
  fs::create_directories(Path("outside/home"));
  fs::create_directory_symlink(Path("outside"), Path("data"));
  EXPECT_EQ(OpenTreeDirectory(Root().get(), "data/home", getuid()).status(),
            InvalidArgument("sandbox path must not be a symlink: data"));
  fs::create_directories(Path("cache"));
  fs::create_directory_symlink(Path("outside"), Path("cache/home"));
  EXPECT_EQ(OpenTreeDirectory(Root().get(), "cache/home", getuid()).status(),
            InvalidArgument("sandbox path must not be a symlink: cache/home"));
}

TEST_F(CellTreeTest, RefusesAFileInTheWay) {
  directory_.Write("data", "x");
  EXPECT_EQ(OpenTreeDirectory(Root().get(), "data", getuid()).status(),
            InvalidArgument("sandbox path must be a directory: data"));
}

TEST_F(CellTreeTest, IsMadeWhileAnotherIsRemoved) {
  const pid_t remover = fork();
  if (remover == 0) {
    for (;;) {
      rmdir(Path("kind/agent").c_str());
      rmdir(Path("kind").c_str());
      usleep(100);
    }
  }
  for (int i = 0; i < 500; ++i) {
    const Result<UniqueFd> tree = OpenCellTree(directory_.path(), "kind/agent/one", getuid(), 0);
    EXPECT_TRUE(tree.ok()) << tree.status().ToString();
    fs::remove_all(Path("kind/agent/one"));
  }
  kill(remover, SIGKILL);
  waitpid(remover, nullptr, 0);
}

// Else the cell would find none of its files.
TEST_F(CellTreeTest, RefusesATreeThatIsADisk) {
  directory_.Write("kind/one/disk.img", "");
  const Status status = OpenCellTree(directory_.path(), "kind/one", getuid(), 0).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message().find("limits.disk_bytes: 0: "), 0u) << status.ToString();
  EXPECT_FALSE(fs::exists(Path("kind/one/app")));
}

TEST_F(CellTreeTest, RemovesTheTreeAndItsEmptiedParentsButNoOther) {
  directory_.Write("kind/agent/one/app/file", "x");
  directory_.Write("kind/other/two/app/file", "x");
  EXPECT_EQ(Purge("kind/agent/one"), 0);
  EXPECT_FALSE(fs::exists(Path("kind/agent")));
  EXPECT_TRUE(fs::exists(Path("kind/other/two/app/file")));
  EXPECT_EQ(Purge("kind/other/two"), 0);
  EXPECT_TRUE(fs::is_empty(directory_.path()));
  EXPECT_TRUE(fs::exists(directory_.path()));
}

TEST_F(CellTreeTest, RemovalDoesNotFollowLinks) {
  const fakes::TemporaryDirectory outside;
  const std::string precious = outside.Write("file", "precious");
  fs::create_directories(Path("kind/one"));
  fs::create_directory_symlink(outside.path(), Path("kind/one/app"));
  EXPECT_EQ(Purge("kind/one"), 0);
  EXPECT_EQ(ReadFile(precious, 100).value(), "precious");
}

}  // namespace
}  // namespace odyssey::root
