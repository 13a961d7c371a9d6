#ifndef ODYSSEY_POLICY_EGRESS_GRANT_H_
#define ODYSSEY_POLICY_EGRESS_GRANT_H_

// The smallest policy that would have let a refused connection or request through.

#include <string>

#include "policy/egress/decision.h"

namespace odyssey::egress {

// A rule of its own, as YAML, for this program, host and port. `like`: an endpoint of the policy
// for the same host and port, with which the new one must agree; null if there is none. `allow`:
// the one request that it allows; null: what `like` allows. "" if no such rule can be written: a
// name holds a character that a pattern cannot, or a credential would go to another program.
std::string SmallestGrant(const Connection& connection, const Endpoint* like, const Matcher* allow);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_GRANT_H_
