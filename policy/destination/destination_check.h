#ifndef ODYSSEY_POLICY_DESTINATION_DESTINATION_CHECK_H_
#define ODYSSEY_POLICY_DESTINATION_DESTINATION_CHECK_H_

// What a policy with endpoints says of one destination, in words. Pure.

#include "policy/dialect/origin.h"
#include "policy/egress/reach.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::destination {

// Whether endpoints let a destination through, for which programs, and where they are written:
// `origins` has the place of "network".
rules::Decision DecideByEndpoints(const egress::NetworkPolicy& policy,
                                  const dialect::Origins& origins,
                                  const egress::Destination& destination);

// What an agent's rules of Network make of a destination that the endpoints refuse: `refused` is
// the decision of DecideByEndpoints.
rules::Decision DecideByNetworkRules(const rules::ToolRules& rules,
                                     const egress::NetworkPolicy& policy,
                                     const egress::Destination& destination,
                                     rules::Decision refused);

}  // namespace odyssey::destination

#endif  // ODYSSEY_POLICY_DESTINATION_DESTINATION_CHECK_H_
