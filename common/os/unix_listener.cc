#include "common/os/unix_listener.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace odyssey {
namespace {

constexpr int kBacklog = 128;

// A socket file left by a killed daemon refuses connections; one that answers is in use.
Status RemoveStale(const std::string& path, const sockaddr_un& address, int type) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, "stat " + path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return AlreadyExists(path + " exists and is not a socket; remove it or choose another path");
  }
  UniqueFd probe(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!probe) return ErrnoStatus(errno, "create socket");
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return AlreadyExists("something already serves on " + path);
  }
  return unlink(path.c_str()) == 0 ? OkStatus() : ErrnoStatus(errno, "remove stale " + path);
}

}  // namespace

Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return InvalidArgument("socket path " + path + ": longer than " +
                           std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<UniqueFd> ListenUnix(const std::string& path, unsigned mode, int type) {
  ODY_ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  ODY_RETURN_IF_ERROR(RemoveStale(path, address, type));

  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return ErrnoStatus(errno, "create socket");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(fd.get(), kBacklog) != 0) {
    return ErrnoStatus(errno, "listen on " + path);
  }
  return fd;
}

}  // namespace odyssey
