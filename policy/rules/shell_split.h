#ifndef ODYSSEY_POLICY_RULES_SHELL_SPLIT_H_
#define ODYSSEY_POLICY_RULES_SHELL_SPLIT_H_

// Which programs would a shell command line start. Pure; runs nothing and expands nothing.
//
// Reads what both dash and bash read; where they differ, or where the answer depends on something
// that exists only at run time, the result says kOpaque. It may name more commands than the shell
// would start, never fewer without saying so. What a program does once it runs (make, python3 -c, a
// script) is not seen: that is the cell's to confine.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/rules/risk_class.h"

namespace odyssey::rules {

// Stands in a word for text that is known only at run time.
inline constexpr char kUnknown = '\x01';
// The same, of a pattern that is expanded to names: a part of one name, not of "..".
inline constexpr char kGlob = '\x02';
// The same, of any number of names, of which none is "..".
inline constexpr char kBelow = '\x04';

enum class CommandKind {
  kRuns,     // a program or builtin; no words: only assignments or redirections
  kWrapper,  // runs the command that follows in the list: env, timeout, sh -c, …
  kGuess,    // perhaps a command: follows a wrapper whose options are not known here
  kOpaque,   // something that cannot be known before it runs; the one word says what
};

struct SimpleCommand {
  CommandKind kind = CommandKind::kRuns;
  std::vector<std::string> words;  // unquoted
  // Without the path of the program and without its global options; empty: equal to `words`.
  std::vector<std::string> canonical;
  RiskClass risk = RiskClass::kSafe;  // by the table of programs; of kOpaque: of what may run
  bool repeats = true;  // whether an "always" may cover the program with other arguments
  friend bool operator==(const SimpleCommand&, const SimpleCommand&) = default;
};

enum class FileAccess {
  kRead,
  kReadTree,  // and what is below it
  kLink,      // the same, and it can be written by another name from then on
  kWrite,
  kWriteTree,   // and what is below it
  kRemoveTree,  // the same, to remove it
};

constexpr bool IsRead(FileAccess access) {
  return access == FileAccess::kRead || access == FileAccess::kReadTree ||
         access == FileAccess::kLink;
}
constexpr bool IsTree(FileAccess access) {
  return access != FileAccess::kRead && access != FileAccess::kWrite;
}

// A file that a command names, by a redirection, an option or an operand.
struct FileUse {
  FileAccess access = FileAccess::kRead;
  std::string path;  // as written
  std::string by;    // the redirection or the program, for people
  bool redirected = false;
  friend bool operator==(const FileUse&, const FileUse&) = default;
};

struct ShellLine {
  // In the order of the text, those of substitutions before the command they are part of.
  std::vector<SimpleCommand> commands;
  std::vector<FileUse> files;
  // What relative names may be relative to besides the directory the line starts in: after `cd x`,
  // or `git -C x`. As written, each relative to any before it.
  std::vector<std::string> directories;
  // Its patterns fit names in any case: shopt -s nocaseglob.
  bool patterns_fit_any_case = false;
  // `cd` leads where a variable says: CDPATH=x.
  bool directories_by_variable = false;
};

// INVALID_ARGUMENT: "missing closing quote", or a NUL byte.
Result<ShellLine> SplitShell(std::string_view command);

constexpr bool IsUnknown(char c) { return c == kUnknown || c == kGlob || c == kBelow; }

// True if the word holds text known only at run time.
inline bool HasUnknown(std::string_view word) {
  return std::any_of(word.begin(), word.end(), IsUnknown);
}

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_SHELL_SPLIT_H_
