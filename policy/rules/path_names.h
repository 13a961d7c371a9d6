#ifndef ODYSSEY_POLICY_RULES_PATH_NAMES_H_
#define ODYSSEY_POLICY_RULES_PATH_NAMES_H_

// The names of a path in the cell, as text: no link is followed. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace odyssey::rules {

// Without "." and empty components and, where it can be told, without "..". What precedes text
// known only at run time may be undone by it: of "a/$X/b", "…/b" is left.
std::string NormalizedPath(std::string_view path);

// `path` seen from `directory`.
std::string JoinPath(std::string_view directory, const std::string& path);

// Relative to the workspace and absolute, where it has both.
std::vector<std::string> PathNames(const std::string& path);

// With "…" for text known only at run time, and cut.
std::string ShownText(std::string text);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_PATH_NAMES_H_
