#ifndef ODYSSEY_POLICY_COMPILE_FOUND_IMAGE_H_
#define ODYSSEY_POLICY_COMPILE_FOUND_IMAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/found_executables.h"
#include "policy/model/request.h"

namespace odyssey::compile {

// What the store says of SandboxRequest::image.
struct FoundImage {
  std::string digest;               // of its manifest, "sha256:…"
  std::vector<std::string> layers;  // plan::Plan::layers
  uint32_t user = 0, group = 0;     // of the commands: those of the request, or the image's own
  std::vector<std::string> env;     // of its configuration, "NAME=value"
  FoundExecutables programs;        // of the image: those that were asked for
  friend bool operator==(const FoundImage&, const FoundImage&) = default;
};

// Looks it up for a cell of this owner, and in it `programs`, names and paths that
// SystemExecutables gives. NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION: names the field
// `image` or `executables`. May take a while: not for the loop's thread.
using FindImage = std::function<Result<FoundImage>(
    const policy::ImageRoot& image, const std::vector<std::string>& programs, uint32_t owner_uid)>;

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_FOUND_IMAGE_H_
