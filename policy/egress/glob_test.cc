#include "policy/egress/glob.h"

#include <gtest/gtest.h>

#include "policy/egress/pattern.h"

namespace odyssey::egress {
namespace {

struct Case {
  const char* pattern;
  const char* text;
  bool matches;
};

TEST(HostMatchesTest, AStarIsOneLabelAndTwoAreOneOrMore) {
  constexpr Case kCases[] = {
      {"api.example.com", "api.example.com", true},
      {"api.example.com", "xapi.example.com", false},
      {"*.example.com", "api.example.com", true},
      {"*.example.com", "example.com", false},
      {"*.example.com", ".example.com", false},
      {"*.example.com", "a.b.example.com", false},
      {"*.example.com", "api.example.com.evil.test", false},
      {"*.example.com", "apiexample.com", false},
      {"**.example.com", "api.example.com", true},
      {"**.example.com", "a.b.c.example.com", true},
      {"**.example.com", "example.com", false},
      {"a.*.example.com", "a.b.example.com", true},
      {"a.*.example.com", "c.b.example.com", false},
      {"a.*.example.com", "b.example.com", false},
      {"**.*.example.com", "a.example.com", false},
      {"**.*.example.com", "b.a.example.com", true},
      {"10.1.2.3", "10.1.2.3", true},
      {"*.example.com", "", false},
  };
  for (const Case& one : kCases) {
    EXPECT_EQ(HostMatches(one.pattern, one.text), one.matches) << one.pattern << " " << one.text;
  }
}

TEST(PathMatchesTest, AStarStaysWithinASegment) {
  constexpr Case kCases[] = {
      {"", "/any/thing", true},
      {"**", "/any/thing", true},
      {"/v1/*", "/v1/users", true},
      {"/v1/*", "/v1/admin/secrets", false},
      {"/v1/*", "/v1", false},
      {"/v1/*/x", "/v1/a/x", true},
      {"/v1/*/x", "/v1/a/b/x", false},
      {"/v1/a*c", "/v1/abbc", true},
      {"/v1/a*c", "/v1/ab", false},
      {"/public/**", "/public", true},
      {"/public/**", "/public/", true},
      {"/public/**", "/public/a/b", true},
      {"/public/**", "/publicly", false},
      {"/public/**", "/secret", false},
      {"/**", "/", true},
      {"/**/git", "/usr/lib/git", true},
      {"/**/git", "/git", true},
      {"/a/**/b/**/c", "/a/x/b/y/b/c", true},
      {"/a/**/b/**/c", "/a/x/b/y/d", false},
      {"/a/**/*.js", "/a/b/c/d.js", true},
      {"/A", "/a", false},
      {"/a", "/a/", false},
      {"/a", "a", false},
      {"/a", "", false},
  };
  for (const Case& one : kCases) {
    EXPECT_EQ(PathMatches(one.pattern, one.text), one.matches) << one.pattern << " " << one.text;
  }
}

TEST(PathMatchesTest, AgreesWithOverlapOfPatterns) {
  constexpr const char* kPatterns[] = {"/a/*", "/a/**",    "/**/b", "/a/*/c",
                                       "/a/b", "/*b/**/c", "/a/"};
  constexpr const char* kPaths[] = {"/a/b",  "/a",  "/a/b/c", "/b",
                                    "/ab/c", "/a/", "/x/y/c", "/bb/b"};
  for (const char* pattern : kPatterns) {
    for (const char* path : kPaths) {
      EXPECT_EQ(PathMatches(pattern, path), PathsOverlap(pattern, path)) << pattern << " " << path;
    }
  }
}

TEST(TextMatchesTest, AStarIsAnyCharacters) {
  constexpr Case kCases[] = {
      {"read_*", "read_file", true},
      {"read_*", "write_file", false},
      {"*", "", true},
      {"", "", true},
      {"", "a", false},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXcYb", false},
      {"*/x", "a/b/x", true},
      {"v1?", "v12", false},
  };
  for (const Case& one : kCases) {
    EXPECT_EQ(TextMatches(one.pattern, one.text), one.matches) << one.pattern << " " << one.text;
  }
}

}  // namespace
}  // namespace odyssey::egress
