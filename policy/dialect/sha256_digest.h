#ifndef ODYSSEY_POLICY_DIALECT_SHA256_DIGEST_H_
#define ODYSSEY_POLICY_DIALECT_SHA256_DIGEST_H_

#include <string_view>

#include "policy/egress/network_policy.h"

namespace odyssey::dialect {

// "sha256:" and 64 lower-case hex digits. Pure.
inline bool IsSha256Digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.starts_with(kPrefix) && egress::IsSha256(text.substr(kPrefix.size()));
}

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_SHA256_DIGEST_H_
