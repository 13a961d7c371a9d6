#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGE_NAME_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGE_NAME_H_

// Names of images: "NAME:TAG", NAME a path of lower-case components, the first of which may be a
// registry's host and port. Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::supervisor {

// With a tag, ":latest" if it has none. INVALID_ARGUMENT says what is wrong, and names no field.
Result<std::string> NormalImageName(std::string_view text);

// What a client calls an image: at least one of the two is set. With both the digest says which
// image it is; the name is only where it came from.
struct ImageReference {
  std::string name;    // with a tag; "" of a digest alone
  std::string digest;  // "": the one that the name has
};

// "NAME[:TAG]", "sha256:HEX", or both with @ between them. INVALID_ARGUMENT as NormalImageName.
Result<ImageReference> ParseImageReference(std::string_view text);

// The name without its tag.
std::string_view RepositoryOf(std::string_view name);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_NAME_H_
