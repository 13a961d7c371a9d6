#include "image/layer/entry_path.h"

#include <gtest/gtest.h>

namespace odyssey::image {
namespace {

std::string Normal(std::string_view path) {
  const Result<std::string> out = NormalPath(path, {});
  return out.ok() ? *out : "! " + out.status().message();
}

TEST(EntryPathTest, IsRelativeToTheLayersRoot) {
  EXPECT_EQ(Normal("./usr//bin/"), "usr/bin");
  EXPECT_EQ(Normal("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(Normal("./"), "");
  EXPECT_EQ(Normal("..."), "...");
  EXPECT_EQ(Normal("a/../../b"), "! its path has \"..\"");
  EXPECT_EQ(Normal(".."), "! its path has \"..\"");
}

TEST(EntryPathTest, IsBounded) {
  EXPECT_EQ(Normal(std::string(255, 'a')), std::string(255, 'a'));
  EXPECT_EQ(Normal(std::string(256, 'a')), "! a name in its path has more than 255 bytes");
  const Bounds bounds = {.path_bytes = 5, .depth = 3};
  EXPECT_EQ(NormalPath("a/b/c", bounds).status().message(), "");
  EXPECT_EQ(NormalPath("a/b/c/d", bounds).status().message(), "its path has more than 3 names");
  EXPECT_EQ(NormalPath("abcdef", bounds).status().message(), "its path has more than 5 bytes");
}

TEST(EntryPathTest, ParentAndName) {
  EXPECT_EQ(ParentOf("usr/bin/ls"), "usr/bin");
  EXPECT_EQ(ParentOf("usr"), "");
  EXPECT_EQ(NameOf("usr/bin/ls"), "ls");
  EXPECT_EQ(NameOf("usr"), "usr");
}

TEST(EntryPathTest, Whiteouts) {
  EXPECT_EQ(ReadMark("passwd")->mark, Mark::kNone);
  EXPECT_EQ(ReadMark(".wh.passwd")->mark, Mark::kGone);
  EXPECT_EQ(ReadMark(".wh.passwd")->name, "passwd");
  EXPECT_EQ(ReadMark(".wh..wh..opq")->mark, Mark::kOpaque);
  EXPECT_EQ(ReadMark(".wh..wh.plnk")->mark, Mark::kIgnored);
  for (const char* const name : {".wh.", ".wh..", ".wh..."}) {
    EXPECT_EQ(ReadMark(name).status().message(), "it is a whiteout of no name") << name;
  }
}

}  // namespace
}  // namespace odyssey::image
