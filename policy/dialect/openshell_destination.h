#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_DESTINATION_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_DESTINATION_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// Where an endpoint is: `host`, `port` or `ports`, `allowed_ips`.
void ReadDestination(MapReader* map, egress::Endpoint* endpoint);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_DESTINATION_H_
