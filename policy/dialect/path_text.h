#ifndef ODYSSEY_POLICY_DIALECT_PATH_TEXT_H_
#define ODYSSEY_POLICY_DIALECT_PATH_TEXT_H_

// What a path says, without a look at the file system.

#include <string>
#include <string_view>

namespace odyssey::dialect {

// Without empty and "." components and with ".." taken back: "a//b/../c/" is "a/c", "/../a" is
// "/a",
// "../a" stays, "" is ".".
std::string CleanPath(std::string_view path);

// Has a ".." component.
bool HasParent(std::string_view path);

// `path` is `directory` or below it, by component. Both are clean.
bool IsAtOrBelow(std::string_view path, std::string_view directory);

// Below `base` unless it is absolute; clean.
std::string JoinPath(std::string_view base, std::string_view path);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_PATH_TEXT_H_
