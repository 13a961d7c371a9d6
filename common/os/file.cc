#include "common/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

namespace odyssey {
Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? ReadToTheEnd(fd.get(), path, max_bytes) : ErrnoStatus(errno, "open " + path);
}

Result<std::string> ReadToTheEnd(int fd, const std::string& path, size_t max_bytes) {
  std::string out;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = TEMP_FAILURE_RETRY(read(fd, buffer, sizeof(buffer)));
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) return out;
    out.append(buffer, static_cast<size_t>(n));
    if (out.size() > max_bytes) {
      return ResourceExhausted("read " + path + ": larger than " + std::to_string(max_bytes) +
                               " bytes");
    }
  }
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = TEMP_FAILURE_RETRY(write(fd, bytes.data(), bytes.size()));
    if (n < 0) return ErrnoStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return OkStatus();
}

Status WriteControlFile(const std::string& path, const std::string& value) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (write(fd.get(), value.data(), value.size()) >= 0) return OkStatus();
  return ErrnoStatus(errno, "write " + value.substr(0, value.find('\n')) + " to " + path);
}

Status MakeDirectories(const std::string& path, unsigned mode) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string prefix = path.substr(0, slash);
    if (mkdir(prefix.c_str(), mode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "create directory " + prefix);
    }
    if (slash == std::string::npos) break;
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  return S_ISDIR(info.st_mode) ? OkStatus() : InvalidArgument(path + " is not a directory");
}

Result<std::string> ProgramDirectory() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  if (n <= 0 || n == static_cast<ssize_t>(sizeof(path))) {
    return ErrnoStatus(errno, "read /proc/self/exe");
  }
  const std::string program(path, static_cast<size_t>(n));
  return program.substr(0, program.rfind('/'));
}

}  // namespace odyssey
