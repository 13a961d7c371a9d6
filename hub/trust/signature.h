#ifndef ODYSSEY_HUB_TRUST_SIGNATURE_H_
#define ODYSSEY_HUB_TRUST_SIGNATURE_H_

// Ed25519 (RFC 8032) by OpenSSL, over the digest of a bundle's manifest. Keys and signatures are
// base64 of their raw bytes. Pure, but for the randomness of a new key.

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::trust {

struct KeyPair {
  std::string secret;  // 32 bytes
  std::string open;    // 32 bytes: the public key
};

Result<KeyPair> MakeKeyPair();

// INVALID_ARGUMENT: no key.
Status CheckPublicKey(const std::string& key);

// `digest`: "sha256:HEX".
Result<std::string> Sign(const std::string& secret, const std::string& digest);

// PERMISSION_DENIED: unsigned, or signed by none of `keys`.
Status CheckSignature(const std::string& signature, const std::string& digest,
                      const std::vector<std::string>& keys);

}  // namespace odyssey::trust

#endif  // ODYSSEY_HUB_TRUST_SIGNATURE_H_
