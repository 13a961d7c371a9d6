#include "policy/answer/path_answer.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/testing/hand_made_plan.h"

namespace odyssey::answer {
namespace {

using plan::EntryKind;

class PathAnswerTest : public ::testing::Test {
 protected:
  PathAnswerTest() {
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
  PathAnswer Decide(const std::string& path) {
    return DecidePath({request_, compiled_}, ReadLink(), path);
  }
  explain::ReadLink ReadLink() const {
    return [this](const std::string& path) {
      const auto found = links_.find(path);
      return found == links_.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
  std::map<std::string, std::string> links_;  // of the host
};

TEST_F(PathAnswerTest, SaysWhereAndWhatWouldAllowMore) {
  const auto read = Decide("/srv/a/x.txt");
  EXPECT_TRUE(read.allowed);
  EXPECT_EQ(read.rule, "mount /read/a read_only");
  EXPECT_EQ(read.reason, "read-only, as /read/a/x.txt");
  EXPECT_EQ(read.grant.text, "sandbox.permissions.filesystem.mounts.write: [\"/srv/a\"]");
  EXPECT_EQ(read.grant.key, explain::Grant::Key::kMountWrite);
}

TEST_F(PathAnswerTest, WritableViewIsTheStrongerAnswer) {
  EXPECT_EQ(Decide("/srv/a/out/x").reason, "read and write, as /write/out/x");
  EXPECT_EQ(Decide("/srv/a/out").rule, "mount /write/out");
}

TEST_F(PathAnswerTest, ProtectedPartsAreReadOnly) {
  EXPECT_EQ(Decide("/srv/a/out/.git/hooks/x").rule,
            "policy protection /write/out/.git/hooks read_only");
}

TEST_F(PathAnswerTest, SystemTreesAreReadOnlyAlsoByTheirLinks) {
  EXPECT_EQ(Decide("/usr/bin/env").reason, "read-only, may be executed, as /usr/bin/env");
  EXPECT_EQ(Decide("/bin/env").reason, "read-only, may be executed, as /usr/bin/env");
}

TEST_F(PathAnswerTest, DeniedNamesCannotBeOpened) {
  compiled_.confinement.guards = {{.path = "/read/a", .deny = {"**/.env"}}};
  const auto decision = Decide("/srv/a/.env");
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.rule, "policy deny **/.env");
}

TEST_F(PathAnswerTest, WhatNothingShowsIsDenied) {
  for (const char* path : {"/etc/shadow", "/etc/passwd", "/srv", "/srv/ab", "/root/.ssh", "/"}) {
    EXPECT_FALSE(Decide(path).allowed) << path;
  }
  EXPECT_EQ(Decide("/srv/ab").grant.text,
            "sandbox.permissions.filesystem.mounts.read: [\"/srv/ab\"]");
}

TEST_F(PathAnswerTest, WhatTheCellHasOfItsOwnIsSaid) {
  for (const char* path : {"/tmp/x", "/etc/passwd"}) {
    const auto decision = Decide(path);
    EXPECT_FALSE(decision.allowed) << path;
    EXPECT_NE(decision.reason.find("the cell has its own there"), std::string::npos) << path;
  }
  EXPECT_NE(Decide("/srv/ab").reason.find("does not exist in the cell"), std::string::npos);
}

TEST_F(PathAnswerTest, LinksLeadWhereTheCellHasThem) {
  links_ = {{"/srv/a/out/passwd", "/etc/passwd"},
            {"/srv/a/out/hidden", "/srv/b/x"},
            {"/srv/a/out/read", "/read/a/x"},
            {"/srv/a/out/way", "."},
            {"/srv/a/out/turn", "turn"}};
  auto decision = Decide("/srv/a/out/passwd");
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason,
            "through a symbolic link /write/out/passwd is /etc/passwd in the cell: nothing of the "
            "policy shows this path of the host; the cell has its own there");
  decision = Decide("/srv/a/out/hidden");
  EXPECT_FALSE(decision.allowed);
  EXPECT_NE(decision.reason.find("is /srv/b/x in the cell"), std::string::npos);
  EXPECT_TRUE(decision.through_link);
  EXPECT_EQ(decision.host, "");
  decision = Decide("/srv/a/out/read");
  EXPECT_EQ(decision.rule, "mount /read/a read_only");
  EXPECT_NE(decision.reason.find("is /read/a/x in the cell: read-only"), std::string::npos);
  EXPECT_NE(Decide("/srv/a/out/way/f").reason.find("read and write, as /write/out/f"),
            std::string::npos);
  EXPECT_FALSE(Decide("/srv/a/out/turn").allowed);
}

TEST_F(PathAnswerTest, AnswerNamesThePlaceOnTheHostThatItIsAbout) {
  links_ = {{"/srv/a/out/read", "/read/a/x"}};
  EXPECT_EQ(Decide("/srv/a/out/read").host, "/srv/a/x");
  EXPECT_EQ(Decide("/srv/b").host, "");
}

TEST_F(PathAnswerTest, DeniedNameIsNoWayToWhatItsLinkLeadsTo) {
  links_ = {{"/srv/a/.env", "x"}};
  compiled_.confinement.guards = {{.path = "/read/a", .deny = {"**/.env"}}};
  EXPECT_EQ(Decide("/srv/a/.env").rule, "policy deny **/.env");
}

}  // namespace
}  // namespace odyssey::answer
