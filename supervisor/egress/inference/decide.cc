#include "supervisor/egress/inference/decide.h"

#include <algorithm>

namespace odyssey::egress::inference {

bool IsWanted(const NetworkPolicy& policy) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [](const Rule& rule) {
    return std::any_of(rule.endpoints.begin(), rule.endpoints.end(),
                       [](const Endpoint& endpoint) { return endpoint.host == kHost; });
  });
}

Decision Inspect(Decision decision, const Connection& connection) {
  if (connection.host == kHost) decision.inspected = true;
  return decision;
}

}  // namespace odyssey::egress::inference
