#ifndef ODYSSEY_POLICY_MODEL_PROVIDER_NAME_H_
#define ODYSSEY_POLICY_MODEL_PROVIDER_NAME_H_

// The name of a provider of credentials.

#include <cstddef>
#include <string_view>

namespace odyssey::policy {

inline constexpr size_t kMaxProviderName = 64;
inline constexpr size_t kMaxProviders = 32;  // of one request
inline constexpr char kProviderNameRule[] =
    "1 to 64 of lower-case letters, digits, `_` and `-`, the first a letter or digit,";

constexpr bool IsProviderName(std::string_view name) {
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kMaxProviderName || !is_alnum(name[0])) return false;
  for (const char c : name) {
    if (!is_alnum(c) && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_PROVIDER_NAME_H_
