#ifndef ODYSSEY_AGENTD_IGNORE_GLOB_REGEX_H_
#define ODYSSEY_AGENTD_IGNORE_GLOB_REGEX_H_

// A glob of an ignore file as a regular expression. Pure.

#include <optional>
#include <string>
#include <string_view>

namespace odyssey::ignore {

// For RE2 in Latin-1, where "." matches every byte, against a whole path: `*` and `?` stay within a
// component, `**` between slashes stands for any number of components, `[a-z]`, `{a,b}`, `\`.
// Nothing: an unclosed bracket or brace, a range that is backwards, a last `\`.
std::optional<std::string> GlobRegex(std::string_view glob);

}  // namespace odyssey::ignore

#endif  // ODYSSEY_AGENTD_IGNORE_GLOB_REGEX_H_
