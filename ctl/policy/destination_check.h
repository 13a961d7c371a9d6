#ifndef ODYSSEY_CTL_POLICY_DESTINATION_CHECK_H_
#define ODYSSEY_CTL_POLICY_DESTINATION_CHECK_H_

#include "policy/dialect/policy.h"
#include "policy/egress/reach.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Which of a policy's endpoints would let a destination through, for which programs, and where they
// are written. The verdict is deny all the same, since no cell is made of such a policy. Pure.
rules::Decision DecideByEndpoints(const dialect::Policy& policy,
                                  const egress::Destination& destination);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_DESTINATION_CHECK_H_
