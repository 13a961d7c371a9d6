#include "ctl/base/terminal_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::ctl {
namespace {

std::string Pass(std::string_view bytes) {
  TerminalFilter filter;
  const std::string out = filter.Pass(bytes);
  return out + filter.Finish();
}

TEST(TerminalFilterTest, TextPassesAsItIs) {
  const std::string text = "one\ttwo\r\n50 %\r100 %\b\b done\n \u00e9\u4e2d\U0001F600\u200d\u202e";
  EXPECT_EQ(Pass(text), text);
  EXPECT_EQ(Pass(""), "");
}

TEST(TerminalFilterTest, ColoursPassAndEndWithTheCommand) {
  EXPECT_EQ(Pass("\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m"),
            "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m\x1b[0m");
  EXPECT_EQ(Pass("\x1b[8m"), "\x1b[8m\x1b[0m") << "what comes after is not hidden";
  EXPECT_EQ(Pass("50 %\x1b[K\r\x1b[2K"), "50 %\x1b[K\r\x1b[2K");
}

TEST(TerminalFilterTest, WhatATerminalWouldActOnIsShown) {
  EXPECT_EQ(Pass("\x1b]52;c;aGk=\x07"), "\\e]52;c;aGk=\\x07");
  EXPECT_EQ(Pass("\x1b]0;title\x1b\\"), "\\e]0;title\\e\\");
  EXPECT_EQ(Pass("\x1b[2J\x1b[1A\x1b[?1049h\x1b[6n\x1b[>c"), "\\e[2J\\e[1A\\e[?1049h\\e[6n\\e[>c");
  EXPECT_EQ(Pass("\x1bP+q\x1b\\\x1b"
                 "c\x9b"
                 "2J"),
            "\\eP+q\\e\\\\ec\\x9b2J");
  EXPECT_EQ(Pass("\xc2\x9b"
                 "2J\x7f\x0e"),
            "\\x9b2J\\x7f\\x0e")
      << "C1 as UTF-8";
  EXPECT_EQ(Pass("\x1b[?25m\x1b[ m"), "\\e[?25m\\e[ m");
  EXPECT_EQ(Pass("\x1b[" + std::string(100, '1') + "m").substr(0, 4), "\\e[1");
}

// A terminal would put together again what comes in two pieces.
TEST(TerminalFilterTest, PiecesAreJudgedAsAWhole) {
  const std::string text = "a\x1b[1;31mb\u4e2d\x1b]52;c;x\x07\x1b[Kc\xc2\x9b\x1b[2J\n\x1b[";
  TerminalFilter filter;
  std::string out;
  for (const char byte : text) out += filter.Pass({&byte, 1});
  out += filter.Finish();
  EXPECT_EQ(out, "a\x1b[1;31mb\u4e2d\\e]52;c;x\\x07\x1b[Kc\\x9b\\e[2J\n\\e[\x1b[0m");
  EXPECT_EQ(out, Pass(text));
}

TEST(TerminalFilterTest, NothingWaitsForever) {
  TerminalFilter filter;
  EXPECT_EQ(filter.Pass("\x1b["), "");
  EXPECT_EQ(filter.Pass(std::string(100, '1')), "\\e[" + std::string(100, '1'));
  EXPECT_EQ(filter.Pass("x\xe4"), "x");
  EXPECT_EQ(filter.Finish(), "\\xe4");
  EXPECT_EQ(filter.Finish(), "");
}

}  // namespace
}  // namespace odyssey::ctl
