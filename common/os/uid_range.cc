#include "common/os/uid_range.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace odyssey {

Result<UniqueFd> HoldUidRange(uid_t base, uint32_t size, uid_t* first) {
  UniqueFd holder(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!holder) return ErrnoStatus(errno, "create socket");
  for (uint32_t range = 0; range < kMaxUidRanges; ++range) {
    *first = base + range * size;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "odyssey-uids-" + std::to_string(*first);
    memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(holder.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) return holder;
    if (errno != EADDRINUSE) return ErrnoStatus(errno, "hold the uid range " + name);
  }
  return ResourceExhausted("every uid range from " + std::to_string(base) +
                           " is held by another supervisor; give another --uid-base");
}

}  // namespace odyssey
