#include "supervisor/host_runner/grants.h"

#include <gtest/gtest.h>

namespace odyssey::host_runner {
namespace {

using Words = std::vector<std::string>;

Words Parsed(std::string_view text) {
  const auto grants = ParseGrants(text);
  EXPECT_TRUE(grants.ok()) << grants.status().ToString();
  return grants.ok() ? *grants : Words();
}

TEST(GrantsTest, ReadsOneUserALineAndLeavesCommentsOut) {
  EXPECT_EQ(Parsed(""), Words());
  EXPECT_EQ(Parsed("alice"), Words{"alice"});
  EXPECT_EQ(Parsed("# whom we trust\n\n  alice\t# until May\n1001\nb.o-b_2\n"),
            (Words{"alice", "1001", "b.o-b_2"}));
}

TEST(GrantsTest, OneBadLineMakesTheWholeFileCountForNobody) {
  struct Case {
    std::string text;
    const char* line;
  };
  const Case cases[] = {
      {"alice\nbob carol\n", "line 2: "},
      {"*", "line 1: "},
      {"alice\n\n-n\n", "line 3: "},
      {"01000", "line 1: "},
      {"99999999999", "line 1: "},
      {"1000,1001", "line 1: "},
      {"alice\r\n", "line 1: "},
      {std::string("al\0ice", 6), "line 1: "},
      {"al\xc3\xaf"
       "ce",
       "line 1: "},
      {"\x1b[2Jalice", "line 1: "},
      {std::string(kMaxNameBytes + 1, 'a'), "line 1: "},
  };
  for (const Case& bad : cases) {
    const Status status = ParseGrants(bad.text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad.text;
    EXPECT_EQ(status.message().rfind(bad.line, 0), 0u) << status.message();
    EXPECT_EQ(status.message().find('\x1b'), std::string::npos) << "says none of its bytes";
  }
}

TEST(GrantsTest, SaysThatRootIsNeverGranted) {
  for (const char* text : {"root", "0"}) {
    const Status status = ParseGrants(text).status();
    EXPECT_NE(status.message().find("uid 0 never"), std::string::npos) << status.message();
  }
}

TEST(GrantsTest, IsBounded) {
  EXPECT_FALSE(ParseGrants(std::string(kMaxGrantBytes + 1, '\n')).ok());
  std::string most;
  for (size_t i = 0; i < kMaxGrants; ++i) most += "u\n";
  EXPECT_EQ(Parsed(most).size(), kMaxGrants);
  EXPECT_FALSE(ParseGrants(most + "u\n").ok());
}

TEST(GrantsTest, NamesAUserByNameOrUidAndNothingElse) {
  const HostUser alice = {.uid = 1000, .gid = 100, .name = "alice"};
  EXPECT_TRUE(Names({"bob", "alice"}, alice));
  EXPECT_TRUE(Names({"1000"}, alice));
  EXPECT_FALSE(Names({}, alice));
  EXPECT_FALSE(Names({"alic", "alice2", "Alice", "100", "10000"}, alice));
}

TEST(GrantsTest, UidZeroAndOdysseysOwnNeverRunACommand) {
  const OwnUids own = {.rpc = 900, .clients = {0, 901}, .first_cell = 70000, .last_cell = 70010};
  for (const uid_t uid : {0u, 900u, 901u, 70000u, 70005u, 70010u}) {
    EXPECT_EQ(CheckUid(uid, own).code(), Code::kPermissionDenied) << uid;
  }
  for (const uid_t uid : {1u, 1000u, 69999u, 70011u}) EXPECT_TRUE(CheckUid(uid, own).ok()) << uid;
  EXPECT_NE(CheckUid(0, own).message().find("whatever the flags"), std::string::npos);
}

}  // namespace
}  // namespace odyssey::host_runner
