#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_CREDENTIALS_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_CREDENTIALS_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// The keys of an endpoint that say how credentials reach it; its protocol and tls are read already.
void ReadCredentials(MapReader* map, egress::Endpoint* endpoint);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_CREDENTIALS_H_
