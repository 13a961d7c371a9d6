#include "supervisor/egress/inference/spending.h"

#include <algorithm>
#include <limits>

namespace odyssey::egress::inference {
namespace {

constexpr auto kMinute = std::chrono::minutes(1);

uint64_t Sum(uint64_t a, uint64_t b) {
  return a + std::min(b, std::numeric_limits<uint64_t>::max() - a);
}

}  // namespace

void AddUse(const RouteUse& b, RouteUse* a) {
  a->tokens = Sum(a->tokens, b.tokens);
  a->cost = Sum(a->cost, b.cost);
}

void Spending::SetBudget(const RouteBudget& budget, const RouteUse& used) {
  budget_ = budget;
  used_.tokens = std::max(used_.tokens, used.tokens);
  used_.cost = std::max(used_.cost, used.cost);
}

std::string Spending::Admit(TimePoint now) {
  if (budget_.tokens != 0 && used_.tokens >= budget_.tokens) {
    return "this sandbox has used its " + std::to_string(budget_.tokens) + " tokens";
  }
  if (budget_.cost != 0 && used_.cost >= budget_.cost) {
    return "this sandbox has used what its requests may cost, " + std::to_string(budget_.cost) +
           " millionths of a dollar";
  }
  if (budget_.requests_per_minute == 0) return "";
  while (!admitted_.empty() && now - admitted_.front() >= kMinute) admitted_.pop_front();
  if (admitted_.size() >= budget_.requests_per_minute) {
    return "this sandbox has made its " + std::to_string(budget_.requests_per_minute) +
           " requests of this minute";
  }
  admitted_.push_back(now);
  return "";
}

}  // namespace odyssey::egress::inference
