#include "ctl/cli/help.h"

#include <algorithm>
#include <map>
#include <vector>

#include "common/base/join.h"
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

// ---- completion

// First words, and the second words of each that has them.
std::map<std::string, std::vector<std::string>> Verbs(std::vector<std::string>* first) {
  std::map<std::string, std::vector<std::string>> verbs;
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    const size_t space = name.find(' ');
    const std::string noun = name.substr(0, space);
    if (std::find(first->begin(), first->end(), noun) == first->end()) first->push_back(noun);
    if (space != std::string::npos) verbs[noun].push_back(name.substr(space + 1));
  }
  return verbs;
}

// What can follow an option that takes a value.
std::string ValueWords(const OptionSpec& option) {
  switch (option.kind) {
    case ValueKind::kChoice: {
      std::vector<std::string> words(option.choices.begin(), option.choices.end());
      return "COMPREPLY=($(compgen -W '" + Join(words, " ") + "' -- \"$current\"))";
    }
    case ValueKind::kFile:
      return "COMPREPLY=($(compgen -f -- \"$current\"))";
    case ValueKind::kDirectory:
      return "COMPREPLY=($(compgen -d -- \"$current\"))";
    case ValueKind::kEnv:
      return "COMPREPLY=($(compgen -e -- \"$current\"))";
    default:
      return "COMPREPLY=()";
  }
}

std::string OptionCase(const std::vector<OptionSpec>& options, const std::string& prefix) {
  std::string out;
  for (const OptionSpec& option : options) {
    if (option.kind == ValueKind::kFlag) continue;
    std::string pattern = "'" + prefix + "--" + std::string(option.name) + "'";
    if (option.letter != 0) pattern += "|'" + prefix + "-" + option.letter + "'";
    out += "    " + pattern + ") " + ValueWords(option) + "; return ;;\n";
  }
  return out;
}

std::string WordsCase(const Command& command) {
  std::vector<std::string> words = {"--help"};
  for (const OptionSpec& option : command.options) words.push_back("--" + std::string(option.name));
  std::string paths = "-W ''";
  for (const PositionalSpec& positional : command.positionals) {
    if (positional.kind == ValueKind::kFile) paths = "-f";
    if (positional.kind == ValueKind::kDirectory) paths = "-d";
    if (positional.rest) paths = "-c";
  }
  return "    '" + std::string(command.name) + "') words='" + Join(words, " ") + "'; paths=(" +
         paths + ") ;;\n";
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

std::string BashCompletion() {
  std::vector<std::string> first;
  const auto verbs = Verbs(&first);
  std::vector<std::string> global;
  for (const OptionSpec& option : GlobalOptions())
    global.push_back("--" + std::string(option.name));

  std::string out = R"(# bash completion for odyssey-ctl; made by: odyssey-ctl completion bash
_odyssey_ctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local i=1 noun= name= words= paths=()
  while ((i < COMP_CWORD)); do
    case ${COMP_WORDS[i]} in
      --state|--socket|--output|-o) ((i += 2)) ;;
      -*) ((i += 1)) ;;
      *) break ;;
    esac
  done
  ((i < COMP_CWORD)) && noun=${COMP_WORDS[i]}
  if [[ -z $noun ]]; then
    case $previous in
)";
  out += OptionCase(GlobalOptions(), "");
  out += "    esac\n    COMPREPLY=($(compgen -W '" + Join(first, " ") + " " + Join(global, " ") +
         "' -- \"$current\"))\n    return\n  fi\n  case $noun in\n";
  for (const auto& [noun, words] : verbs) {
    out += "    " + noun + ") if ((COMP_CWORD == i + 1)); then COMPREPLY=($(compgen -W '" +
           Join(words, " ") +
           "' -- \"$current\")); return; fi\n      name=\"$noun ${COMP_WORDS[i+1]}\" ;;\n";
  }
  out += "    *) name=$noun ;;\n  esac\n  case \"$name $previous\" in\n";
  for (const Command& command : CommandTable()) {
    out += OptionCase(command.options, std::string(command.name) + " ");
  }
  out += "  esac\n  case $name in\n";
  for (const Command& command : CommandTable()) out += WordsCase(command);
  out += R"(    *) return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen "${paths[@]}" -- "$current"))
  fi
}
complete -o filenames -F _odyssey_ctl odyssey-ctl
)";
  return out;
}

}  // namespace odyssey::ctl
