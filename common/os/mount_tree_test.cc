#include "common/os/mount_tree.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace odyssey {
namespace {

namespace fs = std::filesystem;

class MountTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-tree-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    auto tree = MountTree::Open(path);
    ASSERT_TRUE(tree.ok()) << tree.status().ToString();
    tree_ = std::move(*tree);
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path directory_;
  MountTree tree_;
};

TEST_F(MountTreeTest, MakesAPlaceAndItsParentsOnce) {
  EXPECT_TRUE(tree_.Make("/a/b/c", S_IFREG).ok());
  EXPECT_TRUE(tree_.Make("/a/b/c", S_IFREG).ok());
  EXPECT_TRUE(fs::is_regular_file(directory_ / "a/b/c"));
  std::string name;
  EXPECT_TRUE(tree_.MakeParent("/d", &name).ok());
  EXPECT_EQ(name, "d");
  EXPECT_TRUE(tree_.MakeParent("/e/f/g", &name).ok());
  EXPECT_EQ(name, "g");
  EXPECT_TRUE(fs::is_directory(directory_ / "e/f"));
  EXPECT_FALSE(fs::exists(directory_ / "e/f/g"));
}

TEST_F(MountTreeTest, RefusesAPlaceOfAnotherTypeAndFollowsNoLink) {
  fs::create_directory(directory_ / "directory");
  fs::create_directory_symlink("directory", directory_ / "link");
  EXPECT_EQ(tree_.Make("/directory", S_IFREG).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(tree_.Make("/link", S_IFDIR).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(tree_.Make("/link/x", S_IFDIR).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(fs::is_empty(directory_ / "directory"));
}

TEST_F(MountTreeTest, CreatesNothingOnAFileSystemOfOthers) {
  // A tree whose own file system is another one than its directory's.
  auto other = MountTree::Open("/proc");
  ASSERT_TRUE(other.ok());
  const Status made = other->Make("/self/task/x", S_IFDIR).status();
  EXPECT_EQ(made.code(), Code::kInvalidArgument) << made.ToString();
}

}  // namespace
}  // namespace odyssey
