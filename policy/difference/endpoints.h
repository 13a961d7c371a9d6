#ifndef ODYSSEY_POLICY_DIFFERENCE_ENDPOINTS_H_
#define ODYSSEY_POLICY_DIFFERENCE_ENDPOINTS_H_

#include "policy/difference/difference.h"
#include "policy/egress/network_policy.h"

namespace odyssey::difference {

// What two OpenShell policies let through: programs, hosts, ports, requests. Middlewares that are
// not the same leave the order undecided. Pure.
Difference CompareEndpoints(const egress::NetworkPolicy& first,
                            const egress::NetworkPolicy& second);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_ENDPOINTS_H_
