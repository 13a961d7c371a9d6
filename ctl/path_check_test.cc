#include "ctl/path_check.h"

#include <gtest/gtest.h>

#include "tests/testing/hand_made_plan.h"

namespace odyssey::ctl {
namespace {

using plan::EntryKind;

class PathCheckTest : public ::testing::Test {
 protected:
  PathCheckTest() {
    compiled_.plan.entries = {
        testing::SystemTree(),
        testing::Link("/bin", "usr/bin"),
        {.kind = EntryKind::kFile, .target = "/etc/passwd", .source = "generated"},
        {.kind = EntryKind::kTmpfs, .target = "/tmp", .access = plan::Access::kReadWrite},
        testing::HostTree("/read/a", "/srv/a"),
        testing::HostTree("/write/out", "/srv/a/out", plan::Access::kReadWrite),
        {.kind = EntryKind::kPart, .target = "/write/out/.git/hooks"}};
    compiled_.confinement.rules = testing::RulesWriting({"/write/out", "/tmp"});
  }
  Result<rules::Decision> Decide(const std::string& path) {
    return DecidePath({request_, compiled_}, path);
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
};

TEST_F(PathCheckTest, SaysWhereAndWhatWouldAllowMore) {
  const auto read = Decide("/srv/a/x.txt");
  EXPECT_EQ(read->verdict, rules::Verdict::kAllow);
  EXPECT_EQ(read->rule, "mount /read/a read_only");
  EXPECT_EQ(read->reason,
            "read-only, as /read/a/x.txt; to write: "
            "sandbox.permissions.filesystem.mounts.write: [\"/srv/a\"]");
}

TEST_F(PathCheckTest, WritableViewIsTheStrongerAnswer) {
  EXPECT_EQ(Decide("/srv/a/out/x")->reason, "read and write, as /write/out/x");
  EXPECT_EQ(Decide("/srv/a/out")->rule, "mount /write/out");
}

TEST_F(PathCheckTest, ProtectedPartsAreReadOnly) {
  EXPECT_EQ(Decide("/srv/a/out/.git/hooks/x")->rule,
            "policy protection /write/out/.git/hooks read_only");
}

TEST_F(PathCheckTest, SystemTreesAreReadOnlyAlsoByTheirLinks) {
  EXPECT_EQ(Decide("/usr/bin/env")->reason, "read-only, may be executed, as /usr/bin/env");
  EXPECT_EQ(Decide("/bin/env")->reason, "read-only, may be executed, as /usr/bin/env");
}

TEST_F(PathCheckTest, DeniedNamesCannotBeOpened) {
  compiled_.confinement.guards = {{.path = "/read/a", .deny = {"**/.env"}}};
  const auto decision = Decide("/srv/a/.env");
  EXPECT_EQ(decision->verdict, rules::Verdict::kDeny);
  EXPECT_EQ(decision->rule, "policy deny **/.env");
}

TEST_F(PathCheckTest, WhatNothingShowsIsDenied) {
  for (const char* path : {"/etc/shadow", "/etc/passwd", "/srv", "/srv/ab", "/root/.ssh", "/"}) {
    EXPECT_EQ(Decide(path)->verdict, rules::Verdict::kDeny) << path;
  }
  EXPECT_NE(Decide("/srv/ab")->reason.find("to allow: sandbox.permissions.filesystem.mounts.read: "
                                           "[\"/srv/ab\"]"),
            std::string::npos);
}

TEST_F(PathCheckTest, WhatTheCellHasOfItsOwnIsSaid) {
  for (const char* path : {"/tmp/x", "/tmp//x/", "/etc/passwd"}) {
    const auto decision = Decide(path);
    EXPECT_EQ(decision->verdict, rules::Verdict::kDeny) << path;
    EXPECT_NE(decision->reason.find("the cell has its own there"), std::string::npos) << path;
  }
  EXPECT_NE(Decide("/srv/ab")->reason.find("does not exist in the cell"), std::string::npos);
}

TEST_F(PathCheckTest, PathMustBeAbsoluteAndNormalised) {
  for (const char* path : {"", "srv/a", "/srv/a/../b"}) {
    EXPECT_EQ(Decide(path).status().code(), Code::kInvalidArgument) << path;
  }
}

}  // namespace
}  // namespace odyssey::ctl
