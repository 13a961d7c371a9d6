#include "policy/rules/shell_wrappers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "policy/rules/argument_scan.h"
#include "policy/rules/path_names.h"
#include "policy/rules/program_table.h"
#include "policy/rules/script_effects.h"

namespace odyssey::rules {
namespace {

using Words = std::vector<std::string>;

// How far the search for a command goes where its place is not known, and how many of the words
// behind it count as known.
constexpr size_t kMaxGuesses = 32;
constexpr size_t kMaxGuessWords = 32;

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
                                                                    "RUSTC",
                                                                    "CC",
                                                                    "CXX",
                                                                    "NODE_EXTRA_CA_CERTS",
                                                                    "PYTHONBREAKPOINT",
                                                                    "PYTHONINSPECT",
                                                                    "PERLLIB",
                                                                    "RUBYSHELL",
                                                                    "CLASSPATH",
                                                                    "_JAVA_OPTIONS",
                                                                    "JDK_JAVA_OPTIONS",
                                                                    "CARGO_HOME",
                                                                    "GOFLAGS",
                                                                    "GOROOT",
                                                                    "RUSTC_WORKSPACE_WRAPPER",
                                                                    "RSYNC_RSH",
                                                                    "CVS_RSH",
                                                                    "SVN_EDITOR",
                                                                    "SVN_SSH",
                                                                    "HGEDITOR",
                                                                    "FCEDIT",
                                                                    "SUDO_ASKPASS",
                                                                    "SSH_ASKPASS",
                                                                    "TAR_OPTIONS",
                                                                    "LESS",
                                                                    "MANOPT",
                                                                    "VIMINIT",
                                                                    "EXINIT",
                                                                    "OPENSSL_CONF",
                                                                    "OPENSSL_MODULES",
                                                                    "CDPATH",
                                                                    "HOME",
                                                                    "XDG_CONFIG_HOME",
                                                                    "KUBECONFIG",
                                                                    "DOCKER_HOST",
                                                                    "WGETRC",
                                                                    "CURL_HOME",
                                                                    "INPUTRC"});

template <typename List>
bool Contains(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string Join(const Words& words, size_t from) {
  std::string text;
  for (size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

Words From(const Words& words, size_t index) {
  return Words(words.begin() + static_cast<long>(std::min(index, words.size())), words.end());
}

// Appends what the text holds as what may run: enough for deny and ask rules, never for an allow.
void SplitAsGuess(const std::string& text, int depth, ShellLine* out) {
  ShellLine inner;
  SplitNested(text, depth + 1, &inner);
  for (SimpleCommand& command : inner.commands) {
    if (command.kind == CommandKind::kOpaque || command.words.empty()) continue;
    command.kind = CommandKind::kGuess;
    out->commands.push_back(std::move(command));
  }
}

// Every later word might be the command, or a shell line.
void GuessInner(const Words& words, int depth, ShellLine* out) {
  const size_t end = std::min(words.size(), kMaxGuesses + 1);
  for (size_t i = 1; i < end; ++i) {
    const size_t last = std::min(words.size(), i + kMaxGuessWords);
    Words guess(words.begin() + static_cast<long>(i), words.begin() + static_cast<long>(last));
    if (last < words.size()) guess.push_back(std::string(1, kUnknown));
    out->commands.push_back({CommandKind::kGuess, std::move(guess), {}});
    if (words[i].find_first_of(" ;|&$`") != std::string::npos) SplitAsGuess(words[i], depth, out);
  }
}

void SplitLiteral(const std::string& text, std::string_view what, int depth, ShellLine* out) {
  if (HasUnknown(text)) {
    AddOpaque(std::string(what) + " of text known only at run time", RiskClass::kCodeExecution,
              out);
  }
  SplitNested(text, depth + 1, out);
}

// An option of the shell by which "S*" fits "secrets".
void FitAnyCase(const Words& options, ShellLine* out) {
  out->patterns_fit_any_case = out->patterns_fit_any_case || Contains(options, "nocaseglob") ||
                               std::any_of(options.begin(), options.end(), HasUnknown);
}

// One simple command, read by its rows of the table.
class CommandReader final {
 public:
  CommandReader(const Program& program, Words words, int depth, ShellLine* out)
      : words_(std::move(words)), depth_(depth), out_(out), name_(Basename(words_[0])) {
    own_.words = words_;
    own_.risk = program.risk;
    own_.repeats = !Has(program, kDestroys);
  }

  void Read(const Program& program) {
    if (Has(program, kSubcommands)) return Subcommand(program);
    if (program.inner == Inner::kRest) return Rest(program, words_);
    Plain(program, words_);
  }

 private:
  void Subcommand(const Program& program) {
    Arguments arguments = ScanArguments(program, words_, ScanOrder::kStop);
    while (arguments.rest < words_.size() && words_[arguments.rest][0] == '+') ++arguments.rest;
    Words canonical = From(words_, arguments.rest);
    canonical.insert(canonical.begin(), name_);
    if (canonical != words_ && !arguments.unknown_option) own_.canonical = canonical;
    for (const FoundOption& option : arguments.options) Option(option, words_);
    if (arguments.unknown_option) GuessSubcommands();
    Settings(program, arguments.rest);
    if (arguments.rest >= words_.size()) {
      if (own_.risk != RiskClass::kUnknown) own_.risk = RiskClass::kSafe;
      return Push(CommandKind::kRuns);
    }
    const Program* row = FindProgram(name_ + "/" + words_[arguments.rest]);
    if (row == nullptr && program.operands != Operands::kOther) return Plain(program, words_);
    if (row == nullptr) {
      own_.repeats = own_.repeats && own_.risk <= RiskClass::kLocalWrite;
      return Push(CommandKind::kRuns);
    }
    own_.risk = row->risk;
    own_.repeats = !Has(*row, kDestroys);
    Plain(*row, From(words_, arguments.rest));
  }

  // An option that the row does not list may take the next word as its value.
  void GuessSubcommands() {
    const size_t end = std::min(words_.size(), kMaxGuesses + 1);
    for (size_t i = 1; i < end; ++i) {
      Words guess = From(words_, i);
      guess.insert(guess.begin(), name_);
      out_->commands.push_back({CommandKind::kGuess, std::move(guess), {}});
    }
  }

  // NAME=value among the words of make; a repository that a program hands over.
  void Settings(const Program& program, size_t from) {
    for (size_t i = from; i < words_.size(); ++i) {
      const size_t equals = words_[i].find('=');
      const std::string name = words_[i].substr(0, equals);
      if (Has(program, kAssigns) && equals != std::string::npos && ChangesPrograms(name)) {
        Opaque("setting " + name);
      }
      if (words_[i].substr(0, 5) == "ext::") {
        SplitNested(words_[i].substr(5), depth_ + 1, out_);
        Opaque(name_ + " with a program as the remote");
      }
    }
  }

  // env, timeout: the inner command follows.
  void Rest(const Program& program, const Words& words) {
    const Arguments arguments = ScanArguments(program, words, ScanOrder::kStop);
    const RiskClass as_wrapper = Has(program, kPrivileged) ? program.risk : RiskClass::kSafe;
    for (const FoundOption& option : arguments.options) {
      if (option.role == 'q') return Push(CommandKind::kRuns);
      Option(option, words);
      if (option.role != 'S') continue;
      GuessInner(words, depth_, out_);
      return Opaque(name_ + " " + option.name);
    }
    size_t inner = arguments.rest;
    if (arguments.unknown_option) {
      own_.risk = as_wrapper;
      Push(CommandKind::kWrapper);
      GuessInner(words, depth_, out_);
      return Opaque(words[0] + " with options that are not known here");
    }
    for (; Has(program, kAssigns) && inner < words.size(); ++inner) {
      const size_t equals = words[inner].find('=');
      if (equals == std::string::npos) break;
      const std::string name = words[inner].substr(0, equals);
      if (HasUnknown(name) || ChangesPrograms(name)) Opaque("setting " + name);
    }
    if (inner >= words.size()) return Push(CommandKind::kRuns);
    own_.risk = as_wrapper;
    Push(CommandKind::kWrapper);
    Words rest = From(words, inner);
    if (Has(program, kAppendsInput)) AddInput(arguments, &rest);
    Unwrap(std::move(rest), depth_ + 1, out_);
  }

  // xargs puts its input where -I says, or at the end.
  static void AddInput(const Arguments& arguments, Words* command) {
    std::string placeholder;
    for (const FoundOption& option : arguments.options) {
      if (option.role == 'p') placeholder = option.value.empty() ? "{}" : option.value;
    }
    if (placeholder.empty()) return command->push_back(std::string(1, kUnknown));
    for (std::string& word : *command) {
      for (size_t at = word.find(placeholder); at != std::string::npos;
           at = word.find(placeholder)) {
        word.replace(at, placeholder.size(), 1, kUnknown);
      }
    }
  }

  void Plain(const Program& program, const Words& words) {
    if (program.inner == Inner::kAnyWord) {
      if (!Has(program, kPrivileged)) own_.risk = RiskClass::kSafe;
      Push(CommandKind::kWrapper);
      GuessInner(words, depth_, out_);
      return Opaque(name_);
    }
    if (program.inner == Inner::kShell) return Shell(words);
    if (program.inner == Inner::kElsewhere) GuessInner(words, depth_, out_);
    const Arguments arguments = ScanArguments(program, words, ScanOrder::kPermute);
    for (const FoundOption& option : arguments.options) Option(option, words);
    ReadOperands(program, words, arguments);
    Push(CommandKind::kRuns);
  }

  // sh -c TEXT, sh FILE, or sh that reads its standard input.
  void Shell(const Words& words) {
    bool text_follows = false;
    size_t i = 1;
    for (; i < words.size() && words[i].size() > 1 && (words[i][0] == '-' || words[i][0] == '+');
         ++i) {
      const std::string& option = words[i];
      if (HasUnknown(option)) {
        GuessInner(words, depth_, out_);
        return Opaque(name_ + " with unknown options");
      }
      if (option == "--") {
        ++i;
        break;
      }
      if (option == "--rcfile" || option == "--init-file") Opaque(name_ + " " + option);
      if (option.substr(0, 2) == "--") {
        if (option == "--rcfile" || option == "--init-file") ++i;
        continue;
      }
      if (option.find('c') != std::string::npos && option[0] == '-') text_follows = true;
      if (option.find('s') != std::string::npos) Opaque(name_ + " reading commands");
      if (option.back() == 'o' || option.back() == 'O') ++i;
    }
    FitAnyCase(Words(words.begin(), words.begin() + static_cast<long>(std::min(i, words.size()))),
               out_);
    if (!text_follows && i >= words.size()) return Opaque(name_ + " reading commands");
    if (!text_follows) {
      File(FileAccess::kRead, words[i]);
      return Push(CommandKind::kRuns);
    }
    if (i >= words.size()) return Opaque(name_ + " -c without a command");
    const RiskClass risk = std::exchange(own_.risk, RiskClass::kSafe);
    Push(CommandKind::kWrapper);
    const size_t before = out_->commands.size();
    SplitLiteral(words[i], name_ + " -c", depth_, out_);
    if (out_->commands.size() > before) return;
    own_.risk = risk;
    Push(CommandKind::kRuns);
  }

  // What an option does, by its role.
  void Option(const FoundOption& option, const Words& words) {
    const std::string what = name_ + " " + option.name;
    switch (option.role) {
      case 'W':
        target_given_ = true;
        [[fallthrough]];
      case 'w':
        return File(FileAccess::kWrite, option.value);
      case 'F':
        Opaque(what);
        [[fallthrough]];
      case 'P':
        patterns_given_ = true;
        [[fallthrough]];
      case 'r':
        return File(FileAccess::kRead, option.value);
      case 'R':
        return File(FileAccess::kReadTree, option.value);
      case 'N':
        File(FileAccess::kRead, option.value);
        return File(FileAccess::kRead, std::string(1, kUnknown));
      case 'n':
        File(FileAccess::kRead, option.value);
        return File(FileAccess::kRead, AfterEquals(option.value));
      case 'v':
        return ShownFile(option.value);
      case 'a':
        return File(FileAccess::kReadTree, ".");
      case 'L':
        read_ = FileAccess::kLink;
        return;
      case 'i':
        if (option.value.substr(0, 7) == "inplace") operands_written_ = true;
        File(FileAccess::kRead, option.value);
        return Opaque(what);
      case '@':
        return FileInText(option.value);
      case 'u':
        return Address(option.value);
      case 'T':
        target_given_ = true;
        [[fallthrough]];
      case 't':
        target_ = option.value;
        return File(FileAccess::kWriteTree, option.value);
      case 'd':
        directory_ = option.value;
        return out_->directories.push_back(option.value);
      case 'c':
        own_.risk = std::max(own_.risk, RiskClass::kCodeExecution);
        return SplitLiteral(option.value, what, depth_, out_);
      case 'S':
        return SplitNested(option.value + " " + Join(words, option.next), depth_ + 1, out_);
      case 'e':
        own_.risk = std::max(own_.risk, RiskClass::kCodeExecution);
        return Inner(words, option.next);
      case '!':
        return Opaque(what);
      case 'g':
        return GitSetting(option.value);
      case 'k':
        return Setting(what, option.value);
      case 'I':
        operands_written_ = true;
        return;
      case 'D':
        operands_removed_ = true;
        return;
      case 'O':
        return File(FileAccess::kWrite, std::string(1, kGlob));
      case 'X':
        unpacks_ = true;
        return;
      case 'A':
        writes_archive_ = true;
        return;
      case 'f':
        archive_ = option.value;
        return;
      case 's':
        scripts_.push_back(option.value);
        return;
      default:
        return;
    }
  }

  // The words up to ";" or "+".
  void Inner(const Words& words, size_t from) {
    Words inner;
    for (size_t i = from; i < words.size() && words[i] != ";" && words[i] != "+"; ++i) {
      inner.push_back(words[i] == "{}" ? std::string(1, kUnknown) : words[i]);
    }
    if (!inner.empty()) Unwrap(std::move(inner), depth_ + 1, out_);
  }

  void GitSetting(const std::string& setting) {
    static constexpr auto kHarmless = std::to_array<std::string_view>({"user.",
                                                                       "color.",
                                                                       "advice.",
                                                                       "init.defaultbranch",
                                                                       "http.",
                                                                       "https.",
                                                                       "commit.gpgsign",
                                                                       "tag.gpgsign",
                                                                       "push.default",
                                                                       "pull.rebase",
                                                                       "pull.ff",
                                                                       "merge.ff",
                                                                       "core.quotepath",
                                                                       "core.autocrlf",
                                                                       "core.longpaths",
                                                                       "core.filemode",
                                                                       "log.",
                                                                       "status.",
                                                                       "i18n.",
                                                                       "fetch.",
                                                                       "rebase.autostash",
                                                                       "gc.auto",
                                                                       "a="});
    const size_t equals = setting.find('=');
    std::string key = setting.substr(0, equals);
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (key.substr(0, 6) == "alias." && equals != std::string::npos &&
        setting.substr(equals + 1, 1) == "!") {
      SplitNested(setting.substr(equals + 2), depth_ + 1, out_);
    }
    const bool harmless = std::any_of(
        kHarmless.begin(), kHarmless.end(),
        [&](std::string_view prefix) { return key.substr(0, prefix.size()) == prefix; });
    if (!harmless) Opaque("git with " + key);
  }

  // A setting that may name a program: ssh -o ProxyCommand=…
  void Setting(const std::string& what, std::string value) {
    static constexpr auto kParts = std::to_array<std::string_view>(
        {"command", "exec", "invoke", "provider", "include", "pkcs11", "helper", "identityagent",
         "knownhostscommand", "xauth", "program", "dir::", "\x01"});
    const std::string given = value;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool names = std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
      return value.find(part) != std::string::npos;
    });
    if (!names) return;
    const size_t equals = given.find_first_of("= ");
    if (equals != std::string::npos) SplitAsGuess(given.substr(equals + 1), depth_, out_);
    Opaque(what);
  }

  void ReadOperands(const Program& program, const Words& words, const Arguments& arguments) {
    const bool trees =
        Has(program, kReadsTrees) || (Has(program, kRecursive) && IsRecursive(words, "rRa"));
    if (trees && read_ == FileAccess::kRead) read_ = FileAccess::kReadTree;
    Words operands;
    for (const size_t index : arguments.operands) operands.push_back(words[index]);
    if (Has(program, kPathspecs)) {
      std::transform(operands.begin(), operands.end(), operands.begin(), Pathspec);
    }
    const bool named = program.operands == Operands::kCopy && operands.size() > 1;
    if (Has(program, kWritesUnnamed) && !target_given_ && !named) {
      File(FileAccess::kWrite, std::string(1, kBelow));
    }
    if (name_ == "cd" || name_ == "pushd") return ChangeDirectory(operands);
    if (Has(program, kBareCluster)) return Archive(operands);
    switch (program.operands) {
      case Operands::kOther:
        break;
      case Operands::kRead:
        ReadOrEdit(operands, 0);
        break;
      case Operands::kGitObjects:
        for (const std::string& object : operands) {
          File(read_, object);
          const size_t colon = object.find(':');
          if (colon != std::string::npos) File(read_, object.substr(colon + 1));
        }
        break;
      case Operands::kWrite:
        Each(trees ? FileAccess::kWriteTree : FileAccess::kWrite, operands, 0);
        break;
      case Operands::kWriteTree:
        Each(IsRecursive(words) ? FileAccess::kRemoveTree : FileAccess::kWrite, operands, 0);
        break;
      case Operands::kReplace:
        Each(FileAccess::kWriteTree, operands, 0);
        break;
      case Operands::kConvert:
        Each(read_, operands, 0);
        Each(trees ? FileAccess::kWriteTree : FileAccess::kWrite, operands, 0);
        break;
      case Operands::kMove:
        Each(FileAccess::kWriteTree, operands, 0);
        if (!target_given_ && !operands.empty()) operands.pop_back();
        Each(FileAccess::kReadTree, operands, 0);
        break;
      case Operands::kLink:
        Link(std::move(operands));
        break;
      case Operands::kCopy:
        if (operands.size() > 1 && !target_given_) {
          File(FileAccess::kWriteTree, operands.back());
          operands.pop_back();
        }
        Each(read_, operands, 0);
        break;
      case Operands::kPatternThenRead:
        if (!patterns_given_ && scripts_.empty() && !operands.empty()) {
          operands.erase(operands.begin());
        }
        if (trees && operands.empty()) operands = {"."};
        ReadOrEdit(operands, 0);
        break;
      case Operands::kAwk:
      case Operands::kSed:
        Script(program.operands, operands);
        break;
      case Operands::kAssignments:
        for (const std::string& word : operands) {
          if (word.substr(0, 3) == "of=") File(FileAccess::kWrite, word.substr(3));
          if (word.substr(0, 3) == "if=") File(FileAccess::kRead, word.substr(3));
        }
        break;
      case Operands::kGitSetting:
        if (operands.size() > 1) GitSetting(operands[0] + "=" + operands[1]);
        break;
      case Operands::kAddresses:
        for (const std::string& address : operands) Address(address);
        break;
    }
    if (!operands_removed_) return;
    own_.risk = std::max(own_.risk, RiskClass::kLocalWrite);
    if (operands.empty()) operands.push_back(".");
    for (const std::string& from : operands) {
      // Below the workspace, tests of find choose some of the files.
      const bool chosen = arguments.options.size() < CountOptions(words) && from[0] != '/';
      File(chosen ? FileAccess::kWriteTree : FileAccess::kRemoveTree, from);
    }
  }

  static size_t CountOptions(const Words& words) {
    return static_cast<size_t>(
        std::count_if(words.begin() + 1, words.end(),
                      [](const std::string& word) { return !word.empty() && word[0] == '-'; }));
  }

  // @FILE, NAME=@FILE, NAME=<FILE, NAME@FILE; of a form ";type=…" may follow.
  void FileInText(const std::string& text) {
    const size_t equals = text.find('=');
    const bool named = equals != std::string::npos && equals + 1 < text.size() &&
                       (text[equals + 1] == '@' || text[equals + 1] == '<');
    const size_t mark = named ? equals + 1 : text.find('@');
    if (mark >= text.size()) return;
    File(FileAccess::kRead, text.substr(mark + 1, text.find(';', mark) - mark - 1));
  }

  // file:PATH, file://HOST/PATH. Of a path with patterns or escapes of curl's the beginning counts.
  void Address(const std::string& address) {
    static constexpr std::string_view kScheme = "file:";
    std::string scheme = address.substr(0, kScheme.size());
    std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (scheme != kScheme) return;
    std::string path = address.substr(kScheme.size());
    if (path.substr(0, 2) == "//") path.erase(0, std::min(path.find('/', 2), path.size()));
    const size_t plain = path.find_first_of("{[%");
    if (plain != std::string::npos) path.replace(plain, std::string::npos, 1, kUnknown);
    File(read_, path);
  }

  static std::string AfterEquals(const std::string& text) {
    const size_t equals = text.find('=');
    return equals == std::string::npos ? "" : text.substr(equals + 1);
  }

  // HOST:CELL, or source=HOST among others that commas separate.
  void ShownFile(const std::string& text) {
    for (const std::string_view key : {"source=", "src="}) {
      const size_t at = text.find(key);
      if (at == std::string::npos) continue;
      const size_t begin = at + key.size();
      return File(FileAccess::kLink, text.substr(begin, text.find(',', begin) - begin));
    }
    File(FileAccess::kLink, text.substr(0, text.find(':')));
  }

  // ln TARGET… NAME: a symbolic link's target is relative to the link.
  void Link(Words operands) {
    std::string name = target_given_ ? target_ : ".";
    if (operands.size() == 1) File(FileAccess::kWriteTree, operands[0]);
    if (operands.size() > 1 && !target_given_) {
      name = operands.back();
      File(FileAccess::kWriteTree, name);
      operands.pop_back();
    }
    for (const std::string& target : operands) {
      File(FileAccess::kLink, target);
      File(FileAccess::kLink, JoinPath(name, target));
      File(FileAccess::kLink, JoinPath(name + "/..", target));
    }
  }

  // Git's "*" fits "/" too; what follows ":" changes what a path means.
  static std::string Pathspec(std::string path) {
    if (path.size() > 1 && path[0] == ':' && std::string_view("(/!^").find(path[1]) != path.npos) {
      return std::string(1, kUnknown);
    }
    std::replace_if(
        path.begin(), path.end(), [](char c) { return c == '*' || c == '?' || c == kGlob; },
        kBelow);
    const size_t set = path.find('[');
    if (set != std::string::npos) path.replace(set, std::string::npos, 1, kUnknown);
    return path;
  }

  void Each(FileAccess access, const Words& operands, size_t from) {
    for (size_t i = from; i < operands.size(); ++i) File(access, operands[i]);
  }

  void ReadOrEdit(const Words& operands, size_t from) {
    Each(read_, operands, from);
    if (operands_written_) Each(FileAccess::kWrite, operands, from);
  }

  // A word known only at run time may be the option.
  static bool IsRecursive(const Words& words, std::string_view letters = "rR") {
    return std::any_of(words.begin() + 1, words.end(), [&](const std::string& word) {
      if (word.substr(0, 3) == "--r") return true;
      return word.size() > 1 && word[0] == '-' && word[1] != '-' &&
             word.find_first_of(letters) != std::string::npos;
    });
  }

  void ChangeDirectory(const Words& operands) {
    const std::string to = operands.empty() ? "~" : operands.back();
    const bool earlier = to == "-" || to.substr(0, 2) == "~-";
    out_->directories.push_back(earlier ? std::string(1, kUnknown) : to);
  }

  void Archive(const Words& operands) {
    if (!archive_.empty()) {
      File(writes_archive_ ? FileAccess::kWrite : FileAccess::kRead, archive_);
    }
    if (unpacks_) {
      own_.risk = std::max(own_.risk, RiskClass::kLocalWrite);
      File(FileAccess::kWriteTree, directory_.empty() ? "." : directory_);
    }
    if (writes_archive_) Each(FileAccess::kReadTree, operands, 0);
    if (operands_removed_) Each(FileAccess::kRemoveTree, operands, 0);
    operands_removed_ = false;
  }

  void Script(Operands kind, Words operands) {
    const bool from_option = !scripts_.empty() || patterns_given_;
    if (!from_option && !operands.empty()) scripts_.push_back(operands[0]);
    for (const std::string& script : scripts_) {
      const ScriptEffects effects =
          kind == Operands::kSed ? SedEffects(script) : AwkEffects(script);
      if (effects.runs_commands) Opaque(name_ + " with a script that runs commands");
      if (effects.writes_unnamed) File(FileAccess::kWrite, std::string(1, kUnknown));
      if (effects.reads_unnamed) File(FileAccess::kRead, std::string(1, kUnknown));
      for (const std::string& path : effects.written) File(FileAccess::kWrite, path);
      for (const std::string& path : effects.read) File(FileAccess::kRead, path);
    }
    ReadOrEdit(operands, from_option ? 0 : 1);
  }

  void File(FileAccess access, const std::string& path) {
    if (path.empty() || path == "-") return;
    if (!IsRead(access)) {
      own_.risk = std::max(own_.risk, RiskClass::kLocalWrite);
    }
    out_->files.push_back({access, path, name_});
  }

  void Opaque(std::string_view why) { AddOpaque(why, RiskClass::kCodeExecution, out_); }

  void Push(CommandKind kind) {
    own_.kind = kind;
    own_.repeats = own_.repeats && own_.risk <= RiskClass::kLocalWrite;
    if (!IsSystemProgram(own_.words[0])) {
      own_.risk = std::max(own_.risk, RiskClass::kUnknown);
      own_.repeats = false;
    }
    out_->commands.push_back(own_);
  }

  const Words words_;
  const int depth_;
  ShellLine* const out_;
  const std::string name_;
  SimpleCommand own_;
  std::string directory_, archive_, target_;
  Words scripts_;
  FileAccess read_ = FileAccess::kRead;
  bool target_given_ = false, patterns_given_ = false, operands_written_ = false,
       operands_removed_ = false;
  bool unpacks_ = false, writes_archive_ = false;
};

void PushRuns(const Words& words, RiskClass risk, ShellLine* out) {
  out->commands.push_back({CommandKind::kRuns, words, {}, risk, risk <= RiskClass::kLocalWrite});
}

// Shell builtins that take commands as text, or change what a name means. True if `words` is one.
bool UnwrapBuiltin(const Words& words, int depth, ShellLine* out) {
  const std::string& name = words[0];
  if (name == "eval") {
    out->commands.push_back({CommandKind::kWrapper, words, {}});
    SplitNested(Join(words, 1), depth + 1, out);
    AddOpaque("eval", RiskClass::kCodeExecution, out);
    return true;
  }
  if (name == "trap" && words.size() > 2) {
    PushRuns(words, RiskClass::kSafe, out);
    const std::string& action = words[words[1] == "--" ? 2 : 1];
    if (action != "-" && action != "") SplitLiteral(action, "trap", depth, out);
    return true;
  }
  const bool sets = name == "export" || name == "declare" || name == "typeset" ||
                    name == "readonly" || name == "local";
  const bool changes_names = name == "." || name == "source" || name == "enable" ||
                             (name == "alias" && words.size() > 1) ||
                             (name == "hash" && words.size() > 1);
  if (name == "shopt") FitAnyCase(words, out);
  if (!sets && !changes_names) return false;
  PushRuns(words, RiskClass::kSafe, out);
  if ((name == "." || name == "source") && words.size() > 1) {
    out->files.push_back({FileAccess::kRead, words[1], name});
  }
  if (changes_names) AddOpaque(name, RiskClass::kCodeExecution, out);
  for (size_t i = 1; sets && i < words.size(); ++i) {
    const std::string variable = words[i].substr(0, words[i].find('='));
    if (ChangesPrograms(variable)) {
      AddOpaque(name + " " + words[i], RiskClass::kCodeExecution, out);
    }
    if (MovesDirectories(variable)) out->directories_by_variable = true;
  }
  return true;
}

}  // namespace

std::string_view Basename(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool ChangesPrograms(std::string_view variable) {
  if (!variable.empty() && variable.back() == '+') variable.remove_suffix(1);  // NAME+=value
  static constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"LD_", "GIT_", "BASH_FUNC_", "CARGO_TARGET_", "npm_config_", "NPM_CONFIG_"});
  return Contains(kProgramVariables, variable) ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
           return variable.substr(0, prefix.size()) == prefix;
         });
}

bool MovesDirectories(std::string_view variable) {
  if (!variable.empty() && variable.back() == '+') variable.remove_suffix(1);
  static constexpr auto kNames = std::to_array<std::string_view>({"CDPATH", "HOME", "OLDPWD"});
  return Contains(kNames, variable);
}

void AddOpaque(std::string_view why, RiskClass risk, ShellLine* out) {
  SimpleCommand opaque{CommandKind::kOpaque, {std::string(why)}, {}, risk, false};
  if (out->commands.empty() || out->commands.back() != opaque) {
    out->commands.push_back(std::move(opaque));
  }
}

void Unwrap(Words words, int depth, ShellLine* out) {
  if (HasUnknown(words[0])) {
    GuessInner(words, depth, out);
    return AddOpaque("a command name known only at run time", RiskClass::kUnknown, out);
  }
  if (depth > kMaxShellDepth) {
    return AddOpaque("commands nested too deep", RiskClass::kUnknown, out);
  }
  if (UnwrapBuiltin(words, depth, out)) return;

  const std::string program = words[0];
  const Program* row = FindProgram(Basename(program));
  if (row == nullptr) return PushRuns(words, RiskClass::kUnknown, out);
  const size_t before = out->commands.size();
  CommandReader(*row, std::move(words), depth, out).Read(*row);
  // A wrapper from anywhere else need not do what its name says.
  if (out->commands.size() > before + 1 && !IsSystemProgram(program)) {
    AddOpaque(program, RiskClass::kUnknown, out);
  }
}

bool IsSystemProgram(std::string_view program) {
  static constexpr auto kDirectories = std::to_array<std::string_view>(
      {"", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/",
       "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"});
  return Contains(kDirectories, program.substr(0, program.size() - Basename(program).size()));
}

}  // namespace odyssey::rules
