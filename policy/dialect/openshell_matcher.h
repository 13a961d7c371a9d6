#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_MATCHER_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_MATCHER_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// `rules` and `deny_rules` of an endpoint whose protocol and access are read already. Reports what
// the protocol does not match by, empty lists and matchers, and rules that contradict each other.
void ReadMatchers(MapReader* map, egress::Endpoint* endpoint);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_MATCHER_H_
