#include "policy/explain/links.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/testing/hand_made_plan.h"

namespace odyssey::explain {
namespace {

using plan::EntryKind;

class LinksTest : public ::testing::Test {
 protected:
  LinksTest() {
    compiled_.plan.entries = {
        testing::SystemTree(),
        testing::Link("/bin", "usr/bin"),
        {.kind = EntryKind::kTmpfs, .target = "/tmp", .access = plan::Access::kReadWrite},
        testing::HostTree("/read/a", "/srv/a"),
        testing::HostTree("/read/a/over", "/srv/b"),
        {.kind = EntryKind::kPart, .target = "/read/a/part"}};
  }
  std::string Follow(const std::string& path) {
    const auto read = [this](const std::string& host) {
      const auto found = links_.find(host);
      return found == links_.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    return FollowInCell({request_, compiled_}, path, read).value_or("circle");
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
  std::map<std::string, std::string> links_;
};

TEST_F(LinksTest, HostTreesAreLookedAtUnderTheHostsNames) {
  const Cell cell = {request_, compiled_};
  EXPECT_EQ(HostPathOf(cell, "/read/a/x"), "/srv/a/x");
  EXPECT_EQ(HostPathOf(cell, "/read/a/over/x"), "/srv/b/x");
  EXPECT_EQ(HostPathOf(cell, "/read/a/part/x"), "/srv/a/part/x");
  EXPECT_EQ(HostPathOf(cell, "/tmp/x"), "");
  EXPECT_EQ(HostPathOf(cell, "/srv/a"), "");
}

TEST_F(LinksTest, TheyLeadInTheCellsTree) {
  links_ = {{"/srv/a/absolute", "/etc/passwd"}, {"/srv/a/d", "e/../over"}, {"/srv/b/l", "../x"},
            {"/srv/a/up", "../../../bin/env"},  {"/usr/bin/vi", "vim"},    {"/tmp/x", "/no"}};
  EXPECT_EQ(Follow("/read/a/plain"), "/read/a/plain");
  EXPECT_EQ(Follow("/read/a/absolute"), "/etc/passwd");
  EXPECT_EQ(Follow("/read/a/absolute/below"), "/etc/passwd/below");
  EXPECT_EQ(Follow("/read/a/d/l/y"), "/read/a/x/y");
  EXPECT_EQ(Follow("/read/a/up"), "/usr/bin/env");
  EXPECT_EQ(Follow("/bin/vi"), "/usr/bin/vim");
  EXPECT_EQ(Follow("/tmp/x"), "/tmp/x");
  EXPECT_EQ(Follow("/"), "/");
}

TEST_F(LinksTest, ACircleEnds) {
  links_ = {{"/srv/a/x", "y"}, {"/srv/a/y", "/read/a/x"}};
  EXPECT_EQ(Follow("/read/a/x/z"), "circle");
}

}  // namespace
}  // namespace odyssey::explain
