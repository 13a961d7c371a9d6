#ifndef ODYSSEY_CTL_POLICY_DIFF_H_
#define ODYSSEY_CTL_POLICY_DIFF_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/command.h"
#include "policy/dialect/bundle.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

struct PolicyDifference {
  std::vector<std::string> only_first;   // what the first allows beyond the second
  std::vector<std::string> only_second;  // and the other way round
};

// Pure. INVALID_ARGUMENT names the path that cannot be compared.
Result<PolicyDifference> ComparePolicies(const policy::SandboxRequest& first,
                                         const policy::SandboxRequest& second);

// The agents of two bundles: tools that are offered, and rules about them. An agent has the id of
// the other one, or both bundles have one. Pure. INVALID_ARGUMENT for a rule that cannot be read.
Result<PolicyDifference> CompareAgents(const dialect::Bundle& first, const dialect::Bundle& second);

// policy diff.
Command PolicyDiffCommand();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_DIFF_H_
