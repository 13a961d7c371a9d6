#ifndef ODYSSEY_POLICY_PATTERN_PATH_PATTERN_H_
#define ODYSSEY_POLICY_PATTERN_PATH_PATTERN_H_

// Patterns of names in a tree, as `deny` has them: "**/.env", "secrets/**", "*.pem". Pure.
//
// A pattern is made of components, matched from the tree's root: `**` as a whole component stands
// for any number of them (at the end: at least one), `*` in a component for any characters, `?` for
// one character (a byte). Everything else means itself.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::pattern {

inline constexpr size_t kMaxPatternBytes = 4095;

// The first thing in a pattern that stands for itself here, and for more in those of other tools:
// an opening bracket or brace that is closed, a backslash, `!` at the front, a space at an end. ""
// if there is none.
std::string_view TakenLiterally(std::string_view text);

class PathPattern final {
 public:
  // INVALID_ARGUMENT with the pattern and what is allowed.
  static Result<PathPattern> Parse(std::string_view text);

  // True if `path` (relative, no "." or "..", "" is the root) matches or lies below a match.
  bool Covers(std::string_view path) const;

  // True if whatever may be in a directory is covered as much under one path as under the other.
  // Of "secrets/**/key", "secrets/a" is as "secrets/b", and not as "elsewhere".
  bool IsSameBelow(std::string_view one, std::string_view other) const;

  // True if a directory in which something is covered is as another one that is not, and differs
  // from a third: of "*/key", "a" is as "b", and not as "b/c". Such a directory can be renamed, and
  // takes the place of a file. Not of "**/.env", where each is as any other, nor of "a/key", where
  // only "a" has something that is covered.
  bool HasPlacesAlike() const;

 private:
  std::vector<std::string> components_;
};

}  // namespace odyssey::pattern

#endif  // ODYSSEY_POLICY_PATTERN_PATH_PATTERN_H_
