#include "policy/rules/shell_wrappers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace odyssey::rules {
namespace {

using Words = std::vector<std::string>;

// How far Unwrap looks for a command after options that it does not know, and how many of the words
// behind it count as known.
constexpr size_t kMaxGuesses = 32;
constexpr size_t kMaxGuessWords = 32;

// One wrapper's command line: options, `positionals` operands, then the command.
struct Wrapper {
  std::string_view name;
  std::string_view flags;        // short options without a value
  std::string_view values;       // short options with a value
  std::string_view long_flags;   // " a b "
  std::string_view long_values;  // " a b "
  int positionals = 0;
  bool assignments = false;  // NAME=value before the command
};

constexpr auto kWrappers = std::to_array<Wrapper>({
    {"env", "i0v", "uC", " ignore-environment null debug ", " unset chdir ", 0, true},
    {"nice", "0123456789", "n", "", " adjustment ", 0, false},
    {"ionice", "t", "cn", " ignore ", " class classdata ", 0, false},
    {"chrt", "abfiomrR", "TPD", " all-tasks batch fifo idle other rr ", "", 1, false},
    {"taskset", "ac", "", " all-tasks cpu-list ", "", 1, false},
    {"timeout", "v", "ks", " foreground preserve-status verbose ", " kill-after signal ", 1, false},
    {"nohup", "", "", "", "", 0, false},
    {"setsid", "cfw", "", " ctty fork wait ", "", 0, false},
    {"stdbuf", "", "ioe", "", " input output error ", 0, false},
    {"time", "pqva", "fo", " portability quiet verbose append ", " format output ", 0, false},
    {"sudo", "AbEHkKnPS", "CDghpRrTtUu", " non-interactive preserve-env set-home stdin ",
     " user group host prompt chdir chroot role type other-user command-timeout ", 0, true},
    {"doas", "n", "uC", "", "", 0, false},
    {"xargs", "0oprtx", "adEILnPs", " null no-run-if-empty verbose exit interactive open-tty ",
     " arg-file delimiter max-args max-procs max-chars max-lines ", 0, false},
    {"command", "p", "", "", "", 0, false},
    {"builtin", "", "", "", "", 0, false},
    {"exec", "cl", "a", "", "", 0, false},
    {"chroot", "", "", " skip-chdir ", " groups userspec ", 1, false},
    {"busybox", "", "", "", "", 0, false},
    {"toybox", "", "", "", "", 0, false},
    {"flock", "enosuxF", "wE", " shared exclusive unlock nonblock close verbose no-fork ",
     " timeout wait conflict-exit-code ", 1, false},
});

constexpr auto kShells =
    std::to_array<std::string_view>({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"});

// They run a command too, but where it begins is not read here.
constexpr auto kHardWrappers = std::to_array<std::string_view>(
    {"su",      "runuser", "script",      "watch",    "parallel", "unshare",           "nsenter",
     "setpriv", "prlimit", "systemd-run", "strace",   "ltrace",   "valgrind",          "perf",
     "gdb",     "entr",    "bwrap",       "firejail", "unbuffer", "start-stop-daemon", "setarch",
     "linux32", "linux64", "pkexec",      "sg",       "fakeroot"});

constexpr auto kProgramVariables = std::to_array<std::string_view>({"PATH",
                                                                    "IFS",
                                                                    "ENV",
                                                                    "BASH_ENV",
                                                                    "BASHOPTS",
                                                                    "SHELLOPTS",
                                                                    "PS4",
                                                                    "PROMPT_COMMAND",
                                                                    "PYTHONPATH",
                                                                    "PYTHONHOME",
                                                                    "PYTHONSTARTUP",
                                                                    "PERL5LIB",
                                                                    "PERL5OPT",
                                                                    "PERL5DB",
                                                                    "RUBYOPT",
                                                                    "RUBYLIB",
                                                                    "NODE_OPTIONS",
                                                                    "NODE_PATH",
                                                                    "JAVA_TOOL_OPTIONS",
                                                                    "GCONV_PATH",
                                                                    "LESSOPEN",
                                                                    "LESSCLOSE",
                                                                    "EDITOR",
                                                                    "VISUAL",
                                                                    "PAGER",
                                                                    "MANPAGER",
                                                                    "SHELL",
                                                                    "BROWSER",
                                                                    "MAKEFLAGS",
                                                                    "RUSTC_WRAPPER",
                                                                    "RUSTC"});

template <typename List>
bool Contains(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool HasUnknown(std::string_view word) { return word.find(kUnknown) != std::string_view::npos; }

void AddOpaque(std::string_view why, std::vector<SimpleCommand>* out) {
  out->push_back({CommandKind::kOpaque, {std::string(why)}});
}

bool ListsLong(std::string_view list, std::string_view name) {
  return list.find(" " + std::string(name) + " ") != std::string_view::npos;
}

// How many words the option at `words[i]` takes; nullopt = not known.
std::optional<size_t> OptionWords(const Wrapper& wrapper, std::string_view option) {
  if (HasUnknown(option)) return std::nullopt;
  if (option.substr(0, 2) == "--") {
    const size_t equals = option.find('=');
    const std::string_view name =
        option.substr(2, equals == option.npos ? option.npos : equals - 2);
    if (ListsLong(wrapper.long_flags, name)) return 1;
    if (!ListsLong(wrapper.long_values, name)) return std::nullopt;
    return equals == option.npos ? 2 : 1;
  }
  for (size_t i = 1; i < option.size(); ++i) {
    if (wrapper.values.find(option[i]) != std::string_view::npos) {
      return i + 1 == option.size() ? 2 : 1;
    }
    if (wrapper.flags.find(option[i]) == std::string_view::npos) return std::nullopt;
  }
  return 1;
}

// The index of the wrapped command's first word, words.size() if there is none; nullopt = not
// known.
std::optional<size_t> FindInner(const Wrapper& wrapper, const Words& words) {
  size_t i = 1;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-') {
    if (words[i] == "--") {
      ++i;
      break;
    }
    const std::optional<size_t> taken = OptionWords(wrapper, words[i]);
    if (!taken) return std::nullopt;
    i += *taken;
  }
  if (wrapper.name == "env" && i < words.size() && words[i] == "-") ++i;
  return std::min(i + static_cast<size_t>(wrapper.positionals), words.size());
}

// Every later word might be the command: enough for deny and ask rules, never for an allow.
void GuessInner(const Words& words, std::string_view why, std::vector<SimpleCommand>* out) {
  const size_t end = std::min(words.size(), kMaxGuesses + 1);
  for (size_t i = 1; i < end; ++i) {
    const size_t last = std::min(words.size(), i + kMaxGuessWords);
    Words guess(words.begin() + static_cast<long>(i), words.begin() + static_cast<long>(last));
    if (last < words.size()) guess.push_back(std::string(1, kUnknown));
    out->push_back({CommandKind::kGuess, std::move(guess)});
  }
  AddOpaque(why, out);
}

std::string Join(const Words& words, size_t from) {
  std::string text;
  for (size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

void SplitLiteral(const std::string& text, std::string_view what, int depth,
                  std::vector<SimpleCommand>* out) {
  if (HasUnknown(text)) AddOpaque(std::string(what) + " of text known only at run time", out);
  SplitNested(text, depth + 1, out);
}

// sh -c TEXT, sh FILE, or sh that reads its standard input.
void UnwrapShell(const Words& words, int depth, std::vector<SimpleCommand>* out) {
  const std::string name(Basename(words[0]));
  bool text_follows = false;
  size_t i = 1;
  for (; i < words.size() && words[i].size() > 1 && (words[i][0] == '-' || words[i][0] == '+');
       ++i) {
    const std::string& option = words[i];
    if (HasUnknown(option)) return GuessInner(words, name + " with unknown options", out);
    if (option == "--") {
      ++i;
      break;
    }
    if (option == "--rcfile" || option == "--init-file") AddOpaque(name + " " + option, out);
    if (option.substr(0, 2) == "--") {
      if (option == "--rcfile" || option == "--init-file") ++i;
      continue;
    }
    if (option.find('c') != std::string::npos && option[0] == '-') text_follows = true;
    if (option.find('s') != std::string::npos) AddOpaque(name + " reading commands", out);
    if (option.back() == 'o' || option.back() == 'O') ++i;
  }
  if (!text_follows && i >= words.size()) return AddOpaque(name + " reading commands", out);
  if (!text_follows) {
    out->push_back({CommandKind::kRuns, words});
    return;
  }
  if (i >= words.size()) return AddOpaque(name + " -c without a command", out);
  out->push_back({CommandKind::kWrapper, words});
  const size_t before = out->size();
  SplitLiteral(words[i], name + " -c", depth, out);
  if (out->size() == before) out->push_back({CommandKind::kRuns, words});
}

// find … -exec COMMAND ; — find itself runs as well.
void UnwrapFind(const Words& words, int depth, std::vector<SimpleCommand>* out) {
  static constexpr auto kActions =
      std::to_array<std::string_view>({"-exec", "-execdir", "-ok", "-okdir"});
  for (size_t i = 1; i < words.size(); ++i) {
    if (!Contains(kActions, words[i])) continue;
    Words inner;
    for (++i; i < words.size() && words[i] != ";" && words[i] != "+"; ++i) {
      inner.push_back(words[i] == "{}" ? std::string(1, kUnknown) : words[i]);
    }
    if (!inner.empty()) Unwrap(std::move(inner), depth + 1, out);
  }
  out->push_back({CommandKind::kRuns, words});
}

// Shell builtins that take commands as text, or change what a name means. True if `words` is one.
bool UnwrapBuiltin(const Words& words, int depth, std::vector<SimpleCommand>* out) {
  const std::string& name = words[0];
  if (name == "eval") {
    out->push_back({CommandKind::kWrapper, words});
    SplitNested(Join(words, 1), depth + 1, out);
    AddOpaque("eval", out);
    return true;
  }
  if (name == "trap" && words.size() > 2) {
    out->push_back({CommandKind::kRuns, words});
    if (words[1] != "-" && words[1] != "") SplitLiteral(words[1], "trap", depth, out);
    return true;
  }
  const bool sets = name == "export" || name == "declare" || name == "typeset" ||
                    name == "readonly" || name == "local";
  const bool changes_names = name == "." || name == "source" || name == "enable" ||
                             (name == "alias" && words.size() > 1) ||
                             (name == "hash" && words.size() > 1);
  if (!sets && !changes_names) return false;
  out->push_back({CommandKind::kRuns, words});
  if (changes_names) AddOpaque(name, out);
  for (size_t i = 1; sets && i < words.size(); ++i) {
    if (ChangesPrograms(words[i].substr(0, words[i].find('='))))
      AddOpaque(name + " " + words[i], out);
  }
  return true;
}

// xargs puts its input where -I says, or at the end.
void AddInputOfXargs(const Words& words, size_t inner, Words* command) {
  std::string placeholder;
  for (size_t i = 1; i < inner; ++i) {
    const size_t at = words[i][0] == '-' ? words[i].find('I') : std::string::npos;
    if (at == std::string::npos) continue;
    placeholder = at + 1 < words[i].size() ? words[i].substr(at + 1) : words[i + 1];
  }
  if (placeholder.empty()) return command->push_back(std::string(1, kUnknown));
  for (std::string& word : *command) {
    for (size_t at = word.find(placeholder); at != std::string::npos; at = word.find(placeholder)) {
      word.replace(at, placeholder.size(), 1, kUnknown);
    }
  }
}

// flock FILE -c TEXT, env -S TEXT, xargs -I{}: what a wrapper's plain command line does not cover.
bool UnwrapSpecial(const Wrapper& wrapper, const Words& words, int depth,
                   std::vector<SimpleCommand>* out) {
  if (wrapper.name == "command" && words.size() > 1 && (words[1] == "-v" || words[1] == "-V")) {
    out->push_back({CommandKind::kRuns, words});
    return true;
  }
  const bool splits = wrapper.name == "env" || wrapper.name == "flock";
  for (size_t i = 1; splits && i < words.size(); ++i) {
    const bool flock_text =
        wrapper.name == "flock" && (words[i] == "-c" || words[i] == "--command");
    const bool env_text = wrapper.name == "env" && (words[i].substr(0, 2) == "-S" ||
                                                    words[i].substr(0, 14) == "--split-string");
    if (!flock_text && !env_text) continue;
    SplitNested(Join(words, i + 1), depth + 1, out);
    GuessInner(words, std::string(wrapper.name) + " " + words[i], out);
    return true;
  }
  return false;
}

void UnwrapKnown(const Wrapper& wrapper, const Words& words, int depth,
                 std::vector<SimpleCommand>* out) {
  if (UnwrapSpecial(wrapper, words, depth, out)) return;
  const std::optional<size_t> found = FindInner(wrapper, words);
  if (!found) {
    out->push_back({CommandKind::kWrapper, words});
    return GuessInner(words, words[0] + " with options that are not known here", out);
  }
  size_t inner = *found;
  for (; wrapper.assignments && inner < words.size(); ++inner) {
    const size_t equals = words[inner].find('=');
    if (equals == std::string::npos) break;
    const std::string name = words[inner].substr(0, equals);
    if (HasUnknown(name) || ChangesPrograms(name)) AddOpaque("setting " + name, out);
  }
  if (inner >= words.size()) {
    out->push_back({CommandKind::kRuns, words});
    return;
  }
  out->push_back({CommandKind::kWrapper, words});
  Words rest(words.begin() + static_cast<long>(inner), words.end());
  if (wrapper.name == "xargs") AddInputOfXargs(words, inner, &rest);
  Unwrap(std::move(rest), depth + 1, out);
}

void UnwrapProgram(const std::string& name, const Words& words, int depth,
                   std::vector<SimpleCommand>* out) {
  if (name == "find") return UnwrapFind(words, depth, out);
  if (Contains(kShells, name)) return UnwrapShell(words, depth, out);
  if (Contains(kHardWrappers, name) || name.substr(0, 8) == "ld-linux") {
    out->push_back({CommandKind::kWrapper, words});
    return GuessInner(words, name, out);
  }
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.name == name) return UnwrapKnown(wrapper, words, depth, out);
  }
  out->push_back({CommandKind::kRuns, words});
}

}  // namespace

std::string_view Basename(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool ChangesPrograms(std::string_view variable) {
  if (!variable.empty() && variable.back() == '+') variable.remove_suffix(1);  // NAME+=value
  return variable.substr(0, 3) == "LD_" || variable.substr(0, 4) == "GIT_" ||
         variable.substr(0, 10) == "BASH_FUNC_" || Contains(kProgramVariables, variable);
}

void Unwrap(Words words, int depth, std::vector<SimpleCommand>* out) {
  if (HasUnknown(words[0])) return GuessInner(words, "a command name known only at run time", out);
  if (depth > kMaxShellDepth) return AddOpaque("commands nested too deep", out);

  const std::string name(Basename(words[0]));
  if (UnwrapBuiltin(words, depth, out)) return;
  const size_t before = out->size();
  UnwrapProgram(name, words, depth, out);
  // A wrapper from anywhere else need not do what its name says.
  if (out->size() > before + 1 && !IsSystemProgram(words[0])) AddOpaque(words[0], out);
}

bool IsSystemProgram(std::string_view program) {
  static constexpr auto kDirectories = std::to_array<std::string_view>(
      {"", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"});
  return Contains(kDirectories, program.substr(0, program.size() - Basename(program).size()));
}

}  // namespace odyssey::rules
