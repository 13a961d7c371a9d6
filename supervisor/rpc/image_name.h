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

// "sha256:" and 64 lower-case hex digits.
bool IsImageDigest(std::string_view text);

// The name without its tag.
std::string_view RepositoryOf(std::string_view name);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_NAME_H_
