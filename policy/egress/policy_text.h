#ifndef ODYSSEY_POLICY_EGRESS_POLICY_TEXT_H_
#define ODYSSEY_POLICY_EGRESS_POLICY_TEXT_H_

// Network policies as YAML, as a policy file has them.

#include <string>
#include <vector>

#include "policy/egress/network_policy.h"

namespace odyssey::egress {

inline constexpr char kEndpointIndent[] = "      ";  // of an endpoint's keys

// A scalar, and a list of them on one line.
std::string Scalar(const std::string& text);
std::string Sequence(const std::vector<std::string>& texts);

// Whether what a file need not say is said: other readers have another default of `enforcement`.
enum class Defaults { kLeftOut, kSaid };

// The keys of an endpoint but host and ports, a line each. `allow`: the one request that is
// allowed; null: what the endpoint allows.
std::string EndpointText(const Endpoint& endpoint, const Matcher* allow,
                         Defaults defaults = Defaults::kLeftOut);

// An item of `binaries`.
std::string BinaryText(const Binary& binary);

// A whole file. What is every public host and port is no rule of a file, and a comment here.
std::string PolicyText(const NetworkPolicy& policy, Defaults defaults = Defaults::kLeftOut);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_POLICY_TEXT_H_
