#include "ctl/dispatch.h"

#include <signal.h>

#include <algorithm>

#include "common/base/utf8.h"
#include "ctl/command_table.h"
#include "ctl/exec_call.h"
#include "ctl/exit_code.h"
#include "ctl/help.h"
#include "ctl/sanitize.h"
#include "ctl/terminal.h"

namespace odyssey::ctl {
namespace {

int FailUsage(const Console& console, const std::string& what, const std::string& why,
              const std::string& next, int code) {
  if (code == kExitCannot) return CannotExec(console, {what, why, next});
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

size_t HelpColumns(const Console& console) {
  return console.out_is_terminal ? CurrentTerminalSize().columns : kNotWrapped;
}

std::string VerbsOf(const std::string& noun) {
  std::string verbs;
  const std::string prefix = noun + " ";
  for (const Command& command : CommandTable()) {
    if (command.name.substr(0, prefix.size()) != prefix) continue;
    verbs += (verbs.empty() ? "" : ", ") + std::string(command.name.substr(prefix.size()));
  }
  return verbs;
}

int UnknownCommand(const Console& console, const std::vector<std::string>& words) {
  const std::string noun_help = NounHelp(words[0], HelpColumns(console));
  if (noun_help.empty()) {
    return FailUsage(console, "unknown command \"" + words[0] + "\"", "",
                     "odyssey-ctl --help lists the commands.", kExitUsage);
  }
  if (words.size() > 1 && (words[1] == "--help" || words[1] == "-h")) {
    console.Print(noun_help);
    return kExitOk;
  }
  const std::string given = words.size() > 1 ? "\"" + words[1] + "\"" : "a verb is missing";
  return FailUsage(console, words[0], given + ": expected one of " + VerbsOf(words[0]),
                   "odyssey-ctl " + words[0] + " --help tells what they do.", kExitUsage);
}

// "help", "help WORD…" and --version as what they stand for.
std::vector<std::string> PlainWords(std::vector<std::string> words, const ParsedOptions& global) {
  if (global.Has("version")) return {"version"};
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
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
    console.Print(CommandHelp(command, HelpColumns(console)));
    return kExitOk;
  }
  for (const std::string& argument : arguments) {
    if (IsValidUtf8(argument)) continue;
    return FailUsage(console, std::string(command.name), "\"" + argument + "\": not UTF-8",
                     "Arguments are text; a file with such a name can be named by a pattern in the "
                     "cell: sh -c 'cat name*'",
                     command.usage_exit);
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
  signal(SIGCHLD, SIG_DFL);  // a parent may have handed it down ignored
  size_t used = 0;
  const Result<ParsedOptions> global = ParseLeadingOptions(GlobalOptions(), arguments, &used);
  if (!global.ok()) {
    return FailUsage(MakeConsole(false), "options", global.status().message(),
                     "odyssey-ctl --help lists the options that come before a command.",
                     kExitUsage);
  }
  const Console console = MakeConsole(global->Text("output") == "json");
  const std::vector<std::string> words =
      PlainWords({arguments.begin() + static_cast<long>(used), arguments.end()}, *global);
  if (global->Has("help") || (!words.empty() && words[0] == "--help")) {
    console.Print(GeneralHelp(HelpColumns(console)));
    return kExitOk;
  }
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
