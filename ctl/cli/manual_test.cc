#include "ctl/cli/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ctl/cli/command_table.h"

namespace odyssey::ctl {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ManualTest, TextIsNeverARequestOrAnEscape) {
  EXPECT_EQ(ToRoff("a\\b -x \"q\" 'p' `c` ~/^"),
            "a\\eb \\-x \\(dqq\\(dq \\(aqp\\(aq \\(gac\\(ga \\(ti/\\(ha");
  EXPECT_EQ(ToRoff(".sp\n.sp a.b\n'x"), "\\&.sp\n\\&.sp a.b\n\\(aqx");
  EXPECT_EQ(ToRoff("\u2026\U0001F680"), "\\[u2026]\\[u1F680]");
}

TEST(ManualTest, HoldsEveryCommandWithItsOptionsAndNotes) {
  const std::string page = ManualPage();
  for (const Command& command : CommandTable()) {
    const std::string heading = "\n.SS \"" + ToRoff(command.name) + "\"\n";
    const size_t begin = page.find(heading);
    ASSERT_NE(begin, std::string::npos) << command.name;
    const size_t end = page.find("\n.S", begin + heading.size());
    const std::string part = page.substr(begin, end - begin + 1);
    EXPECT_THAT(part, HasSubstr("\n" + ToRoff(command.summary) + "\n"));
    EXPECT_THAT(part, HasSubstr(ToRoff(command.notes)));
    for (const OptionSpec& option : command.options) {
      EXPECT_THAT(part, HasSubstr("\\fB" + ToRoff("--" + std::string(option.name)) + "\\fR"))
          << command.name;
      EXPECT_THAT(part, HasSubstr(ToRoff(option.help))) << command.name;
    }
  }
}

TEST(ManualTest, EveryLineIsTextOrAMacroOfMan) {
  std::istringstream lines(ManualPage());
  for (std::string line; std::getline(lines, line);) {
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
    if (line[0] != '.' && line[0] != '\'') continue;
    EXPECT_THAT(line, AnyOf(StartsWith(".TH "), StartsWith(".SH "), StartsWith(".SS "), ".PP",
                            ".TP", ".nh", ".ad l", StartsWith(".\\\" ")));
  }
}

}  // namespace
}  // namespace odyssey::ctl
