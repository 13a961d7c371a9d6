#include "policy/pattern/path_pattern.h"

#include <gtest/gtest.h>

namespace odyssey::pattern {
namespace {

PathPattern Parsed(std::string_view text) {
  auto pattern = PathPattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status().message();
  return std::move(*pattern);
}

struct Case {
  const char* pattern;
  const char* path;
  bool covered;
};

TEST(PathPatternTest, CoversMatchesAndWhatIsBelowThem) {
  for (const Case& c : std::initializer_list<Case>{
           {"**/.env", ".env", true},
           {"**/.env", "a/b/.env", true},
           {"**/.env", "a/.env/inside", true},
           {"**/.env", ".env.example", false},
           {"**/.env", "x.env", false},
           {"**/.env", "", false},
           {"**/.env*", "a/.env.local", true},
           {".env", "a/.env", false},
           {"secrets/**", "secrets", false},
           {"secrets/**", "secrets/a", true},
           {"secrets/**", "secrets/a/b", true},
           {"secrets/**", "a/secrets/b", false},
           {"a/**/z", "a/z", true},
           {"a/**/z", "a/b/c/z", true},
           {"a/**/z", "a/b/c", false},
           {"**/a/**/b", "x/a/y/a/z/b", true},
           {"*.pem", "key.pem", true},
           {"*.pem", "d/key.pem", false},
           {"?", "a", true},
           {"?", "ab", false},
           {"a*b*c", "aXbYbZc", true},
           {"a*b*c", "aXbYbZ", false},
           {"[ab]", "a", false},
           {"[ab]", "[ab]", true},
       }) {
    EXPECT_EQ(Parsed(c.pattern).Covers(c.path), c.covered) << c.pattern << " on " << c.path;
  }
}

TEST(PathPatternTest, ADirectoryIsTheSameBelowWhereNoNameOfItsPathCounts) {
  const struct {
    const char *pattern, *one, *other;
    bool same;
  } cases[] = {{"secrets/**", "secrets", "elsewhere", false},
               {"secrets/**", "a", "b", true},
               {"secrets/**/key", "secrets/a", "elsewhere", false},
               {"secrets/**/key", "secrets/a/b", "secrets/c", true},
               {"**/conf/secret", "a/b/conf", "a/b/other", false},
               {"**/conf/secret", "a/conf", "b/conf", true},
               {"a/*/c", "a", "b", false},
               {"a/*/c", "a/x", "a/y", true},
               {"a/*/c", "a/x", "b/x", false},
               {"**/.env", "a", "b/c", true},
               {"*.pem", "a", "b", true},
               {"*.pem", "", "b", false}};
  for (const auto& c : cases) {
    EXPECT_EQ(Parsed(c.pattern).IsSameBelow(c.one, c.other), c.same) << c.pattern << " " << c.one;
    EXPECT_EQ(Parsed(c.pattern).IsSameBelow(c.other, c.one), c.same) << c.pattern << " " << c.other;
  }
}

TEST(PathPatternTest, RefusesWhatItDoesNotMean) {
  for (const char* text :
       {"", "/etc", "a/", "a//b", "../a", "a/./b", "a**", "**b/c", "**", "**/**", "a\nb"}) {
    const auto pattern = PathPattern::Parse(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_EQ(pattern.status().code(), Code::kInvalidArgument);
    EXPECT_NE(pattern.status().message().find("allowed:"), std::string::npos);
  }
  EXPECT_FALSE(PathPattern::Parse(std::string(kMaxPatternBytes + 1, 'a')).ok());
}

TEST(PathPatternTest, TakesTimeInProportionForHostilePatterns) {
  std::string stars;
  std::string path;
  for (int i = 0; i < 300; ++i) {
    stars += "**/a/";
    path += "a/";
  }
  EXPECT_FALSE(Parsed(stars + "z").Covers(path + "y"));
  EXPECT_FALSE(Parsed("*a*a*a*a*a*a*a*a*b").Covers(std::string(4000, 'a')));
}

}  // namespace
}  // namespace odyssey::pattern
