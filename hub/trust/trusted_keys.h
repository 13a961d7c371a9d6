#ifndef ODYSSEY_HUB_TRUST_TRUSTED_KEYS_H_
#define ODYSSEY_HUB_TRUST_TRUSTED_KEYS_H_

// Files of trusted keys: "NAMESPACE KEY" a line; "#" begins a comment. A namespace that a file
// names is pulled only with a signature by one of its keys; "*" is every namespace.

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::trust {

inline constexpr size_t kMaxTrustBytes = 1024 * 1024;

struct TrustedKey {
  std::string ns;
  std::string key;
  friend bool operator==(const TrustedKey&, const TrustedKey&) = default;
};

// INVALID_ARGUMENT names the line. Pure.
Result<std::vector<TrustedKey>> ParseTrustedKeys(const std::string& text);

// Of all files; one that is not there has none. Another failure to read one is reported.
Result<std::vector<TrustedKey>> ReadTrustedKeys(const std::vector<std::string>& paths);

// Empty: the namespace needs no signature. Pure.
std::vector<std::string> KeysOf(const std::vector<TrustedKey>& keys, const std::string& ns);

}  // namespace odyssey::trust

#endif  // ODYSSEY_HUB_TRUST_TRUSTED_KEYS_H_
