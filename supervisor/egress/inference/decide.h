#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_DECIDE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_DECIDE_H_

// How inference.local differs from other hosts of a policy.

#include "policy/egress/decide.h"

namespace odyssey::egress::inference {

// A name that no name server knows: its requests go to the cell's routes.
inline constexpr char kHost[] = "inference.local";

// An endpoint names it: the cell has routes, if the operator gives its user any.
bool IsWanted(const NetworkPolicy& policy);

// `decision` on `connection`; requests to inference.local are inspected, whatever the endpoint
// says.
Decision Inspect(Decision decision, const Connection& connection);

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_DECIDE_H_
