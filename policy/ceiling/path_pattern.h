#ifndef ODYSSEY_POLICY_CEILING_PATH_PATTERN_H_
#define ODYSSEY_POLICY_CEILING_PATH_PATTERN_H_

// How an operator names places of the host: "/srv/data", "/home/*/work", "~/.ssh". A place is
// always meant with everything below it. `*` matches within a component; "~", the first component
// only, is the home directory of the user whom a request is made for.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::ceiling {

// Normalised and absolute, or "~" and a normalised path below it; no control character, and of the
// characters that other programs match by only `*`. INVALID_ARGUMENT says what is wrong.
Status CheckPathPattern(std::string_view text);

enum class Place {
  kApart,
  kWithin,  // the path is a place that the pattern names, or lies below one
  kAround,  // a place that the pattern could name lies below the path
};

// `path` is normalised and absolute. `home` is what "~" stands for; where that is no directory of
// one person ("" or "/"), a pattern with "~" names nothing.
Place Compare(std::string_view path, std::string_view pattern, std::string_view home);

}  // namespace odyssey::ceiling

#endif  // ODYSSEY_POLICY_CEILING_PATH_PATTERN_H_
