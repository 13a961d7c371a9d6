#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_MIDDLEWARE_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_MIDDLEWARE_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// `network_middlewares`; the rules of the policy are read already.
void ReadMiddlewares(MapReader* document, egress::NetworkPolicy* policy);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_MIDDLEWARE_H_
