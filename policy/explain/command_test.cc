#include "policy/explain/command.h"

#include <gtest/gtest.h>

namespace odyssey::explain {
namespace {

// Where a relative name in `words` begins; "?" if that is not known.
std::string Of(const std::vector<std::string>& argv, const std::string& words) {
  const auto complaints = ParseComplaints(words);
  if (complaints.size() != 1) return "no complaint";
  return Whereabouts({argv, "/w", {}}).DirectoryOf(complaints[0]).value_or("?");
}

std::string OfScript(const std::string& script) {
  return Of({"sh", "-lc", script}, "cat: x: Permission denied");
}

TEST(WhereaboutsTest, ACommandIsWhereItStarts) {
  EXPECT_EQ(OfScript("cat x"), "/w");
  EXPECT_EQ(OfScript("echo a; cat x 2>&1 || true"), "/w");
  EXPECT_EQ(OfScript("echo abcd; cat x"), "/w") << "a part of a word moves nobody";
  EXPECT_EQ(Of({"cat", "x"}, "cat: x: Permission denied"), "/w");
  EXPECT_EQ(Of({"timeout", "5", "cat", "x"}, "cat: x: Permission denied"), "/w");
  EXPECT_EQ(Of({"/bin/sh", "-c", "./x"}, "/bin/sh: 1: ./x: Permission denied"), "/w");
  EXPECT_EQ(Of({"python3", "-c", "open('x')"}, "PermissionError: Permission denied: 'x'"), "/w");
}

TEST(WhereaboutsTest, WhereAScriptGoesFirstIsFollowed) {
  EXPECT_EQ(OfScript("cd d && cat x"), "/w/d");
  EXPECT_EQ(OfScript("  cd 'a b' && cd \"c\"&& cat x 2>&1 | tail"), "/w/a b/c");
  EXPECT_EQ(OfScript("cd /srv/d && cat x &>out"), "/srv/d");
}

TEST(WhereaboutsTest, WhatIsNotFollowedIsNotKnown) {
  for (const char* script : {"cd d; cat x",
                             "cd d\ncat x",
                             "cd d && true || cat x",
                             "cd d && sleep 1 & cat x",
                             "cd $D && cat x",
                             "cd \"$D\" && cat x",
                             "cd ~ && cat x",
                             "cd - && cat x",
                             "cd && cat x",
                             "cd d* && cat x",
                             "cd d\\ e && cat x",
                             "(cd d && cat x)",
                             "cd d && cd $E && cat x",
                             "true && cd d && cat x",
                             "pushd d && cat x",
                             "popd && cat x",
                             "chroot d cat x",
                             "env --chdir=d cat x",
                             "perl -e 'use Fcntl; fchdir(FD)'; cat x",
                             "find . -execdir cat x +",
                             "make --directory=d; cat x",
                             "eval $X; cat x",
                             "tar -C d; cat x",
                             "cd 'd",
                             "cd 'd'e && cat x",
                             "cd"}) {
    EXPECT_EQ(OfScript(script), "?") << script;
  }
  EXPECT_EQ(Of({"sh", "-c", "cd \"$1\" && cat x", "sh", "d"}, "cat: x: Permission denied"), "?");
  for (const char* script : {"\"$@\"", "cd d && \"$@\""}) {
    const std::vector<std::string> argv = {"sh", "-c", script, "sh", "env", "-C", "e", "cat", "x"};
    EXPECT_EQ(Of(argv, "cat: x: Permission denied"), "?") << script;
  }
  EXPECT_EQ(Of({"env", "-C", "d", "cat", "x"}, "cat: x: Permission denied"), "?");
  EXPECT_EQ(Of({"sh", "-c", "cat x" + std::string(100'000, ' ')}, "cat: x: Permission denied"),
            "?");
}

// Whom the arguments do not name may have been started anywhere.
TEST(WhereaboutsTest, OthersMayBeAnywhere) {
  EXPECT_EQ(OfScript("make"), "?");
  EXPECT_EQ(OfScript("concat x"), "?") << "another word that holds its name";
  EXPECT_EQ(Of({"sh", "cat"}, "cat: x: Permission denied"), "?") << "a file that is called so";
  EXPECT_EQ(Of({"sh", "x.sh"}, "cat: x: Permission denied"), "?");
  EXPECT_EQ(Of({"sh", "x.sh"}, "x.sh: 3: ./x: Permission denied"), "?");
  EXPECT_EQ(Of({"sh", "-c", "./x.sh"}, "./x.sh: 3: ./x: Permission denied"), "?");
  EXPECT_EQ(Of({"sh"}, "sh: 3: ./x: Permission denied"), "?") << "what it reads is not known";
  EXPECT_EQ(Of({"python3", "x.py"}, "PermissionError: Permission denied: 'x'"), "?");
  EXPECT_EQ(Of({}, "cat: x: Permission denied"), "?");
}

}  // namespace
}  // namespace odyssey::explain
