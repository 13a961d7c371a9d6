#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_AMBIGUITY_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_AMBIGUITY_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// Reports every pair of endpoints that one connection or request could belong to, and that would
// treat it differently. Binaries do not tell them apart: a program that another one starts matches
// the rules of both.
void CheckAmbiguity(const egress::NetworkPolicy& policy, const Source& source);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_AMBIGUITY_H_
