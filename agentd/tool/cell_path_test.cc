#include "agentd/tool/cell_path.h"

#include <gtest/gtest.h>

namespace odyssey::tools {
namespace {

constexpr char kRoot[] = "/workspace";

TEST(CellPathTest, RelativePathsAreOfTheWorkspace) {
  EXPECT_EQ(AbsolutePath("a/./b//", kRoot), "/workspace/a/b");
  EXPECT_EQ(AbsolutePath(".", kRoot), "/workspace");
  EXPECT_EQ(AbsolutePath("/cell/tmp/", kRoot), "/cell/tmp");
}

TEST(CellPathTest, WhereAPathLeadsHasTheFormOfThePath) {
  EXPECT_EQ(UsedPath("pub/link", "", kRoot), "pub/link");
  EXPECT_EQ(UsedPath("pub/link", "/workspace/secrets/a", kRoot), "secrets/a");
  EXPECT_EQ(UsedPath("/workspace/link", "/workspace/secrets/a", kRoot), "/workspace/secrets/a");
  EXPECT_EQ(UsedPath("link", "/cell/tmp/a", kRoot), "/cell/tmp/a");
  EXPECT_EQ(UsedPath("link", "/workspace", kRoot), ".");
  EXPECT_EQ(UsedPath("link", "/workspaces/a", kRoot), "/workspaces/a");
}

}  // namespace
}  // namespace odyssey::tools
