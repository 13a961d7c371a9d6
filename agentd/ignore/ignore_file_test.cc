#include "agentd/ignore/ignore_file.h"

#include <gtest/gtest.h>

#include <string>

#include "agentd/ignore/glob_regex.h"

namespace odyssey::ignore {
namespace {

Match FileIn(const std::string& text, std::string_view path) {
  return IgnoreFile::Parse(text).Of(path, NodeKind::kOther);
}
Match DirectoryIn(const std::string& text, std::string_view path) {
  return IgnoreFile::Parse(text).Of(path, NodeKind::kDirectory);
}
bool Ignores(const std::string& text, std::string_view path) {
  return FileIn(text, path) == Match::kIgnored;
}

TEST(IgnoreFileTest, ANameIsMatchedAtEveryDepthAndASlashAnchors) {
  EXPECT_TRUE(Ignores("a.txt\n", "a.txt"));
  EXPECT_TRUE(Ignores("a.txt", "x/y/a.txt"));
  EXPECT_TRUE(Ignores("/a.txt", "a.txt"));
  EXPECT_FALSE(Ignores("/a.txt", "x/a.txt"));
  EXPECT_TRUE(Ignores("x/a.txt", "x/a.txt"));
  EXPECT_FALSE(Ignores("x/a.txt", "y/x/a.txt"));
}

TEST(IgnoreFileTest, TheLastPatternThatFitsCounts) {
  EXPECT_EQ(FileIn("*.log\n!keep.log\n", "keep.log"), Match::kKept);
  EXPECT_EQ(FileIn("!keep.log\n*.log\n", "keep.log"), Match::kIgnored);
  EXPECT_EQ(FileIn("*.log\n", "a.txt"), Match::kNone);
}

// Also where the two are in groups of patterns far apart.
TEST(IgnoreFileTest, OrderHoldsAcrossManyPatterns) {
  std::string text = "*.log\n";
  for (int i = 0; i < 200; ++i) text += "name" + std::to_string(i) + "\n";
  text += "!keep.log\n";
  for (int i = 200; i < 400; ++i) text += "name" + std::to_string(i) + "\n";
  EXPECT_EQ(FileIn(text, "keep.log"), Match::kKept);
  EXPECT_EQ(FileIn(text, "x/b.log"), Match::kIgnored);
  EXPECT_EQ(FileIn(text, "d/name399"), Match::kIgnored);
}

TEST(IgnoreFileTest, AnEndingSlashIsForDirectories) {
  EXPECT_EQ(DirectoryIn("build/", "build"), Match::kIgnored);
  EXPECT_EQ(FileIn("build/", "build"), Match::kNone);
  EXPECT_EQ(DirectoryIn("build/", "x/build"), Match::kIgnored);
}

TEST(IgnoreFileTest, StarsStayInAComponentAndTwoSpanMany) {
  EXPECT_FALSE(Ignores("/a*z", "a/z"));
  EXPECT_TRUE(Ignores("a/**/z", "a/z"));
  EXPECT_TRUE(Ignores("a/**/z", "a/b/c/z"));
  EXPECT_TRUE(Ignores("**/z", "z"));
  EXPECT_TRUE(Ignores("a/**", "a/b"));
  EXPECT_EQ(DirectoryIn("a/**", "a"), Match::kNone);
  EXPECT_TRUE(Ignores("**", "anything/at/all"));
  EXPECT_FALSE(Ignores("/a**z", "a/z"));
}

TEST(IgnoreFileTest, ClassesBracesAndEscapes) {
  EXPECT_TRUE(Ignores("[a-c].x", "b.x"));
  EXPECT_FALSE(Ignores("[!a-c].x", "b.x"));
  EXPECT_TRUE(Ignores("*.{o,a}", "x.a"));
  EXPECT_TRUE(Ignores("\\#a", "#a"));
  EXPECT_TRUE(Ignores("\\!a", "!a"));
  EXPECT_TRUE(Ignores("a\\*", "a*"));
  EXPECT_FALSE(Ignores("a\\*", "ab"));
  EXPECT_TRUE(Ignores("a.b", "a.b"));
  EXPECT_FALSE(Ignores("a.b", "axb"));
}

TEST(IgnoreFileTest, CommentsBlanksAndBrokenLinesAreNoPatterns) {
  EXPECT_EQ(FileIn("#a\n\n   \n", "#a"), Match::kNone);
  EXPECT_TRUE(Ignores("[a\n{b\nc\\\nd  \r\n", "d"));
  EXPECT_TRUE(Ignores("d\\ \n", "d "));
  EXPECT_TRUE(Ignores("d\\ \r\n", "d "));
  EXPECT_FALSE(Ignores("}\n", "anything"));
  EXPECT_EQ(GlobRegex("[z-a]"), std::nullopt);
  EXPECT_EQ(GlobRegex("{a,{b,c}}"), std::nullopt);
  EXPECT_FALSE(Ignores("\xFF\na\n", "a"));
  EXPECT_EQ(FileIn("", "a"), Match::kNone);
}

// The time of a match does not depend on how the patterns are made.
TEST(IgnoreFileTest, ManyStarsAreMatchedInLinearTime) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(Ignores(pattern + "b", std::string(4000, 'a')));
  EXPECT_TRUE(Ignores(pattern, std::string(4000, 'a')));
}

TEST(IgnoreFileTest, ALongFileIsReadUpToItsBound) {
  std::string text = "first\n";
  while (text.size() < kMaxIgnoreFileBytes) text += std::string(4000, 'x') + "\n";
  text += "last\n";
  const IgnoreFile file = IgnoreFile::Parse(text);
  EXPECT_EQ(file.Of("first", NodeKind::kOther), Match::kIgnored);
  EXPECT_EQ(file.Of("last", NodeKind::kOther), Match::kNone);
}

}  // namespace
}  // namespace odyssey::ignore
