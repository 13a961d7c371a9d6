#include "ctl/base/sanitize.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::ctl {
namespace {

using std::string_literals::operator""s;

TEST(SanitizeTest, LeavesPlainTextAlone) {
  for (const std::string text :
       {"", "hello, world", "tab\tand\nnewline\n", "Grüße, 世界, 🚀", "a\\b"}) {
    EXPECT_EQ(Sanitize(text), text);
  }
}

TEST(SanitizeTest, ShowsEscapeSequencesInsteadOfActingOnThem) {
  EXPECT_EQ(Sanitize("\x1b]52;c;ZXZpbA==\x07"), "\\e]52;c;ZXZpbA==\\x07");  // clipboard
  EXPECT_EQ(Sanitize("\x1b]0;title\x1b\\"), "\\e]0;title\\e\\");            // window title
  EXPECT_EQ(Sanitize("\x1b[2J\x1b[1;1H"), "\\e[2J\\e[1;1H");                // clear, home
  EXPECT_EQ(Sanitize("\xc2\x9b"
                     "31m"),
            "\\x9b31m");  // C1 CSI
}

TEST(SanitizeTest, ShowsWhatOverwritesALine) {
  EXPECT_EQ(Sanitize("rm -rf /\rls       "), "rm -rf /\\rls       ");
  EXPECT_EQ(Sanitize("evil\b\b\b\bgood"), "evil\\x08\\x08\\x08\\x08good");
  EXPECT_EQ(Sanitize("a\r\nb"), "a\nb");
  EXPECT_EQ(Sanitize("a\r\r\nb"), "a\\r\nb");
  EXPECT_EQ(Sanitize("\x7f\x00"s), "\\x7f\\x00");
}

TEST(SanitizeTest, ShowsCharactersThatReorderOrHideOthers) {
  EXPECT_EQ(Sanitize("a\u202eb\u202cc"), "a\\u{202e}b\\u{202c}c");
  EXPECT_EQ(Sanitize("\u2066x\u2069"), "\\u{2066}x\\u{2069}");
  EXPECT_EQ(Sanitize("ro\u200bot"), "ro\\u{200b}ot");
  EXPECT_EQ(Sanitize("\ufeff"), "\\u{feff}");
  EXPECT_EQ(Sanitize("\U000e0041"), "\\u{e0041}");
  EXPECT_EQ(Sanitize("one\u2028two"), "one\\u{2028}two");
}

TEST(SanitizeTest, ShowsCharactersByTheirGeneralCategory) {
  EXPECT_EQ(Sanitize("a\ufe0f\U000e0100b"), "a\\u{fe0f}\\u{e0100}b");  // variation selectors
  EXPECT_EQ(Sanitize("\u00ad\u0600\U00013430"), "\\u{00ad}\\u{0600}\\u{13430}");  // Cf
  EXPECT_EQ(Sanitize("\ue000\U000f0000"), "\\u{e000}\\u{f0000}");                 // Co
  EXPECT_EQ(Sanitize("\u0378\U0010ffff"), "\\u{0378}\\u{10ffff}");                // Cn
  EXPECT_EQ(Sanitize("\u2029\u3164\u2800"), "\\u{2029}\\u{3164}\\u{2800}");
  EXPECT_EQ(Sanitize("\u0377\u0301é"), "\u0377\u0301é") << "neighbours and accents are shown";
}

TEST(SanitizeTest, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(Sanitize("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Sanitize("\xc0\xaf"), "\\xc0\\xaf");                    // overlong "/"
  EXPECT_EQ(Sanitize("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(Sanitize("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past U+10FFFF
  EXPECT_EQ(Sanitize("a\xe4"), "a\\xe4");                           // cut short
}

TEST(SanitizeTest, OneLineStaysOneLine) {
  EXPECT_EQ(Sanitize("a\nb\tc\r\n", Lines::kOne), "a\\nb\\tc\\r\\n");
}

TEST(SanitizeTest, ResultHoldsNothingATerminalActsOn) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  for (const char c : Sanitize(every + every, Lines::kOne)) {
    EXPECT_GE(static_cast<unsigned char>(c), 0x20u);
    EXPECT_LT(static_cast<unsigned char>(c), 0x7fu);
  }
}

TEST(ShortenTest, CountsCharactersNotBytes) {
  EXPECT_EQ(Shorten("abc", 3), "abc");
  EXPECT_EQ(Shorten("abcd", 3), "abc…");
  EXPECT_EQ(Shorten("äöü", 3), "äöü");
  EXPECT_EQ(Shorten("äöüß", 2), "äö…");
}

}  // namespace
}  // namespace odyssey::ctl
