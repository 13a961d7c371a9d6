#include "policy/ceiling/path_pattern.h"

#include <gtest/gtest.h>

namespace odyssey::ceiling {
namespace {

TEST(PathPatternTest, SaysHowAPathStandsToAPattern) {
  struct Case {
    const char* path;
    const char* pattern;
    Place place;
  };
  constexpr Place kApart = Place::kApart, kWithin = Place::kWithin, kAround = Place::kAround;
  const Case cases[] = {
      {"/srv", "/srv", kWithin},
      {"/srv/a/b", "/srv", kWithin},
      {"/srv", "/srv/a", kAround},
      {"/", "/srv", kAround},
      {"/srv", "/", kWithin},
      {"/", "/", kWithin},
      {"/srvx", "/srv", kApart},
      {"/sr", "/srv", kApart},
      {"/home/u/work/x", "/home/*/work", kWithin},
      {"/home/u/works", "/home/*/work", kApart},
      {"/home/u", "/home/*/work", kAround},
      {"/home/u/v/work", "/home/*/work", kApart},
      {"/srv/data-7/x", "/srv/data-*", kWithin},
      {"/srv/dat", "/srv/data-*", kApart},
      {"/home/alice/.ssh/id", "~/.ssh", kWithin},
      {"/home/alice", "~/.ssh", kAround},
      {"/home", "~/.ssh", kAround},
      {"/home/alice", "~", kWithin},
      {"/home/alicia", "~", kApart},
      {"/home/bob/.ssh", "~/.ssh", kApart},
      {"/srv/~/x", "~", kApart},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Compare(c.path, c.pattern, "/home/alice"), c.place) << c.path << " " << c.pattern;
  }
}

TEST(PathPatternTest, ATildeWithoutAHomeOfOnePersonNamesNothing) {
  for (const char* home : {"", "/", "relative", "/home/../etc"}) {
    EXPECT_EQ(Compare("/", "~", home), Place::kApart) << home;
    EXPECT_EQ(Compare("/etc", "~", home), Place::kApart) << home;
  }
}

TEST(PathPatternTest, AHomeIsANameAndNoPattern) {
  EXPECT_EQ(Compare("/home/bob/x", "~", "/home/*"), Place::kApart);
  EXPECT_EQ(Compare("/home/*/x", "~", "/home/*"), Place::kWithin);
}

TEST(PathPatternTest, RefusesWhatItWouldNotMatchBy) {
  for (const char* good : {"/", "/srv", "/srv/*/x", "~", "~/.ssh", "/a b"}) {
    EXPECT_TRUE(CheckPathPattern(good).ok()) << good;
  }
  for (const char* bad :
       {"", "srv", "./srv", "/srv/", "/srv//x", "/srv/../etc", "/srv/.", "~bob", "~/", "~/../x",
        "/srv/**", "/srv/?", "/srv/[ab]", "/srv/{a,b}", "/srv/\\*", "/srv\n", "/srv/\x7f"}) {
    EXPECT_EQ(CheckPathPattern(bad).code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace odyssey::ceiling
