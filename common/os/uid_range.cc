#include "common/os/uid_range.h"

#include <errno.h>
#include <fcntl.h>

namespace odyssey {

Result<UniqueFd> HoldUidRange(const std::string& locks, uid_t base, uint32_t size, uid_t* first) {
  UniqueFd file(open(locks.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return ErrnoStatus(errno, "open " + locks);
  for (uint32_t range = 0; range < kMaxUidRanges; ++range) {
    *first = base + range * size;
    struct flock uids {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = *first, .l_len = size, .l_pid = 0
    };
    if (fcntl(file.get(), F_OFD_SETLK, &uids) == 0) return file;
    if (errno != EAGAIN && errno != EACCES) return ErrnoStatus(errno, "lock uids in " + locks);
  }
  return ResourceExhausted("every uid range from " + std::to_string(base) +
                           " is held by another supervisor; give another --uid-base");
}

}  // namespace odyssey
