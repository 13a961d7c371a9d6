#ifndef ODYSSEY_POLICY_DIALECT_APPROVALS_H_
#define ODYSSEY_POLICY_DIALECT_APPROVALS_H_

#include <vector>

#include "policy/dialect/bundle.h"
#include "policy/dialect/policy.h"

namespace odyssey::dialect {

// What waits for a person before it runs, of the tools that this agent of the bundle is offered: an
// entry for each `ask` rule, and one for what no rule can judge beforehand.
std::vector<Approval> ApprovalsOf(const Bundle& bundle, const AgentSpec& agent);

// "agent reviewer: Bash(find:*) (agent.yaml:9: tools.ask[0])".
std::string ToString(const Approval& approval);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_APPROVALS_H_
