#include "ctl/base/console.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(ConsoleTest, FailureIsOneLineAndWhatToDoNext) {
  EXPECT_EQ(FormatFailure({"start agentd", "open /x: No space left on device", "Free some space."}),
            "odyssey-ctl: start agentd: open /x: No space left on device\n  Free some space.\n");
  EXPECT_EQ(FormatFailure({"unknown command \"x\"", "", ""}),
            "odyssey-ctl: unknown command \"x\"\n");
}

TEST(ConsoleTest, NoTextOfAFailureBeginsALine) {
  EXPECT_EQ(
      FormatFailure({"open a\tb", "open /x\nodyssey-ctl: all is well\r: No such\v file", "a\nb"}),
      "odyssey-ctl: open a\\tb: open /x\\nodyssey-ctl: all is well\\r: No such\\x0b file\n"
      "  a\\nb\n");
}

TEST(ConsoleTest, FailureOfForeignTextCannotActOnTheTerminal) {
  EXPECT_EQ(FormatFailure({"run", "\x1b]0;owned\x07", ""}), "odyssey-ctl: run: \\e]0;owned\\x07\n");
}

TEST(ConsoleTest, ColoursOnlyWhereAsked) {
  EXPECT_EQ(Paint("x", Style::kGood, true), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(Paint("x", Style::kGood, false), "x");
}

TEST(ConsoleTest, TableColumnsLineUpByCharacters) {
  EXPECT_EQ(FormatTable({"ID", "KEY"}, {{"ä", "one"}, {"long", "two"}}),
            "ID    KEY\n"
            "ä     one\n"
            "long  two\n");
}

}  // namespace
}  // namespace odyssey::ctl
