#ifndef ODYSSEY_HUB_ARTIFACT_BASE64_H_
#define ODYSSEY_HUB_ARTIFACT_BASE64_H_

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::artifact {

// RFC 4648, section 4, with padding. By OpenSSL. Pure.
std::string ToBase64(std::string_view bytes);
// INVALID_ARGUMENT: another character, or no whole number of groups.
Result<std::string> FromBase64(std::string_view text);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_BASE64_H_
