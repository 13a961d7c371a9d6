#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGE_USER_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGE_USER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::supervisor {

struct ImageUser {
  uint32_t uid = 0, gid = 0;
  friend bool operator==(const ImageUser&, const ImageUser&) = default;
};

// Who "USER[:GROUP]" is, each a number or a name of the image's /etc/passwd and /etc/group, given
// as text ("": the image has none). "": root. Without GROUP it is that of the user in passwd, 0 if
// it has no such uid. Pure. INVALID_ARGUMENT names no field.
Result<ImageUser> ResolveImageUser(std::string_view text, std::string_view passwd,
                                   std::string_view group);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_USER_H_
