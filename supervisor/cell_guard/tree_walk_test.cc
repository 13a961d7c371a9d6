#include "supervisor/cell_guard/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

class TreeWalkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(Path("real/deep"));
    directory_.Write("real/file", "x");
    fs::create_directory_symlink("real", Path("link"));
    fs::create_directory_symlink("/", Path("out"));
    root_ = UniqueFd(open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  fakes::TemporaryDirectory directory_;
  UniqueFd root_;
  Place place_;
};

TEST_F(TreeWalkTest, FindsTheDirectoryAndTheName) {
  ASSERT_EQ(FindPlace(root_.get(), "/real/file", &place_), 0);
  EXPECT_EQ(place_.name, "file");
  EXPECT_EQ(faccessat(place_.directory.get(), "file", F_OK, 0), 0);
  ASSERT_EQ(FindPlace(root_.get(), "/", &place_), 0);
  EXPECT_EQ(place_.name, ".");
  ASSERT_EQ(FindPlace(root_.get(), "/link", &place_), 0) << "the link itself has a place";
  EXPECT_EQ(place_.name, "link");
}

TEST_F(TreeWalkTest, FollowsNoLinkOnTheWay) {
  EXPECT_EQ(FindPlace(root_.get(), "/link/file", &place_), ENOTDIR);
  EXPECT_EQ(FindPlace(root_.get(), "/out/etc/passwd", &place_), ENOTDIR);
  EXPECT_EQ(FindPlace(root_.get(), "/real/file/x", &place_), ENOTDIR);
  EXPECT_EQ(FindPlace(root_.get(), "/missing/file", &place_), ENOENT);
}

TEST(BelowTest, IsByWholeNames) {
  EXPECT_EQ(Below("a/b/c", "a"), "b/c");
  EXPECT_EQ(Below("a/b", "a/b"), "");
  EXPECT_EQ(Below("a", ""), "a");
  EXPECT_EQ(Below("ab", "a"), std::nullopt);
  EXPECT_EQ(Below("a", "a/b"), std::nullopt);
}

}  // namespace
}  // namespace odyssey::cell_guard
