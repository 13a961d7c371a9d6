#include "ctl/help.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ctl/command_table.h"

namespace odyssey::ctl {
namespace {

TEST(HelpTest, EveryCommandIsCompleteAndNamedOnce) {
  std::set<std::string> names;
  for (const Command& command : CommandTable()) {
    EXPECT_TRUE(names.insert(std::string(command.name)).second) << command.name;
    EXPECT_NE(command.run, nullptr) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
    for (const OptionSpec& option : command.options) {
      EXPECT_FALSE(option.help.empty()) << command.name << " --" << option.name;
      EXPECT_EQ(option.value_name.empty(), option.kind == ValueKind::kFlag)
          << command.name << " --" << option.name;
      EXPECT_EQ(option.choices.empty(), option.kind != ValueKind::kChoice)
          << command.name << " --" << option.name;
    }
  }
}

TEST(HelpTest, UsageNamesPositionalsAndTheCommandLine) {
  size_t words = 0;
  const Command* command = FindCommand({"session", "exec", "x"}, &words);
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(words, 2u);
  EXPECT_EQ(UsageLine(*command), "odyssey-ctl session exec ID [options] -- CMD ARG...");
}

TEST(HelpTest, HelpAndCompletionHoldEveryCommandAndOption) {
  const std::string general = GeneralHelp();
  const std::string completion = BashCompletion();
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    EXPECT_NE(general.find("  " + name + " "), std::string::npos) << name;
    EXPECT_NE(completion.find("'" + name + "') words="), std::string::npos) << name;
    for (const OptionSpec& option : command.options) {
      const std::string words = "--" + std::string(option.name);
      EXPECT_NE(CommandHelp(command).find(words), std::string::npos) << name << words;
      EXPECT_NE(completion.find(words), std::string::npos) << name << words;
    }
  }
}

TEST(HelpTest, UnknownWordsNameNoCommand) {
  size_t words = 0;
  EXPECT_EQ(FindCommand({"session"}, &words), nullptr);
  EXPECT_EQ(FindCommand({"explode"}, &words), nullptr);
}

}  // namespace
}  // namespace odyssey::ctl
