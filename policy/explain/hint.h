#ifndef ODYSSEY_POLICY_EXPLAIN_HINT_H_
#define ODYSSEY_POLICY_EXPLAIN_HINT_H_

// Hints at what refused a command that failed, where the kernel reports nothing: paths, and names
// of programs, at the end of its stderr that the policy refuses. No word of any language is read.
// The text is the command's own: it may name what it likes, and a hint grants nothing. Pure and
// bounded.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "policy/explain/denial.h"

namespace odyssey::explain {

inline constexpr size_t kMaxHintBytes = 4 * 1024;  // of the end of stderr
inline constexpr size_t kMaxHintLines = 10;
inline constexpr size_t kMaxHints = 4;

// Of a line the last mention that the policy refuses. A path is a word with a slash, or one in
// quotes, that a colon, the end of the line or " (" follows, unless it begins the line before a
// colon, as the name of a program does; it is taken from the command's cwd. `exit_code` 126 or 127
// (sh: not executable, not found): a word before a colon or the end of the line may be a program
// that the policy's executables are without.
std::vector<Denial> FindHints(const Cell& cell, const Command& command, int exit_code,
                              std::string_view stderr_tail);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_HINT_H_
