#include "ctl/cli/completion.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "common/base/join.h"
#include "ctl/cli/command_table.h"

namespace odyssey::ctl {
namespace {

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

// The text with a backslash before each of these characters.
std::string Escaped(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != characters.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string ChoiceWords(const OptionSpec& option) {
  return Join({option.choices.begin(), option.choices.end()}, " ");
}

// ---- bash

// What can follow an option that takes a value.
std::string BashValue(const OptionSpec& option) {
  switch (option.kind) {
    case ValueKind::kChoice:
      return "COMPREPLY=($(compgen -W '" + ChoiceWords(option) + "' -- \"$current\"))";
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

std::string BashOptions(const std::vector<OptionSpec>& options, const std::string& prefix) {
  std::string out;
  for (const OptionSpec& option : options) {
    if (option.kind == ValueKind::kFlag) continue;
    std::string pattern = "'" + prefix + "--" + std::string(option.name) + "'";
    if (option.letter != 0) pattern += "|'" + prefix + "-" + option.letter + "'";
    out += "    " + pattern + ") " + BashValue(option) + "; return ;;\n";
  }
  return out;
}

std::string BashWords(const Command& command) {
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

// ---- fish

std::string FishQuoted(std::string_view text) { return "'" + Escaped(text, "\\'") + "'"; }

// One line: where the condition holds, complete what `rest` says.
std::string FishLine(const std::string& condition, const std::string& rest) {
  return "complete -c odyssey-ctl -n " + FishQuoted(condition) + " " + rest + "\n";
}

// What can follow an option that takes a value; the shell's own paths only where they belong.
std::string FishValue(const OptionSpec& option) {
  switch (option.kind) {
    case ValueKind::kFlag:
      return "";
    case ValueKind::kChoice:
      return " -x -a " + FishQuoted(ChoiceWords(option));
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kDirectory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kEnv:
      return " -x -a '(set --names --export)'";
    default:
      return " -x";
  }
}

std::string FishOptions(const std::string& condition, const std::vector<OptionSpec>& options) {
  std::string out;
  for (const OptionSpec& option : options) {
    std::string words = "-l " + std::string(option.name);
    if (option.letter != 0) words += std::string(" -s ") + option.letter;
    out += FishLine(condition, words + FishValue(option) + " -d " + FishQuoted(option.help));
  }
  return out;
}

std::string FishCommand(const Command& command) {
  const std::string condition = "__odyssey_ctl_begins " + std::string(command.name);
  std::string out = FishOptions(condition, command.options);
  for (const PositionalSpec& positional : command.positionals) {
    if (positional.kind == ValueKind::kFile) {
      out += FishLine(condition, "-F");
    } else if (positional.kind == ValueKind::kDirectory) {
      out += FishLine(condition, "-a '(__fish_complete_directories)'");
    } else if (positional.rest) {
      out += FishLine(condition, "-a '(__fish_complete_command)'");
    }
  }
  return out;
}

// ---- zsh

// In '…': of a description, whose brackets end it, or of a choice, whose colon does.
std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : Escaped(text, "[]:\\")) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out;
}

std::string ZshValue(const OptionSpec& option) {
  const std::string name = ":" + ZshText(option.value_name) + ":";
  switch (option.kind) {
    case ValueKind::kFlag:
      return "";
    case ValueKind::kChoice:
      return name + "(" + ChoiceWords(option) + ")";
    case ValueKind::kFile:
      return name + "_files";
    case ValueKind::kDirectory:
      return name + "_files -/";
    case ValueKind::kEnv:
      return name + "_parameters -g \"*export*\"";
    default:
      return name;
  }
}

// Arguments of _arguments, a line each.
std::string ZshOptions(const std::vector<OptionSpec>& options, const std::string& indent) {
  std::string out;
  for (const OptionSpec& option : options) {
    const std::string name = "--" + std::string(option.name);
    const std::string rest = "[" + ZshText(option.help) + "]" + ZshValue(option) + "' \\\n";
    const std::string equals = option.kind == ValueKind::kFlag ? "" : "=";
    if (option.letter == 0) {
      out += indent + "'" + (option.repeatable ? "*" : "") + name + equals + rest;
      continue;
    }
    const std::string letter = std::string("-") + option.letter;
    const std::string either = option.repeatable ? "*" : "(" + letter + " " + name + ")";
    out += indent + "'" + either + name + equals + rest;
    out += indent + "'" + either + letter + rest;
  }
  return out;
}

std::string ZshPositionals(const Command& command, const std::string& indent) {
  std::string out;
  size_t number = 0;
  for (const PositionalSpec& positional : command.positionals) {
    ++number;
    const bool path = positional.kind == ValueKind::kFile;
    std::string place = std::to_string(number) + ":";
    if (positional.rest || positional.many) place = positional.rest && !path ? "*:::" : "*:";
    std::string action = positional.rest ? "_odyssey_ctl_command" : " ";
    if (path) action = "_files";
    if (positional.kind == ValueKind::kDirectory) action = "_files -/";
    out += indent + "'" + place + ZshText(positional.name) + ":" + action + "' \\\n";
  }
  return out;
}

// A word and what it means, of an array for _describe.
std::string ZshWord(std::string_view word, std::string_view meaning) {
  return " '" + ZshText(word) + ":" + ZshText(meaning) + "'";
}

}  // namespace

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
  out += BashOptions(GlobalOptions(), "");
  out += "    esac\n    COMPREPLY=($(compgen -W '" + Join(first, " ") + " " + Join(global, " ") +
         "' -- \"$current\"))\n    return\n  fi\n  case $noun in\n";
  for (const auto& [noun, words] : verbs) {
    out += "    " + noun + ") if ((COMP_CWORD == i + 1)); then COMPREPLY=($(compgen -W '" +
           Join(words, " ") +
           "' -- \"$current\")); return; fi\n      name=\"$noun ${COMP_WORDS[i+1]}\" ;;\n";
  }
  out += "    *) name=$noun ;;\n  esac\n  case \"$name $previous\" in\n";
  for (const Command& command : CommandTable()) {
    out += BashOptions(command.options, std::string(command.name) + " ");
  }
  out += "  esac\n  case $name in\n";
  for (const Command& command : CommandTable()) out += BashWords(command);
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

std::string FishCompletion() {
  std::vector<std::string> first;
  const auto verbs = Verbs(&first);
  // __odyssey_ctl_words: the words before the cursor that are no options and no values of those
  // that come before the command.
  std::string out = R"(# fish completion for odyssey-ctl; made by: odyssey-ctl completion fish
function __odyssey_ctl_words
  set -l given (commandline -opc)
  set -e given[1]
  set -l value no
  for word in $given
    if test $value = yes
      set value no
    else
      switch $word
        case --state --socket --output -o
          set value yes
        case '-*'
        case '*'
          echo $word
      end
    end
  end
end
function __odyssey_ctl_at
  set -l words (__odyssey_ctl_words)
  test "$words" = "$argv"
end
function __odyssey_ctl_begins
  set -l words (__odyssey_ctl_words)
  set -l end (count $argv)
  test (count $words) -ge $end
  and test "$words[1..$end]" = "$argv"
end
complete -c odyssey-ctl -f
)";
  out += FishOptions("__odyssey_ctl_at", GlobalOptions());
  for (const std::string& word : first) {
    if (verbs.count(word) != 0) out += FishLine("__odyssey_ctl_at", "-a " + word);
  }
  for (const Command& command : CommandTable()) {
    const std::string name(command.name);
    const size_t space = name.find(' ');
    const std::string at = space == name.npos ? "" : " " + name.substr(0, space);
    const std::string word = space == name.npos ? name : name.substr(space + 1);
    out += FishLine("__odyssey_ctl_at" + at, "-a " + word + " -d " + FishQuoted(command.summary));
    out += FishCommand(command);
  }
  return out;
}

std::string ZshCompletion() {
  std::vector<std::string> first;
  const auto verbs = Verbs(&first);
  std::string out = R"(#compdef odyssey-ctl
# zsh completion for odyssey-ctl; made by: odyssey-ctl completion zsh
_odyssey_ctl_command() {
  if [[ $words[1] == -- ]] && (( CURRENT > 1 )); then
    shift words
    (( CURRENT-- ))
  fi
  _normal
}
_odyssey_ctl() {
  local curcontext=$curcontext state line name
  local -a words_of
  typeset -A opt_args
  _arguments -C \
)";
  out += ZshOptions(GlobalOptions(), "    ");
  out += "    '1: :->noun' '*:: :->rest' && return\n  name=$line[1]\n";
  out += "  if [[ $state == noun ]]; then\n    words_of=(";
  for (const std::string& word : first) {
    size_t words = 0;
    const Command* command = FindCommand({word}, &words);
    out += command == nullptr ? " '" + word + "'" : ZshWord(word, command->summary);
  }
  out += ")\n    _describe -t commands command words_of\n    return\n  fi\n  case $name in\n";
  for (const auto& [noun, unused] : verbs) {
    out += "    " + noun + ") words_of=(";
    for (const Command& command : CommandTable()) {
      if (command.name.substr(0, noun.size() + 1) != noun + " ") continue;
      out += ZshWord(command.name.substr(noun.size() + 1), command.summary);
    }
    out += ") ;;\n";
  }
  out += R"(  esac
  if (( $#words_of )); then
    _arguments -C '1: :->verb' '*:: :->rest' && return
    if [[ $state == verb ]]; then
      _describe -t commands command words_of
      return
    fi
    name="$name $line[1]"
  fi
  case $name in
)";
  for (const Command& command : CommandTable()) {
    out += "    '" + std::string(command.name) + "') _arguments -s \\\n" +
           ZshOptions(command.options, "      ") + ZshPositionals(command, "      ") +
           "      '--help[options of this command]' ;;\n";
  }
  out += R"(  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _odyssey_ctl "$@"
else
  compdef _odyssey_ctl odyssey-ctl
fi
)";
  return out;
}

}  // namespace odyssey::ctl
