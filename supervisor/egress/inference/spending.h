#ifndef ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_SPENDING_H_
#define ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_SPENDING_H_

// What one cell has used of its routes, against its budget. The time is the caller's.

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress::inference {

using egress_wire::RouteBudget;
using egress_wire::RouteUse;

// a += b, saturating.
void AddUse(const RouteUse& b, RouteUse* a);

class Spending final {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What was used stays; `used` by others is added up by the broker, and may be behind.
  void SetBudget(const RouteBudget& budget, const RouteUse& used);

  // "": the request may be asked, and counts from now on. Else the bound that refuses it.
  std::string Admit(TimePoint now);

  void Add(const RouteUse& use) { AddUse(use, &used_); }
  const RouteUse& used() const { return used_; }

 private:
  RouteBudget budget_;
  RouteUse used_;
  std::deque<TimePoint> admitted_;  // in the last minute; no more than the budget has
};

}  // namespace odyssey::egress::inference

#endif  // ODYSSEY_SUPERVISOR_EGRESS_INFERENCE_SPENDING_H_
