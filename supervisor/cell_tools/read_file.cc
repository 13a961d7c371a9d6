#include "supervisor/cell_tools/read_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "supervisor/cell_tools/path_resolver.h"

namespace odyssey::cell_tools {
namespace {

constexpr uint32_t kPermissionBits = 0777;

}  // namespace

Result<std::string> ReadAt(int fd, uint64_t offset, uint64_t max, std::string_view absolute) {
  std::string out(max, '\0');
  size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t n =
        pread(fd, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return AccessError(errno, Access::kRead, absolute);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  out.resize(filled);
  return out;
}

Status CheckMode(uint32_t mode) {
  if ((mode & ~kPermissionBits) == 0) return OkStatus();
  char octal[16];
  snprintf(octal, sizeof(octal), "0%o", mode);
  return InvalidArgument(std::string("mode ") + octal +
                         ": only permission bits, 0 to 0777, are allowed");
}

std::string_view LastName(std::string_view absolute) {
  return absolute.substr(absolute.rfind('/') + 1);
}

}  // namespace odyssey::cell_tools
