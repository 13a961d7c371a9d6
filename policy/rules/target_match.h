#ifndef ODYSSEY_POLICY_RULES_TARGET_MATCH_H_
#define ODYSSEY_POLICY_RULES_TARGET_MATCH_H_

// Matches the target of a granular rule. Time is O(target × text), at worst. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace odyssey::rules {

// kMaybe: it depends on text known only at run time (kUnknown of shell_split.h).
enum class Match { kNo, kMaybe, kYes };

// Against every "word … word:rest" of the command: one of the separators between the words, or the
// end, is a ":".
Match MatchCommand(std::string_view target, const std::vector<std::string>& words);

// Against the whole text.
Match MatchText(std::string_view target, std::string_view text);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_TARGET_MATCH_H_
