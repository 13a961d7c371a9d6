#include "agentd/tool/path_glob.h"

#include <gtest/gtest.h>

namespace odyssey::tools {
namespace {

bool Matches(const std::string& pattern, const std::string& path) {
  const Result<PathGlob> glob = PathGlob::Parse(pattern);
  EXPECT_TRUE(glob.ok()) << glob.status().ToString();
  return glob.ok() && glob->Matches(path);
}

std::string ErrorOf(const std::string& pattern) {
  return PathGlob::Parse(pattern).status().message();
}

TEST(PathGlobTest, AStarStaysInAComponent) {
  EXPECT_TRUE(Matches("src/*.rs", "src/a.rs"));
  EXPECT_FALSE(Matches("src/*.rs", "src/x/a.rs"));
  EXPECT_FALSE(Matches("src/*.rs", "other/src/a.rs"));
  EXPECT_TRUE(Matches("src/?.rs", "src/a.rs"));
  EXPECT_FALSE(Matches("src/?.rs", "src/ab.rs"));
}

TEST(PathGlobTest, TwoStarsStandForAnyNumberOfComponents) {
  for (const char* path : {"src/a.rs", "src/x/a.rs", "src/x/y/a.rs"}) {
    EXPECT_TRUE(Matches("src/**/*.rs", path)) << path;
  }
  EXPECT_TRUE(Matches("**/a", "a"));
  EXPECT_TRUE(Matches("src/**", "src/x/y"));
  EXPECT_FALSE(Matches("src/**/*.rs", "a.rs"));
}

TEST(PathGlobTest, APatternWithoutASlashIsOfNames) {
  EXPECT_TRUE(Matches("*.rs", "a.rs"));
  EXPECT_TRUE(Matches("*.rs", "src/x/a.rs"));
  EXPECT_FALSE(Matches("./*.rs", "src/a.rs"));
}

TEST(PathGlobTest, ClassesAndAlternatives) {
  EXPECT_TRUE(Matches("[a-c].txt", "b.txt"));
  EXPECT_FALSE(Matches("[!a-c].txt", "b.txt"));
  EXPECT_TRUE(Matches("[]]", "]"));
  EXPECT_TRUE(Matches("*.{cc,h}", "x/a.h"));
  EXPECT_TRUE(Matches("{src,lib/{a,b}}/*.h", "lib/b/x.h"));
  EXPECT_FALSE(Matches("*.{cc,h}", "a.py"));
  EXPECT_TRUE(Matches("a\\*", "a*"));
  EXPECT_FALSE(Matches("a\\*", "ab"));
}

TEST(PathGlobTest, WhatIsMalformedIsNamed) {
  EXPECT_EQ(ErrorOf("a[b"), "pattern \"a[b\": unbalanced \"[\"");
  EXPECT_EQ(ErrorOf("a{b"), "pattern \"a{b\": unbalanced \"{\"");
  EXPECT_EQ(ErrorOf("a}b"), "pattern \"a}b\": unbalanced \"}\"");
  EXPECT_EQ(ErrorOf("a\\"), "pattern \"a\\\": unbalanced \"\\\"");
  EXPECT_EQ(ErrorOf(""), "pattern cannot be empty");
  EXPECT_NE(ErrorOf("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}").find("at most 64"), std::string::npos);
}

TEST(PathGlobTest, ManyStarsAreMatchedInPolynomialTime) {
  std::string pattern = "x", path = "x";
  for (int i = 0; i < 200; ++i) pattern += "/**/a";
  for (int i = 0; i < 400; ++i) path += "/a";
  EXPECT_TRUE(Matches(pattern, path));
  EXPECT_FALSE(Matches(pattern + "/b", path));
}

}  // namespace
}  // namespace odyssey::tools
