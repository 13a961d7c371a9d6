#include "agentd/base/utf8.h"

#include <gtest/gtest.h>

namespace odyssey::agent {
namespace {

TEST(Utf8Test, KnowsValidFromInvalid) {
  EXPECT_TRUE(IsValidUtf8("plain, ä, €, \xF0\x9F\x98\x80"));
  for (const char* bad :
       {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << bad;
  }
}

TEST(Utf8Test, CutsOnlyAnUnfinishedCharacter) {
  EXPECT_EQ(CompleteUtf8Prefix("ab"), 2u);
  EXPECT_EQ(CompleteUtf8Prefix("ab\xE2\x82"), 2u);
  EXPECT_EQ(CompleteUtf8Prefix("ab\xE2\x82\xAC"), 5u);
  EXPECT_EQ(CompleteUtf8Prefix("a\xF0\x9F\x98"), 1u);
  EXPECT_EQ(CompleteUtf8Prefix("a\x80"), 2u) << "an invalid byte is not the beginning of anything";
  EXPECT_EQ(CompleteUtf8Prefix(""), 0u);
}

TEST(Utf8Test, ReplacesEveryInvalidByte) {
  EXPECT_EQ(SanitizeUtf8("a\xFF\xFEz"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(SanitizeUtf8("é"), "é");
}

TEST(Utf8StreamTest, DeliversASharedCharacterOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("x\xE2"), "x");
  EXPECT_TRUE(stream.incomplete());
  EXPECT_EQ(stream.Push("\x82"), "");
  EXPECT_EQ(stream.Push("\xAC."), "€.");
  EXPECT_FALSE(stream.incomplete());
}

TEST(Utf8StreamTest, NeverHoldsBytesThatCannotBecomeValid) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("\xE2"), "");
  EXPECT_EQ(stream.Push("A"),
            "\xEF\xBF\xBD"
            "A");
}

}  // namespace
}  // namespace odyssey::agent
