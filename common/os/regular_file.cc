#include "common/os/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey {
namespace {

// The descriptor of this process that the path names.
std::optional<int> GivenDescriptor(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.substr(0, prefix.size()) != prefix) continue;
    const char* const end = path.data() + path.size();
    int number = -1;
    const auto [stop, error] = std::from_chars(path.data() + prefix.size(), end, number);
    if (error == std::errc() && stop == end && number >= 0) return number;
  }
  return std::nullopt;
}

}  // namespace

const char* FileKind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    case S_IFLNK:
      return "a symbolic link";
    default:
      return "of no known kind";
  }
}

bool IsGivenDescriptor(const std::string& path) { return GivenDescriptor(path).has_value(); }

Result<std::string> ReadRegularFile(const std::string& path, size_t max_bytes) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int error = errno;
  struct stat info;
  const bool known = fd ? fstat(fd.get(), &info) == 0 : stat(path.c_str(), &info) == 0;
  if (known && S_ISREG(info.st_mode) && fd) return ReadToTheEnd(fd.get(), path, max_bytes);

  const std::optional<int> given = GivenDescriptor(path);
  if (given && known && !S_ISDIR(info.st_mode)) return ReadToTheEnd(*given, path, max_bytes);
  // A socket cannot be opened (ENXIO), nor a device without a driver.
  if (known && !S_ISREG(info.st_mode) && (fd || error == ENXIO || error == ENODEV)) {
    return InvalidArgument("open " + path + ": it is " + FileKind(info.st_mode) +
                           ", not a regular file");
  }
  return ErrnoStatus(error, "open " + path);
}

}  // namespace odyssey
