#ifndef ODYSSEY_POLICY_DIALECT_SHA256_DIGEST_H_
#define ODYSSEY_POLICY_DIALECT_SHA256_DIGEST_H_

#include <cstddef>
#include <string_view>

namespace odyssey::dialect {

// "sha256:" and 64 lower-case hex digits. Pure.
inline bool IsSha256Digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  constexpr size_t kDigits = 64;
  return text.starts_with(kPrefix) && text.size() == kPrefix.size() + kDigits &&
         text.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_SHA256_DIGEST_H_
