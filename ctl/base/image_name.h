#ifndef ODYSSEY_CTL_BASE_IMAGE_NAME_H_
#define ODYSSEY_CTL_BASE_IMAGE_NAME_H_

#include <cstddef>
#include <string>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

// NAME:TAG@sha256:HEX.
inline constexpr size_t kMaxImageName =
    image::kMaxNameBytes + 1 + image::kMaxTagBytes + 1 + image::kDigestBytes;

// INVALID_ARGUMENT: it is longer than what says which image the longest may be; the message begins
// with the name's beginning. The caller adds the option. Pure.
Status CheckImageName(const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_IMAGE_NAME_H_
