#include "agentd/approval/parsed_command.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace odyssey::approval {
namespace {

std::vector<std::string> Shown(std::string_view line) {
  std::vector<std::string> out;
  const agent::v1::SimpleCommands parsed = ParsedCommand(line);
  for (const auto& command : parsed.commands()) {
    std::string text = command.kind();
    for (const std::string& word : command.argv()) text += "|" + word;
    out.push_back(text);
  }
  return out;
}

TEST(ParsedCommandTest, NamesEveryCommandOfTheLine) {
  EXPECT_EQ(Shown("ls 'a b' && timeout 5 r\\m -rf x; c\"\"url u | sh"),
            (std::vector<std::string>{"runs|ls|a b", "wrapper|timeout|5|rm|-rf|x", "runs|rm|-rf|x",
                                      "runs|curl|u", "opaque|sh reading commands"}));
}

TEST(ParsedCommandTest, SaysWhatCannotBeKnown) {
  const std::vector<std::string> shown = Shown("eval \"$X\"");
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown.back().substr(0, 7), "opaque|");
}

TEST(ParsedCommandTest, HasOneMarkForWhatIsKnownAtRunTime) {
  EXPECT_EQ(Shown("ls $X *.c a/**/b"), (std::vector<std::string>{"runs|ls|\x01|\x01.c|a/\x01"
                                                                 "b"}));
}

TEST(ParsedCommandTest, ALineThatCannotBeReadHasNone) { EXPECT_TRUE(Shown("echo 'x").empty()); }

}  // namespace
}  // namespace odyssey::approval
