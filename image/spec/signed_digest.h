#ifndef ODYSSEY_IMAGE_SPEC_SIGNED_DIGEST_H_
#define ODYSSEY_IMAGE_SPEC_SIGNED_DIGEST_H_

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::image {

// The digest of the manifest that a "simple signing" payload is of, as cosign makes them:
// critical.image.docker-manifest-digest. INVALID_ARGUMENT names the key. Pure.
Result<std::string> SignedDigest(std::string_view payload);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_SPEC_SIGNED_DIGEST_H_
