#ifndef ODYSSEY_COMMON_OCI_DIGEST_H_
#define ODYSSEY_COMMON_OCI_DIGEST_H_

// "sha256:" and 64 lower-case hex digits: the one form of digest that bundles use. Pure.

#include <string>

#include "common/base/status.h"

namespace odyssey::oci {

inline constexpr char kDigestPrefix[] = "sha256:";

// Every fault of what a bundle is made of begins like this.
Status InvalidBundle(const std::string& cause);

bool IsHex(const std::string& hex);

// The hex digits. INVALID_ARGUMENT: another algorithm, or no 64 digits; a name of a file is made of
// what passes.
Result<std::string> HexOf(const std::string& digest);

// "sha256:HEX".
std::string DigestOf(const std::string& hex);

}  // namespace odyssey::oci

#endif  // ODYSSEY_COMMON_OCI_DIGEST_H_
