#include "policy/pattern/path_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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

// Every path of up to `depth` names, "" among them.
std::vector<std::string> PathsOf(int depth) {
  std::vector<std::string> out = {""};
  for (size_t i = 0; depth > 0; --depth) {
    for (const size_t end = out.size(); i < end; ++i) {
      for (const char* name : {"a", "b", "x"}) {
        out.push_back(out[i].empty() ? name : out[i] + "/" + name);
      }
    }
  }
  return out;
}

// By looking at every place: uncovered, something covered below, as another one, not as a third.
bool HasPlacesAlikeBySearch(const PathPattern& pattern) {
  std::vector<std::string> places = PathsOf(3);
  std::erase_if(places, [&](const std::string& path) { return pattern.Covers(path); });
  const std::vector<std::string> inner = PathsOf(3);
  for (const std::string& one : places) {
    const bool holds = std::any_of(inner.begin(), inner.end(), [&](const std::string& path) {
      return pattern.Covers(one.empty() ? path : one + "/" + path);
    });
    const auto alike = [&](const std::string& other) { return pattern.IsSameBelow(one, other); };
    const auto count = std::count_if(places.begin(), places.end(), alike);
    if (holds && count > 1 && count < static_cast<long>(places.size())) return true;
  }
  return false;
}

TEST(PathPatternTest, PlacesAreAlikeBelowAWildcardOnly) {
  const std::vector<std::string> components = {"a", "b", "*", "?", "**"};
  std::vector<std::string> patterns = components;
  for (size_t i = 0; i < 30; ++i) {  // of up to three components
    for (const std::string& component : components) {
      patterns.push_back(patterns[i] + "/" + component);
    }
  }
  int alike = 0;
  for (const std::string& text : patterns) {
    const auto pattern = PathPattern::Parse(text);
    if (!pattern.ok()) continue;
    const bool found = HasPlacesAlikeBySearch(*pattern);
    EXPECT_TRUE(pattern->HasPlacesAlike() || !found) << text;
    alike += pattern->HasPlacesAlike() ? 1 : 0;
  }
  EXPECT_GT(alike, 0);
  for (const char* text : {"**/.env", ".env", "*.pem", "secrets/**", "a/b/*.key", "**/*.pem"}) {
    EXPECT_FALSE(Parsed(text).HasPlacesAlike()) << text;
  }
  for (const char* text : {"*/key", "src/**/*.key", "**/.ssh/**", "**/a/b", "s?crets/**"}) {
    EXPECT_TRUE(Parsed(text).HasPlacesAlike()) << text;
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

TEST(PathPatternTest, TellsWhatOtherToolsWouldReadAsMore) {
  for (const auto& [text, literal] : std::initializer_list<std::pair<const char*, const char*>>{
           {"**/*.[pk]em", "["},
           {"*.{pem,key}", "{"},
           {"!**/.env", "!"},
           {" .env", " "},
           {"**/.env ", " "},
           {"a\\*b", "\\"},
           {"", ""},
           {"**/.env*", ""},
           {"a b/c!?", ""},
           {"a]b[c", ""},
           {"a}b{c", ""},
       }) {
    EXPECT_EQ(TakenLiterally(text), literal) << text;
  }
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
