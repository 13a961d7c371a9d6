#include "ctl/changes/direct_writes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

using policy::Access;
using policy::Mode;

TEST(DirectWritesTest, AreThoseOfWritableMountsAndOfAWritableWorkspace) {
  policy::SandboxRequest sandbox = {
      .mounts = {{"/r", "/r", Access::kReadOnly}, {"/w", "/w", Access::kReadWrite}},
      .workspace = "/p"};
  EXPECT_EQ(DirectlyWritten(sandbox), (std::vector<std::string>{"/p", "/w"}));
  sandbox.workspace_writes = policy::Writes::kReview;
  EXPECT_EQ(DirectlyWritten(sandbox), std::vector<std::string>{"/w"}) << "the workspace is a copy";
  policy::ReviewAllWrites(&sandbox);
  EXPECT_TRUE(DirectlyWritten(sandbox).empty());
  sandbox.mounts[1].access = Access::kReadWrite;
  sandbox.mode = Mode::kReadOnly;
  EXPECT_EQ(DirectlyWritten(sandbox), std::vector<std::string>{"/w"});
  sandbox.mode = Mode::kDangerFullAccess;
  EXPECT_TRUE(DirectlyWritten(sandbox).empty());
}

TEST(DirectWritesTest, AreToldOfRepositoriesAlone) {
  const fakes::TemporaryDirectory plain, repository;
  std::filesystem::create_directory(repository.path() + "/.git");
  const auto lines = DirectWriteLines({plain.path(), repository.path()});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].rfind("writes to " + repository.path() + " are direct: ", 0), 0u) << lines[0];
}

}  // namespace
}  // namespace odyssey::ctl
