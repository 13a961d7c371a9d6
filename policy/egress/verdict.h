#ifndef ODYSSEY_POLICY_EGRESS_VERDICT_H_
#define ODYSSEY_POLICY_EGRESS_VERDICT_H_

// What one protocol's judge says of a request, before `enforcement` is applied.

#include <string>
#include <utility>

#include "policy/egress/decision.h"

namespace odyssey::egress {

struct Verdict {
  enum class Kind {
    kAllow,
    kDeny,   // not granted: `enforcement: audit` forwards it
    kRefuse  // cannot be read in one way, or is never granted: audit does not forward it either
  };
  Kind kind = Kind::kAllow;
  Refusal refusal = Refusal::kNone;
  std::string reason;
  Matcher missing;  // of kDeny: the rule that would allow it; empty: none would

  bool allowed() const { return kind == Kind::kAllow; }
};

inline Verdict Deny(std::string reason, Matcher missing = {}) {
  return {Verdict::Kind::kDeny, Refusal::kPolicyDenied, std::move(reason), std::move(missing)};
}

inline Verdict Refuse(Refusal refusal, std::string reason) {
  return {Verdict::Kind::kRefuse, refusal, std::move(reason), {}};
}

// "network_policies.x.endpoints[0].deny_rules[1]".
inline std::string DenyRule(const Endpoint& endpoint, size_t index) {
  return endpoint.key + ".deny_rules[" + std::to_string(index) + "]";
}

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_VERDICT_H_
