#include "common/oci/digest.h"

#include <algorithm>

namespace odyssey::oci {
namespace {

constexpr size_t kHexDigits = 64;

}  // namespace

Status InvalidBundle(const std::string& cause) {
  return InvalidArgument("invalid bundle: " + cause);
}

bool IsHex(const std::string& hex) {
  return hex.size() == kHexDigits && std::all_of(hex.begin(), hex.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<std::string> HexOf(const std::string& digest) {
  const std::string prefix = kDigestPrefix;
  if (digest.rfind(prefix, 0) != 0) return InvalidBundle("unsupported digest format " + digest);
  std::string hex = digest.substr(prefix.size());
  if (IsHex(hex)) return hex;
  return InvalidBundle("invalid digest " + digest + ": expected sha256: and 64 hex digits");
}

std::string DigestOf(const std::string& hex) { return kDigestPrefix + hex; }

}  // namespace odyssey::oci
