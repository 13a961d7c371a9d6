#include "supervisor/cell_init/host_endpoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
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
constexpr char kDirectory[] = "/dev/odyssey-closed";

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

bool MayBeEndpoint(unsigned char type) {
  return type == DT_SOCK || type == DT_FIFO || type == DT_UNKNOWN;
}

Endpoint HostEndpoint(int place) {
  struct stat info;
  if (fstat(place, &info) != 0) return Endpoint::kNone;
  if (S_ISFIFO(info.st_mode)) return Endpoint::kPipe;
  return S_ISSOCK(info.st_mode) && IsBound(place) ? Endpoint::kSocket : Endpoint::kNone;
}

bool IsMountPoint(int place) {
  struct statx info;
  return statx(place, "", AT_EMPTY_PATH, 0, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Status Cover::Put(int place, const std::string& path) {
  struct stat info;
  if (fstat(place, &info) != 0) return ErrnoStatus(errno, "look at " + path);
  if (!socket_) ODY_RETURN_IF_ERROR(Make());
  const UniqueFd& cover = S_ISDIR(info.st_mode) ? directory_ : socket_;
  ODY_ASSIGN_OR_RETURN(const UniqueFd tree, CloneTree(cover.get(), path));
  // Read-only: its mode stays what it is.
  ODY_RETURN_IF_ERROR(SetAttributes(tree.get(), {.read_only = true, .no_exec = true}, path));
  return AttachTree(tree.get(), place, path);
}

// Their names stay until the last mount is made, since what has none cannot be mounted.
Cover::~Cover() {
  if (!socket_) return;
  unlink(kSocket);
  rmdir(kDirectory);
}

Status Cover::Make() {
  if (mknod(kSocket, S_IFSOCK, 0) != 0) return ErrnoStatus(errno, std::string("make ") + kSocket);
  if (mkdir(kDirectory, 0) != 0) return ErrnoStatus(errno, std::string("make ") + kDirectory);
  ODY_ASSIGN_OR_RETURN(directory_, OpenHostPath(kDirectory));
  ODY_ASSIGN_OR_RETURN(socket_, OpenHostPath(kSocket));
  return OkStatus();
}

}  // namespace odyssey::cell_init
