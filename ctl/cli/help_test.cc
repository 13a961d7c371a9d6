#include "ctl/cli/help.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ctl/cli/command_table.h"

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

TEST(HelpTest, HelpHoldsEveryCommandAndOption) {
  const std::string general = GeneralHelp();
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    EXPECT_NE(general.find("  " + name + " "), std::string::npos) << name;
    for (const OptionSpec& option : command.options) {
      const std::string words = "--" + std::string(option.name);
      EXPECT_NE(CommandHelp(command).find(words), std::string::npos) << name << words;
    }
  }
}

TEST(HelpTest, ANounsHelpIsItsVerbs) {
  const std::string help = NounHelp("session");
  EXPECT_NE(help.find("session create"), std::string::npos);
  EXPECT_EQ(help.find("cell list"), std::string::npos);
  EXPECT_EQ(NounHelp("exec"), "");
  EXPECT_EQ(NounHelp("ses"), "");
}

TEST(HelpTest, FilesAreNoCommandLine) {
  size_t words = 0;
  EXPECT_EQ(UsageLine(*FindCommand({"cell", "put"}, &words)),
            "odyssey-ctl cell put CELL [options] FILE...");
}

TEST(HelpTest, FitsATerminalAndLosesNoWord) {
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
  };
  for (const Command& command : CommandTable()) {
    std::istringstream lines(CommandHelp(command, 80));
    bool in_options = false;
    for (std::string line; std::getline(lines, line);) {
      in_options = line == "options:" || (in_options && !line.empty());
      EXPECT_TRUE(!in_options || line.size() <= 80) << command.name << ": " << line;
    }
    EXPECT_EQ(words(CommandHelp(command, 80)), words(CommandHelp(command))) << command.name;
  }
  EXPECT_EQ(GeneralHelp(20), GeneralHelp()) << "too narrow for two columns";
}

TEST(HelpTest, UnknownWordsNameNoCommand) {
  size_t words = 0;
  EXPECT_EQ(FindCommand({"session"}, &words), nullptr);
  EXPECT_EQ(FindCommand({"explode"}, &words), nullptr);
}

}  // namespace
}  // namespace odyssey::ctl
