#include "supervisor/cell_init/host_endpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/os/mount_calls.h"

namespace odyssey::cell_init {
namespace {

// Of this cell alone, and of pid 1: no command runs yet.
constexpr char kSocket[] = "/dev/odyssey-endpoint";

// A datagram socket may be connected without anybody's knowledge. To another kind of socket it is
// refused, as it is to one that nobody is bound to, by other errors.
bool IsBound(int place) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", place);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return connect(fd.get(), generic, sizeof(address)) == 0 || errno != ECONNREFUSED;
}

}  // namespace

bool IsHostEndpoint(int place) {
  struct stat info;
  if (fstat(place, &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || (S_ISSOCK(info.st_mode) && IsBound(place));
}

Status EndpointCover::Put(int place, const std::string& path) {
  if (!socket_) ODY_RETURN_IF_ERROR(Make());
  ODY_ASSIGN_OR_RETURN(const UniqueFd tree, CloneTree(socket_.get(), kSocket));
  // Read-only: its mode stays what it is.
  ODY_RETURN_IF_ERROR(SetAttributes(tree.get(), {.read_only = true, .no_exec = true}, path));
  return AttachTree(tree.get(), place, path);
}

// Its name stays until the last mount of it is made, since what has none cannot be mounted.
EndpointCover::~EndpointCover() {
  if (socket_) unlink(kSocket);
}

Status EndpointCover::Make() {
  if (mknod(kSocket, S_IFSOCK, 0) != 0) return ErrnoStatus(errno, std::string("make ") + kSocket);
  ODY_ASSIGN_OR_RETURN(socket_, OpenHostPath(kSocket));
  return OkStatus();
}

}  // namespace odyssey::cell_init
