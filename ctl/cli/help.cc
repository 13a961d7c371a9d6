#include "ctl/cli/help.h"

#include <algorithm>
#include <vector>

#include "ctl/cli/command_table.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kHelpColumn = 28;
constexpr size_t kLeastColumns = 60;  // in less, two columns have no room

// Lines of at most `columns`, broken at spaces; those after the first are indented.
std::string Wrapped(std::string_view text, size_t columns, size_t indent) {
  if (columns < kLeastColumns) return std::string(text);
  const size_t most = columns - indent;
  std::string out;
  while (text.size() > most) {
    size_t end = text.rfind(' ', most);
    if (end == text.npos || end == 0) end = std::min(text.find(' '), text.size());
    out += std::string(text.substr(0, end)) + "\n" + std::string(indent, ' ');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + std::string(text);
}

// "  left   right", with the right part on its own line if the left is too long.
std::string TwoColumns(const std::string& left, std::string_view right, size_t columns) {
  std::string out = "  " + left;
  if (out.size() + 2 > kHelpColumn) {
    out += "\n" + std::string(kHelpColumn, ' ');
  } else {
    out.append(kHelpColumn - out.size(), ' ');
  }
  return out + Wrapped(right, columns, kHelpColumn) + "\n";
}

std::string OptionWords(const OptionSpec& option) {
  std::string out;
  if (option.letter != 0) out += std::string("-") + option.letter + ", ";
  out += "--" + std::string(option.name);
  if (option.kind != ValueKind::kFlag) out += " " + std::string(option.value_name);
  return out;
}

std::string OptionLines(const std::vector<OptionSpec>& options, size_t columns) {
  std::string out;
  for (const OptionSpec& option : options) {
    std::string help(option.help);
    if (option.repeatable) help += " (repeatable)";
    out += TwoColumns(OptionWords(option), help, columns);
  }
  return out;
}

std::string PositionalWord(const PositionalSpec& positional) {
  std::string word(positional.name);
  if (positional.rest)
    word = positional.kind == ValueKind::kFile ? word + "..." : "-- " + word + " ARG...";
  if (positional.many) word += "...";
  return positional.required ? word : "[" + word + "]";
}

}  // namespace

std::string UsageLine(const Command& command) {
  std::string out = "odyssey-ctl " + std::string(command.name);
  std::string rest;
  for (const PositionalSpec& positional : command.positionals) {
    (positional.rest ? rest : out) += " " + PositionalWord(positional);
  }
  if (!command.options.empty()) out += " [options]";
  return out + rest;
}

std::string CommandHelp(const Command& command, size_t columns) {
  std::string out = "usage: " + UsageLine(command) + "\n\n" + std::string(command.summary) + "\n";
  if (!command.options.empty()) out += "\noptions:\n" + OptionLines(command.options, columns);
  if (!command.notes.empty()) out += "\n" + std::string(command.notes) + "\n";
  return out;
}

std::string GeneralHelp(size_t columns) {
  std::string out =
      "usage: odyssey-ctl [--state DIR] [--socket PATH] [-o text|json] COMMAND ...\n\ncommands:\n";
  for (const Command& command : CommandTable()) {
    out += TwoColumns(std::string(command.name), command.summary, columns);
  }
  out += "\noptions of every command, before or after its name:\n" +
         OptionLines(GlobalOptions(), columns);
  out += "\nodyssey-ctl COMMAND --help lists a command's options.\n";
  return out;
}

std::string NounHelp(std::string_view noun, size_t columns) {
  std::string out;
  for (const Command& command : CommandTable()) {
    if (command.name.substr(0, noun.size() + 1) != std::string(noun) + " ") continue;
    out += TwoColumns(std::string(command.name), command.summary, columns);
  }
  if (out.empty()) return "";
  return "usage: odyssey-ctl " + std::string(noun) + " VERB ...\n\n" + out + "\nodyssey-ctl " +
         std::string(noun) + " VERB --help lists a verb's options.\n";
}

}  // namespace odyssey::ctl
