#include "image/dockerfile/ignore_file.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::dockerfile {
namespace {

IgnoreFile Parsed(const std::string& text) {
  Problems problems;
  IgnoreFile file = IgnoreFile::Parse(text, &problems);
  EXPECT_EQ(problems, Problems()) << text;
  return file;
}

TEST(IgnoreFileTest, Patterns) {
  const struct {
    std::string text, path;
    bool ignored;
  } cases[] = {
      {"a", "a", true},
      {"a", "a/b/c", true},
      {"a", "b/a", false},
      {"/a/", "a", true},
      {"./a", "a", true},
      {"*.o", "x.o", true},
      {"*.o", "d/x.o", false},
      {"*/x", "d/x", true},
      {"*/*/x", "d/x", false},
      {"**/*.o", "x.o", true},
      {"**/*.o", "d/e/x.o", true},
      {"**.o", "d/e/.o", true},
      {"**.o", "d/e/x.o", false},
      {"d/**", "d/e/f", true},
      {"d/**", "d", false},
      {"d/**/f", "d/f", true},
      {"d/**/f", "d/e/e/f", true},
      {"d/**/f", "dx/f", false},
      {"**", "a/b", true},
      {"a?c", "abc", true},
      {"a?c", "a/c", false},
      {"[a-c]x", "bx", true},
      {"[^a-c]x", "bx", false},
      {"[^a]x", "/x", false},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"# a\n#b\n", "b", false},
      {" a \r\n", "a", true},
      {"a\n!a/keep", "a/keep", false},
      {"a\n!a/keep", "a/other", true},
      {"!a\na", "a", true},
      {"*\n!*.md\nREADME.md", "README.md", true},
      {"*\n!*.md\nREADME.md", "other.md", false},
      {"*\n! src", "src/a", false},
      {".\n/\n", "a", false},
      {"a/../b", "b", true},
      {"../b", "b", true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Parsed(c.text).Ignores(c.path), c.ignored) << c.text << " of " << c.path;
  }
  EXPECT_TRUE(Parsed("a\n!b").keeps_any());
  EXPECT_FALSE(Parsed("a\nb").keeps_any());
}

TEST(IgnoreFileTest, RefusesByLine) {
  Problems problems;
  (void)IgnoreFile::Parse("a\n[b\n!\nc\\\n", &problems);
  EXPECT_EQ(problems, (Problems{{2, "pattern \"[b\": a bracket is not closed"},
                                {3, "a pattern is missing"},
                                {4, "pattern \"c\\\": nothing follows the \\"}}));
}

// Time is bounded by the product of both lengths: a backtracking matcher would not end.
TEST(IgnoreFileTest, ManyStarsEnd) {
  std::string pattern, path(2000, 'a');
  for (int i = 0; i < 100; ++i) pattern += "**/*a";
  EXPECT_FALSE(Parsed(pattern + "b").Ignores(path));
}

TEST(PathPatternTest, WithoutGlobstarStarsStayInAComponent) {
  const Result<PathPattern> pattern = PathPattern::Parse("a/**", Globstar::kNone);
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->Matches("a/b"));
  EXPECT_FALSE(pattern->Matches("a/b/c"));
  EXPECT_TRUE(pattern->is_wild());
  EXPECT_FALSE(PathPattern::Parse("a/b\\*", Globstar::kNone)->is_wild());
}

TEST(PathPatternTest, CleanPaths) {
  EXPECT_EQ(CleanPath("/a//b/./c/../d/"), "a/b/d");
  EXPECT_EQ(CleanPath("../../x"), "x");
  EXPECT_EQ(CleanPath("/"), "");
}

}  // namespace
}  // namespace odyssey::dockerfile
