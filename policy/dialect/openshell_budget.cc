#include "policy/dialect/openshell_budget.h"

#include "policy/egress/names.h"

namespace odyssey::dialect::openshell {

egress::Budget ReadBudget(MapReader map) {
  egress::Budget out;
  for (const egress::BudgetKey& key : egress::kBudgetKeys) {
    out.*key.member = map.Whole(key.name, 0, 1, egress::kMaxBudget, "leave it out for no bound");
  }
  map.Finish();
  return out;
}

}  // namespace odyssey::dialect::openshell
