#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGE_SIGNATURE_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGE_SIGNATURE_H_

// Signatures of images as cosign makes them with a key: over a "simple signing" JSON, which names
// the digest of a manifest.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::supervisor {

struct ImageSignature {
  std::string payload;    // the JSON
  std::string signature;  // base64, of the payload's bytes
  friend bool operator==(const ImageSignature&, const ImageSignature&) = default;
};

// Whether one of them is of this digest and made with a key whose public half is in `pem` (ECDSA of
// P-256, or RSA of at least 2048 bits; SHA-256). PERMISSION_DENIED says what is missing,
// FAILED_PRECONDITION what is wrong with `pem`.
Status CheckSigned(const std::string& digest, const std::vector<ImageSignature>& signatures,
                   std::string_view pem);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_SIGNATURE_H_
