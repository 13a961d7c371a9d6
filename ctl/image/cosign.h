#ifndef ODYSSEY_CTL_IMAGE_COSIGN_H_
#define ODYSSEY_CTL_IMAGE_COSIGN_H_

// Where cosign keeps the signatures of an image: in the same repository, as the layers of a
// manifest with a tag made of the image's digest. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

inline constexpr size_t kMaxSignatures = 64;
inline constexpr size_t kMaxSignaturePayload = size_t{64} << 10;

// "sha256-HEX.sig". `digest` is an image's.
std::string SignatureTag(const std::string& digest);

struct StoredSignature {
  image::Blob payload;
  std::string signature;  // base64
};

// Those of such a manifest; other layers of it are left out.
Result<std::vector<StoredSignature>> ReadSignatures(std::string_view manifest);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_COSIGN_H_
