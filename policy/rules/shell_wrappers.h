#ifndef ODYSSEY_POLICY_RULES_SHELL_WRAPPERS_H_
#define ODYSSEY_POLICY_RULES_SHELL_WRAPPERS_H_

// What a simple command does by the table of programs: the commands inside its arguments (env,
// timeout, sh -c, find -exec, …), the files that it names, its canonical form.

#include <string>
#include <string_view>
#include <vector>

#include "policy/rules/shell_split.h"

namespace odyssey::rules {

// Of texts in texts: $(…), sh -c '…', ….
inline constexpr int kMaxShellDepth = 16;

// Appends what the simple command `words` would start: itself, and the commands in its arguments.
// `depth`: of nested shell texts, see SplitNested. `words` is not empty.
void Unwrap(std::vector<std::string> words, int depth, ShellLine* out);

// SplitShell for a text that was found in another one; appends. Unreadable text is kOpaque.
void SplitNested(std::string_view command, int depth, ShellLine* out);

void AddOpaque(std::string_view why, RiskClass risk, ShellLine* out);

// Whether setting the variable changes which program a command name means, or what it loads.
bool ChangesPrograms(std::string_view variable);

// Variables that change where `cd` leads.
bool MovesDirectories(std::string_view variable);

// Whether the name or path is one that the system's own directories would answer for.
bool IsSystemProgram(std::string_view program);

// The part after the last "/".
std::string_view Basename(std::string_view path);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_SHELL_WRAPPERS_H_
