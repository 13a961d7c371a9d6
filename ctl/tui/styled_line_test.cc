#include "ctl/tui/styled_line.h"

#include <gtest/gtest.h>

#include "ctl/base/console.h"

namespace odyssey::ctl {
namespace {

class StyledLineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { UseUtf8Characters(); }
};

std::string Shown(const std::string& text, size_t columns = 1000) {
  std::string out;
  for (const StyledLine& row : Wrap({{text}}, columns)) out += PlainText(row) + "|";
  return out;
}

TEST_F(StyledLineTest, StylesOfPaintBecomeTints) {
  const std::string painted = "a" + Paint("b", Style::kGood, true) + Paint("c", Style::kBad, true);
  EXPECT_EQ(ParsePainted(painted),
            (StyledLine{{"a", Tint::kPlain}, {"b", Tint::kGood}, {"c", Tint::kBad}}));
}

TEST_F(StyledLineTest, RowsBreakAfterASpaceAndElseAnywhere) {
  EXPECT_EQ(Shown("one two three", 8), "one two |three|");
  EXPECT_EQ(Shown("abcdefghij", 4), "abcd|efgh|ij|");
  EXPECT_EQ(Shown("", 4), "|");
}

TEST_F(StyledLineTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(WidthOf("日本"), 4u);
  EXPECT_EQ(Shown("日本語", 5), "日本|語|");
}

TEST_F(StyledLineTest, TabsReachTheNextEighthColumn) { EXPECT_EQ(Shown("a\tb"), "a       b|"); }

TEST_F(StyledLineTest, MarksBeyondTwoOnACharacterAreEscapes) {
  EXPECT_EQ(Shown("e\u0301"), "e\u0301|");
  EXPECT_EQ(WidthOf("e\u0301\u0302"), 1u);
  EXPECT_EQ(Shown("e\u0301\u0302\u0303"), "e\u0301\u0302\\u{0303}|");
  // One without a character before it.
  EXPECT_EQ(Shown("\u0301x"), "\\u{0301}x|");
  EXPECT_EQ(Shown("a \u0301"), "a \\u{0301}|");
}

TEST_F(StyledLineTest, CharactersWiderThanTheirColumnsAreEscapes) {
  EXPECT_EQ(Shown("\uFDFD"), "\\u{fdfd}|");
  EXPECT_EQ(Shown("\u2E3B"), "\\u{2e3b}|");
}

// Whatever was not sanitised before: a screen never sends it.
TEST_F(StyledLineTest, NoControlCharacterPasses) {
  for (int code = 0; code < 0x20; ++code) {
    if (code == '\t') continue;
    EXPECT_EQ(Shown(std::string("a") + static_cast<char>(code) + "b"), "a\uFFFDb|") << code;
  }
  EXPECT_EQ(Shown("\x7f\u009b\xff"), "\uFFFD\uFFFD\uFFFD|");
}

TEST_F(StyledLineTest, WhatDoesNotFitIsCut) {
  EXPECT_EQ(PlainText(Fit({{"abcdef"}}, 4)), "abc…");
  EXPECT_EQ(PlainText(Fit({{"abcd"}}, 4)), "abcd");
  EXPECT_EQ(PlainText(Fit({{"日本語"}}, 4)), "日…");
  EXPECT_EQ(PlainText(Fill({{"ab"}}, 4)), "ab  ");
  EXPECT_EQ(LastColumns("abcdef", 4), "cdef");
  EXPECT_EQ(LastColumns("a日本", 3), "本");
}

}  // namespace
}  // namespace odyssey::ctl
