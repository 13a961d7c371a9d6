#include "ctl/cli/dispatch.h"

#include <signal.h>

#include <algorithm>

#include "common/base/utf8.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/terminal.h"
#include "ctl/cli/command_table.h"
#include "ctl/cli/help.h"
#include "ctl/exec/exec_call.h"

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
                   "odyssey-ctl " + words[0] + " --help describes them.", kExitUsage);
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

// The options that every command takes, before its name and after it.
struct Globals {
  std::string state, socket, output;

  // The later place counts.
  void Take(const ParsedOptions& options, const char* format = "output") {
    const auto take = [&](const char* name, std::string* into) {
      if (options.Has(name)) *into = options.Text(name);
    };
    take("state", &state);
    take("socket", &socket);
    take(format, &output);
  }
};

constexpr char kFormat[] = "format";

bool HasOwnOutput(const Command& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionSpec& own) { return own.name == "output" && own.letter == 0; });
}

// The command's own, and those of every command that it has no other meaning for.
std::vector<OptionSpec> OptionsOf(const Command& command) {
  std::vector<OptionSpec> options = command.options;
  for (const OptionSpec& global : GlobalOptions()) {
    if (global.kind == ValueKind::kFlag) continue;
    const bool declared =
        std::any_of(command.options.begin(), command.options.end(), [&](const OptionSpec& own) {
          return own.name == global.name || (own.letter != 0 && own.letter == global.letter);
        });
    if (!declared) options.push_back(global);
    // -o stays the format where --output is a path.
    if (declared && HasOwnOutput(command) && global.letter == 'o') {
      options.push_back(global);
      options.back().name = kFormat;
    }
  }
  return options;
}

int RunCommand(const Command& command, Globals globals, const std::vector<std::string>& arguments) {
  Console console = MakeConsole(globals.output == "json");
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
  const std::vector<OptionSpec> options = OptionsOf(command);
  Result<ParsedOptions> parsed = ParseOptions(options, command.positionals, arguments);
  if (!parsed.ok()) {
    return FailUsage(console, std::string(command.name), parsed.status().message(),
                     "usage: " + UsageLine(command) + "  (--help lists the options)",
                     command.usage_exit);
  }
  const char* const format = HasOwnOutput(command) ? kFormat : "output";
  for (const OptionSpec& option : options) {
    if (option.name == format) globals.Take(*parsed, format);
  }
  console = MakeConsole(globals.output == "json");
  Invocation call;
  call.console = &console;
  call.locations = ResolveLocations(MakeLocationInputs(globals.state, globals.socket));
  call.options = std::move(*parsed);
  return command.run(call);
}

// Between a noun and its verb too: "cell -o json list".
Status TakeAfterNoun(std::vector<std::string>* words, Globals* globals) {
  size_t used = 0;
  const std::vector<std::string> rest(words->begin() + 1, words->end());
  ODY_ASSIGN_OR_RETURN(const ParsedOptions options,
                       ParseLeadingOptions(GlobalOptions(), rest, &used));
  if (options.Has("help") || options.Has("version")) return OkStatus();
  globals->Take(options);
  words->erase(words->begin() + 1, words->begin() + 1 + static_cast<long>(used));
  return OkStatus();
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
  Globals globals;
  globals.Take(*global);
  const Console console = MakeConsole(globals.output == "json");
  std::vector<std::string> words =
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
  if (command == nullptr && !NounHelp(words[0]).empty()) {
    const Status taken = TakeAfterNoun(&words, &globals);
    if (!taken.ok()) {
      return FailUsage(console, words[0], taken.message(),
                       "odyssey-ctl " + words[0] + " --help lists the verbs.", kExitUsage);
    }
    command = FindCommand(words, &count);
  }
  if (command == nullptr) return UnknownCommand(console, words);
  return RunCommand(
      *command, globals,
      std::vector<std::string>(words.begin() + static_cast<long>(count), words.end()));
}

}  // namespace odyssey::ctl
