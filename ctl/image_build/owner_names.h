#ifndef ODYSSEY_CTL_IMAGE_BUILD_OWNER_NAMES_H_
#define ODYSSEY_CTL_IMAGE_BUILD_OWNER_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace odyssey::ctl {

// Whether names have to be looked up to understand the owner.
bool HasOwnerNames(std::string_view owner);

// uid and gid of --chown, "USER[:GROUP]", each a number or a name of these files of the image.
// Without a group it is the number of the user. INVALID_ARGUMENT names what is not there. Pure.
Result<std::pair<uint32_t, uint32_t>> ResolveOwner(const std::string& owner,
                                                   std::string_view passwd, std::string_view group);

// The home of USER[:GROUP] by the image's /etc/passwd; "/" if that does not know it. Pure.
std::string HomeOf(std::string_view user, std::string_view passwd);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_OWNER_NAMES_H_
