#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_DESTINATION_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_DESTINATION_H_

#include "policy/dialect/openshell_network.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::openshell {

// Where an endpoint is: `host`, `port` or `ports`, `allowed_ips`.
void ReadDestination(MapReader* map, Endpoint* endpoint);

// Of the software that runs clusters: closed whatever a policy says.
bool IsControlPlanePort(uint16_t port);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_DESTINATION_H_
