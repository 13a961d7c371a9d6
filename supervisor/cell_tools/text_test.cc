#include "supervisor/cell_tools/text.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::cell_tools {
namespace {

TEST(TextTest, CutsBeforeAnIncompleteCharacter) {
  EXPECT_EQ(LengthAtCharacterBoundary("abc"), 3u);
  EXPECT_EQ(LengthAtCharacterBoundary("ab\xC3"), 2u);  // é without its second byte
  EXPECT_EQ(LengthAtCharacterBoundary("ab\xC3\xA9"), 4u);
  EXPECT_EQ(LengthAtCharacterBoundary("a\xF0\x9F\x98"), 1u);  // an emoji without its fourth
  EXPECT_EQ(LengthAtCharacterBoundary(""), 0u);
}

TEST(TextTest, KeepsBinaryAndNeverCutsToNothing) {
  EXPECT_EQ(LengthAtCharacterBoundary("\xFF\xFE"
                                      "ab\xC3"),
            5u);
  EXPECT_EQ(LengthAtCharacterBoundary(std::string("a\0b\xC3", 4)), 4u);
  EXPECT_EQ(LengthAtCharacterBoundary("\xC3"), 1u);
  EXPECT_EQ(LengthAtCharacterBoundary("ab\xE0\x80"), 4u);  // overlong: not incomplete
}

TEST(TextTest, CountsOccurrences) {
  EXPECT_EQ(CountOccurrences("abcabc", "abc", Overlaps::kCount), 2u);
  EXPECT_EQ(CountOccurrences("abc", "x", Overlaps::kCount), 0u);
  EXPECT_EQ(CountOccurrences("", "x", Overlaps::kCount), 0u);
  EXPECT_EQ(CountOccurrences("aaaa", "aa", Overlaps::kCount), 2u);
  EXPECT_EQ(CountOccurrences("aaa", "aa", Overlaps::kCount),
            2u);  // which of the two is meant is not clear
  EXPECT_EQ(CountOccurrences("aaa", "aa", Overlaps::kLeaveOut), 1u);
}

TEST(TextTest, ReplacesAll) {
  EXPECT_EQ(ReplaceAll("a-b-c", "-", "+"), "a+b+c");
  EXPECT_EQ(ReplaceAll("aaa", "aa", "b"), "ba");
  EXPECT_EQ(ReplaceAll("abc", "abc", ""), "");
  EXPECT_EQ(ReplaceAll("aa", "a", "aa"), "aaaa");
}

}  // namespace
}  // namespace odyssey::cell_tools
