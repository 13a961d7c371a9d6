#include "ctl/path_check.h"

#include <gtest/gtest.h>

#include <map>

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
    ODY_ASSIGN_OR_RETURN(PathAnswer answer,
                         DecidePath({{request_, compiled_}, ReadLink(), dialect_}, path));
    return answer.decision;
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
  dialect::Dialect dialect_ = dialect::Dialect::kOdyssey;
};

TEST_F(PathCheckTest, SaysWhereAndWhatWouldAllowMore) {
  const auto read = Decide("/srv/a/x.txt");
  EXPECT_EQ(read->verdict, rules::Verdict::kAllow);
  EXPECT_EQ(read->rule, "mount /read/a read_only");
  EXPECT_EQ(read->reason,
            "read-only, as /read/a/x.txt; to write: "
            "sandbox.permissions.filesystem.mounts.write: [\"/srv/a\"]");
}

TEST_F(PathCheckTest, HintsAreInTheKeysOfTheFilesKind) {
  dialect_ = dialect::Dialect::kOpenShell;
  EXPECT_EQ(Decide("/srv/a/x.txt")->reason,
            "read-only, as /read/a/x.txt; to write: filesystem_policy.read_write: [/srv/a]");
  EXPECT_EQ(Decide("/srv/a/out/.git/hooks/x")->reason,
            "read-only, as /write/out/.git/hooks/x");  // there is no key for it
  links_ = {{"/srv/a/out/hidden", "/srv/b/x"}};
  EXPECT_NE(Decide("/srv/a/out/hidden")->reason.find("filesystem_policy.read_only: [/srv/b/x]"),
            std::string::npos);
  dialect_ = dialect::Dialect::kOdek;
  EXPECT_NE(Decide("/srv/b")->reason.find("sandbox_volumes: [/srv/b:TARGET:ro]"),
            std::string::npos);
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

TEST_F(PathCheckTest, LinksLeadWhereTheCellHasThem) {
  links_ = {{"/srv/a/out/passwd", "/etc/passwd"},
            {"/srv/a/out/hidden", "/srv/b/x"},
            {"/srv/a/out/read", "/read/a/x"},
            {"/srv/a/out/way", "."},
            {"/srv/a/out/turn", "turn"}};
  auto decision = Decide("/srv/a/out/passwd");
  EXPECT_EQ(decision->verdict, rules::Verdict::kDeny);
  EXPECT_EQ(decision->reason,
            "through a symbolic link /write/out/passwd is /etc/passwd in the cell: nothing of the "
            "policy shows this path of the host; the cell has its own there");
  decision = Decide("/srv/a/out/hidden");
  EXPECT_EQ(decision->verdict, rules::Verdict::kDeny);
  EXPECT_NE(decision->reason.find("is /srv/b/x in the cell"), std::string::npos);
  // A manifest would show it under another name.
  EXPECT_EQ(decision->reason.find("to allow"), std::string::npos);
  decision = Decide("/srv/a/out/read");
  EXPECT_EQ(decision->rule, "mount /read/a read_only");
  EXPECT_NE(decision->reason.find("is /read/a/x in the cell: read-only"), std::string::npos);
  EXPECT_NE(Decide("/srv/a/out/way/f")->reason.find("read and write, as /write/out/f"),
            std::string::npos);
  EXPECT_EQ(Decide("/srv/a/out/turn")->verdict, rules::Verdict::kDeny);
}

TEST_F(PathCheckTest, AnswerNamesThePlaceOnTheHostThatItIsAbout) {
  links_ = {{"/srv/a/out/read", "/read/a/x"}};
  EXPECT_EQ(DecidePath({{request_, compiled_}, ReadLink(), dialect_}, "/srv/a/out/read")->host,
            "/srv/a/x");
  EXPECT_EQ(DecidePath({{request_, compiled_}, ReadLink(), dialect_}, "/srv/b")->host, "");
}

TEST_F(PathCheckTest, DeniedNameIsNoWayToWhatItsLinkLeadsTo) {
  links_ = {{"/srv/a/.env", "x"}};
  compiled_.confinement.guards = {{.path = "/read/a", .deny = {"**/.env"}}};
  EXPECT_EQ(Decide("/srv/a/.env")->rule, "policy deny **/.env");
}

TEST_F(PathCheckTest, PathMustBeAbsoluteAndNormalised) {
  for (const char* path : {"", "srv/a", "/srv/a/../b"}) {
    EXPECT_EQ(Decide(path).status().code(), Code::kInvalidArgument) << path;
  }
}

}  // namespace
}  // namespace odyssey::ctl
