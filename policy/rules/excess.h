#ifndef ODYSSEY_POLICY_RULES_EXCESS_H_
#define ODYSSEY_POLICY_RULES_EXCESS_H_

#include <string>
#include <vector>

#include "policy/rules/tool_rules.h"

namespace odyssey::rules {

// What `child` lets run, or run without asking, that `parent` may not: a line for each rule,
// "allow: Bash(git:*)" or "deny: Write is not there". Compares rules by their text; what cannot be
// told to be within the parent is called more. Empty: nothing. Pure.
std::vector<std::string> Excess(const ToolRules& child, const ToolRules& parent);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_EXCESS_H_
