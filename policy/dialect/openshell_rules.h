#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_RULES_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_RULES_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// `network_policies` and `network_middlewares` of the document.
egress::NetworkPolicy ReadNetwork(MapReader* document);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_RULES_H_
