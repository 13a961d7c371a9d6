#ifndef ODYSSEY_CTL_TUI_SLASH_COMMAND_H_
#define ODYSSEY_CTL_TUI_SLASH_COMMAND_H_

// What a line that begins with "/" means. Pure: a table.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::ctl {

enum class Verb {
  kNew,
  kBundleInstall,
  kBundleUse,
  kBundles,
  kAgents,
  kAgent,
  kModels,
  kModel,
  kThemes,
  kTheme,
  kSessions,
  kSkills,
  kJoin,
  kApprovals,
  kDashboard,
  kCancel,
  kHelp,
  kQuit,
};

struct SlashCommand {
  Verb verb = Verb::kHelp;
  std::string argument;  // kJoin: a session's id, of the right form
  friend bool operator==(const SlashCommand&, const SlashCommand&) = default;
};

// A command, or what is wrong with the line.
struct ParsedSlash {
  std::optional<SlashCommand> command;
  std::string error;
  friend bool operator==(const ParsedSlash&, const ParsedSlash&) = default;
};

// Nothing: the line is not a command. Space around it and the case of its words do not count.
std::optional<ParsedSlash> ParseSlash(std::string_view line);

// "ses_" and 32 hexadecimal digits, of themselves or of a UUID; nothing of another text.
std::optional<std::string> SessionIdOf(std::string_view text);

struct PaletteEntry {
  std::string_view name;
  std::string_view help;
};
// The commands whose names begin with what is typed after "/", in the order of the palette. Empty
// if `line` is no "/" with at most one word.
std::vector<PaletteEntry> PaletteOf(std::string_view line);

// Every form of a command with what it does, for the help.
const std::vector<PaletteEntry>& CommandForms();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_SLASH_COMMAND_H_
