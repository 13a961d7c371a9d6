#ifndef ODYSSEY_CTL_POLICY_POLICY_DIFF_H_
#define ODYSSEY_CTL_POLICY_POLICY_DIFF_H_

#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/base/command.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/policy.h"
#include "policy/difference/difference.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// What they ask of a cell. Pure. INVALID_ARGUMENT names the path that cannot be compared.
Result<difference::Difference> CompareRequests(const policy::SandboxRequest& first,
                                               const policy::SandboxRequest& second);

// The agents of two bundles: tools that are offered, and rules about them. An agent has the id of
// the other one, or both bundles have one. Pure. INVALID_ARGUMENT for a rule that cannot be read.
Result<difference::Difference> CompareAgents(const dialect::Bundle& first,
                                             const dialect::Bundle& second);

// The MCP servers of two bundles, by name. Of one that both have and that differs neither is known
// to give more. Pure.
difference::Difference CompareServers(const dialect::Bundle& first, const dialect::Bundle& second);

// The whole of two policies but their agents: what they ask of a cell, as their files say it, and
// what they say of things that no cell enforces, where both are of a kind that does.
Result<difference::Difference> ComparePolicies(const dialect::Policy& first,
                                               const dialect::Policy& second);

// A policy with its agents, if it is a bundle's.
struct WholePolicy {
  dialect::Policy policy;
  std::optional<dialect::Bundle> bundle;
};

// The policy that was read from `file`, which is looked at again for agents.
Result<WholePolicy> WholePolicyOf(const std::string& file, dialect::Policy policy);

// All of two policies.
Result<difference::Difference> CompareWhole(const WholePolicy& first, const WholePolicy& second);

// What `child` lets happen beyond `parent`: the first item of it, or what differs and is not known
// to be no more; nullopt: it is within.
Result<std::optional<std::string>> BeyondParent(const WholePolicy& child,
                                                const WholePolicy& parent);

// policy diff.
Command PolicyDiffCommand();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_POLICY_DIFF_H_
