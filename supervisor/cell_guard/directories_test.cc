#include "supervisor/cell_guard/directories.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::cell_guard {
namespace {

TEST(DirectoriesTest, HasWhatLiesBesideAPathAndNothingElse) {
  Directories directories;
  EXPECT_FALSE(directories.HasParentOf("top"));
  directories.AddParentOf("a/b/file");
  for (const char* path : {"a/b/other", "/a/b/other"}) EXPECT_TRUE(directories.HasParentOf(path));
  for (const char* path : {"a/b", "/a/b/c/file", "file", "", "/", "b/file"}) {
    EXPECT_FALSE(directories.HasParentOf(path)) << path;
  }
  directories.AddParentOf("top");
  EXPECT_TRUE(directories.HasParentOf("/other"));
}

TEST(DirectoriesTest, TakesAllOnceThereAreTooMany) {
  Directories directories;
  for (size_t i = 0; i < Directories::kMost; ++i) {
    directories.AddParentOf(std::to_string(i) + "/file");
  }
  EXPECT_FALSE(directories.HasParentOf("elsewhere/file"));
  directories.AddParentOf("one more/file");
  EXPECT_TRUE(directories.HasParentOf("elsewhere/file"));
}

}  // namespace
}  // namespace odyssey::cell_guard
