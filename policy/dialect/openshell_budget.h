#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_BUDGET_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_BUDGET_H_

#include "policy/dialect/schema.h"
#include "policy/egress/network_policy.h"

namespace odyssey::dialect::openshell {

// `budget` of an endpoint, `network_budget` of a policy: ours, no key of OpenShell's. Absent: none.
egress::Budget ReadBudget(MapReader map);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_BUDGET_H_
