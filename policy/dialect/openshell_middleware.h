#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_MIDDLEWARE_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_MIDDLEWARE_H_

#include "policy/dialect/openshell_network.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::openshell {

// `network_middlewares`; the rules of the policy are read already.
void ReadMiddlewares(MapReader* document, NetworkPolicy* policy);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_MIDDLEWARE_H_
