#ifndef ODYSSEY_POLICY_RULES_SHELL_SPLIT_H_
#define ODYSSEY_POLICY_RULES_SHELL_SPLIT_H_

// Which programs would a shell command line start. Pure; runs nothing and expands nothing.
//
// Reads what both dash and bash read; where they differ, or where the answer depends on something
// that exists only at run time, the result says kOpaque. It may name more commands than the shell
// would start, never fewer without saying so. What a program does once it runs (make, python3 -c, a
// script) is not seen: that is the cell's to confine.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::rules {

// Stands in a word for text that is known only at run time.
inline constexpr char kUnknown = '\x01';

enum class CommandKind {
  kRuns,     // a program or builtin; no words: only assignments or redirections
  kWrapper,  // runs the command that follows in the list: env, timeout, sh -c, …
  kGuess,    // perhaps a command: follows a wrapper whose options are not known here
  kOpaque,   // something that cannot be known before it runs; the one word says what
};

struct SimpleCommand {
  CommandKind kind = CommandKind::kRuns;
  std::vector<std::string> words;  // unquoted
  friend bool operator==(const SimpleCommand&, const SimpleCommand&) = default;
};

// In the order of the text, those of substitutions before the command they are part of.
// INVALID_ARGUMENT: "missing closing quote", or a NUL byte.
Result<std::vector<SimpleCommand>> SplitShell(std::string_view command);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_SHELL_SPLIT_H_
