#include "common/base/utf8.h"

#include <gtest/gtest.h>

namespace odyssey {
namespace {

TEST(Utf8Test, KnowsValidFromInvalid) {
  EXPECT_TRUE(IsValidUtf8("plain, ä, €, \xF0\x9F\x98\x80"));
  for (const char* bad :
       {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << bad;
  }
}

TEST(Utf8Test, TellsTheCodeOfACharacter) {
  EXPECT_EQ(DecodeUtf8("A").code, 0x41u);
  EXPECT_EQ(DecodeUtf8("ä").code, 0xE4u);
  EXPECT_EQ(DecodeUtf8("€x").code, 0x20ACu);
  EXPECT_EQ(DecodeUtf8("\xF0\x9F\x98\x80").code, 0x1F600u);
  EXPECT_EQ(DecodeUtf8("\xF4\x8F\xBF\xBF").code, 0x10FFFFu);
  EXPECT_EQ(DecodeUtf8("\xE2\x82").kind, Utf8Kind::kCut);
  EXPECT_EQ(DecodeUtf8("\xE2\x82").length, 2u);
  EXPECT_EQ(DecodeUtf8("\xE0\x80").kind, Utf8Kind::kInvalid) << "overlong: no more can help";
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
}  // namespace odyssey
