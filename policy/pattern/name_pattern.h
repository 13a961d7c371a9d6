#ifndef ODYSSEY_POLICY_PATTERN_NAME_PATTERN_H_
#define ODYSSEY_POLICY_PATTERN_NAME_PATTERN_H_

// Patterns of one name: a component of a path, a variable. `*` stands for any characters, `?` for
// one of UTF-8, or for a byte that is of none; everything else means itself. Whether a pattern may
// hold them is for its reader to say. Pure.

#include <string_view>

namespace odyssey::pattern {

// Linear for every pattern that has one star, the product of both lengths at worst.
bool NameMatches(std::string_view name, std::string_view pattern);

}  // namespace odyssey::pattern

#endif  // ODYSSEY_POLICY_PATTERN_NAME_PATTERN_H_
