#include "ctl/image_build/build_cell.h"

#include <errno.h>
#include <sys/random.h>

namespace odyssey::ctl {

Result<std::string> NewBuildCell() {
  unsigned char bytes[8];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) {
    return ErrnoStatus(errno, "get random bytes");
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "image-build-";
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace odyssey::ctl
