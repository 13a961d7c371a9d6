#include "ctl/dispatch.h"

#include <signal.h>

#include <algorithm>

#include "ctl/command_table.h"
#include "ctl/exit_code.h"
#include "ctl/help.h"
#include "ctl/sanitize.h"

namespace odyssey::ctl {
namespace {

int FailUsage(const Console& console, const std::string& what, const std::string& why,
              const std::string& next, int code) {
  console.Fail({what, why, next});
  return code;
}

// True if --help stands among the command's own words (not in a command line after them).
bool WantsHelp(const Command& command, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return true;
    if (argument == "--") return false;
    const bool takes_rest = !command.positionals.empty() && command.positionals.back().rest;
    if (takes_rest && command.positionals.size() == 1 && argument[0] != '-') return false;
  }
  return false;
}

int UnknownCommand(const Console& console, const std::vector<std::string>& words) {
  std::string verbs;
  for (const Command& command : CommandTable()) {
    const std::string prefix = words[0] + " ";
    if (command.name.substr(0, prefix.size()) != prefix) continue;
    verbs += (verbs.empty() ? "" : ", ") + std::string(command.name.substr(prefix.size()));
  }
  if (verbs.empty()) {
    return FailUsage(console, "unknown command \"" + words[0] + "\"", "",
                     "odyssey-ctl --help lists the commands.", kExitUsage);
  }
  const std::string given = words.size() > 1 ? "\"" + words[1] + "\"" : "nothing";
  return FailUsage(console, words[0], given + " is not one of: " + verbs,
                   "odyssey-ctl --help lists the commands.", kExitUsage);
}

// What to say after a usage error: where a global option belongs, if one stands behind the command.
std::string UsageHint(const Command& command, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    for (const OptionSpec& option : GlobalOptions()) {
      const std::string name = "--" + std::string(option.name);
      const std::string letter = std::string("-") + option.letter;
      if (argument.compare(0, name.size(), name) != 0 && argument != letter) continue;
      return argument + " goes before the command: odyssey-ctl " + argument + " ... " +
             std::string(command.name);
    }
  }
  return "usage: " + UsageLine(command) + "  (--help tells the options)";
}

int RunCommand(const Command& command, const Console& console, const ParsedOptions& global,
               const std::vector<std::string>& arguments) {
  if (WantsHelp(command, arguments)) {
    console.Print(CommandHelp(command));
    return kExitOk;
  }
  Result<ParsedOptions> parsed = ParseOptions(command.options, command.positionals, arguments);
  if (!parsed.ok()) {
    return FailUsage(console, std::string(command.name), parsed.status().message(),
                     UsageHint(command, arguments), command.usage_exit);
  }
  std::string state = global.Text("state");
  const auto declares_state = [](const OptionSpec& option) { return option.name == "state"; };
  if (std::any_of(command.options.begin(), command.options.end(), declares_state) &&
      parsed->Has("state")) {
    state = parsed->Text("state");
  }
  Invocation call;
  call.console = &console;
  call.locations = ResolveLocations(MakeLocationInputs(state, global.Text("socket")));
  call.options = std::move(*parsed);
  return command.run(call);
}

}  // namespace

int Dispatch(const std::vector<std::string>& arguments) {
  signal(SIGPIPE, SIG_IGN);
  size_t used = 0;
  const Result<ParsedOptions> global = ParseLeadingOptions(GlobalOptions(), arguments, &used);
  if (!global.ok()) {
    return FailUsage(MakeConsole(false), "options", global.status().message(),
                     "odyssey-ctl --help lists the options that come before a command.",
                     kExitUsage);
  }
  const Console console = MakeConsole(global->Text("output") == "json");
  if (global->Has("help")) {
    console.Print(GeneralHelp());
    return kExitOk;
  }
  const std::vector<std::string> words(arguments.begin() + static_cast<long>(used),
                                       arguments.end());
  if (words.empty()) {
    console.Warn("odyssey-ctl: no command given\n\n" + GeneralHelp());
    return kExitUsage;
  }
  size_t count = 0;
  const Command* command = FindCommand(words, &count);
  if (command == nullptr) return UnknownCommand(console, words);
  return RunCommand(
      *command, console, *global,
      std::vector<std::string>(words.begin() + static_cast<long>(count), words.end()));
}

}  // namespace odyssey::ctl
