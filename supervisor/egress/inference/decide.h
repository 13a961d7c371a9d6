#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_DECIDE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_DECIDE_H_

// What a cell may reach, inference.local among it.

#include "policy/egress/decide.h"

namespace odyssey::egress::inference {

// A name that no name server knows: its requests go to the cell's routes.
inline constexpr char kHost[] = "inference.local";

// An endpoint names it: the cell has routes, if the operator gives its user any.
bool IsWanted(const NetworkPolicy& policy);

// As egress::DecideConnection, and requests to inference.local are always inspected.
Decision DecideConnection(const NetworkPolicy& policy, const Connection& connection);

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_DECIDE_H_
