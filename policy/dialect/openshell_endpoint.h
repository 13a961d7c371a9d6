#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_ENDPOINT_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_ENDPOINT_H_

#include "policy/dialect/openshell_network.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::openshell {

// One entry of `endpoints`, with every rule that concerns it alone.
Endpoint ReadEndpoint(MapReader map);

// Requests are looked into: neither bytes nor TCP.
bool IsInspected(Protocol protocol);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_ENDPOINT_H_
