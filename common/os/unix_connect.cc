#include "common/os/unix_connect.h"

#include <errno.h>

#include "common/os/unix_listener.h"

namespace odyssey {

Result<UniqueFd> ConnectUnix(const std::string& path, int type) {
  ODY_ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd) return ErrnoStatus(errno, "create socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return fd;
  }
  const int error = errno;
  return ErrnoStatus(error, "connect to " + path).With({.path = path, .error = error});
}

}  // namespace odyssey
