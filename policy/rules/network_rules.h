#ifndef ODYSSEY_POLICY_RULES_NETWORK_RULES_H_
#define ODYSSEY_POLICY_RULES_NETWORK_RULES_H_

// Rules about destinations that a cell's network policy does not name. Pure.
//
//   rule := "Network" | "Network(" HOST [":" PORT] ")"
//
// HOST is a host, a pattern of hosts as a network policy has them, or "*" for every host. Without
// PORT it is every port. A rule for "*", which is every tool, says nothing of destinations.

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "policy/model/tool_table.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::rules {

inline bool IsOfNetwork(const Rule& rule) { return rule.tool == policy::kNetworkRule; }

// INVALID_ARGUMENT, if no destination fits such a rule. An allow names one host: what it opens may
// lead into a private network, as an endpoint that names its host may, and a pattern may not.
Status CheckNetworkRule(const Rule& rule);

// The rule that decides about the destination: granular before coarse, then deny before ask before
// allow, then the later one. Null: none fits, and the destination stays refused. `host` is
// normalised, and `port` is not 0. Points into `rules`.
const Rule* FindNetworkRule(const ToolRules& rules, const std::string& host, uint16_t port);

// Whether the rule fits the destination that an author wrote beside it, HOST:PORT.
Result<bool> FitsDestination(const Rule& rule, const std::string& example);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_NETWORK_RULES_H_
