#include "supervisor/cell_tools/read_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/cell_tools/path_resolver.h"

namespace odyssey::cell_tools {

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

Result<tool::Response> ReadPart(int fd, uint64_t size, const tool::Request& request,
                                std::string_view absolute) {
  const uint64_t wanted = request.max_bytes == 0 ? tool::kDefaultReadBytes : request.max_bytes;
  const uint64_t rest = size - std::min(size, request.offset);
  const uint64_t length = std::min({wanted, uint64_t{tool::kMaxContent}, rest});
  tool::Response response;
  response.total_bytes = size;
  ODY_ASSIGN_OR_RETURN(response.content, ReadAt(fd, request.offset, length, absolute));
  // Shorter than asked: the file shrank meanwhile, and this is its end.
  response.truncated = response.content.size() == length && length < rest;
  if (response.truncated) response.next_offset = request.offset + length;
  return response;
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
