#include "ctl/cli/completion.h"

#include <gtest/gtest.h>

#include <string>

#include "ctl/cli/command_table.h"

namespace odyssey::ctl {
namespace {

// The script from what begins a command's part to the next line that has `end`, exclusive.
std::string Part(const std::string& script, const std::string& begin, const std::string& end) {
  const size_t at = script.find(begin);
  if (at == script.npos) return "";
  return script.substr(at, script.find(end, at + begin.size()) - at);
}

TEST(CompletionTest, BashHoldsEveryCommandAndOption) {
  const std::string script = BashCompletion();
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    const std::string part = Part(script, "'" + name + "') words=", ";;\n");
    EXPECT_NE(part, "") << name;
    for (const OptionSpec& option : command.options) {
      EXPECT_NE(part.find("--" + std::string(option.name)), part.npos) << name << option.name;
    }
  }
}

TEST(CompletionTest, FishHoldsEveryCommandAndOption) {
  const std::string script = FishCompletion();
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    const size_t space = name.find(' ');
    const std::string at = space == name.npos ? "" : " " + name.substr(0, space);
    const std::string word = name.substr(space == name.npos ? 0 : space + 1);
    EXPECT_NE(script.find("-n '__odyssey_ctl_at" + at + "' -a " + word + " -d '"), script.npos)
        << name;
    for (const OptionSpec& option : command.options) {
      const std::string line =
          "-n '__odyssey_ctl_begins " + name + "' -l " + std::string(option.name) + " ";
      EXPECT_NE(script.find(line), script.npos) << line;
    }
  }
}

TEST(CompletionTest, ZshHoldsEveryCommandAndOption) {
  const std::string script = ZshCompletion();
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    const std::string part = Part(script, "'" + name + "') _arguments", ";;\n");
    EXPECT_NE(part, "") << name;
    for (const OptionSpec& option : command.options) {
      const std::string equals = option.kind == ValueKind::kFlag ? "[" : "=[";
      EXPECT_NE(part.find("--" + std::string(option.name) + equals), part.npos)
          << name << option.name;
    }
  }
}

}  // namespace
}  // namespace odyssey::ctl
