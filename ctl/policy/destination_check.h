#ifndef ODYSSEY_CTL_POLICY_DESTINATION_CHECK_H_
#define ODYSSEY_CTL_POLICY_DESTINATION_CHECK_H_

#include "policy/dialect/policy.h"
#include "policy/egress/reach.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Whether a policy's endpoints let a destination through, for which programs, and where they are
// written. Pure.
rules::Decision DecideByEndpoints(const dialect::Policy& policy,
                                  const egress::Destination& destination);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_DESTINATION_CHECK_H_
