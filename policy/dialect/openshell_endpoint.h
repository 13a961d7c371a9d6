#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_ENDPOINT_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_ENDPOINT_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// One entry of `endpoints`, with every rule that concerns it alone.
egress::Endpoint ReadEndpoint(MapReader map);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_ENDPOINT_H_
