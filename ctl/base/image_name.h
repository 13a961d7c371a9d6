#ifndef ODYSSEY_CTL_BASE_IMAGE_NAME_H_
#define ODYSSEY_CTL_BASE_IMAGE_NAME_H_

#include <cstddef>
#include <string>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

// NAME, a colon and TAG.
inline constexpr size_t kMaxImageName = image::kMaxNameBytes + 1 + image::kMaxTagBytes;

// INVALID_ARGUMENT: it is longer, as no name or digest in the store is; the message begins with the
// name's beginning. The caller adds the option. Pure.
Status CheckImageName(const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_IMAGE_NAME_H_
