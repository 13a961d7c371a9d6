#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_OPTIONS_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_OPTIONS_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// The keys of an endpoint that belong to one protocol each; its protocol is read already. A key of
// another protocol is reported: it would do nothing.
void ReadOptions(MapReader* map, egress::Endpoint* endpoint);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_OPTIONS_H_
