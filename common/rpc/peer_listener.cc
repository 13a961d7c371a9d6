#include "common/rpc/peer_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

namespace odyssey::rpc {
namespace {

constexpr int kBacklog = 128;

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return InvalidArgument("socket path " + path + ": longer than " +
                           std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// A socket file left by a killed daemon refuses connections; one that answers is in use.
Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? OkStatus() : ErrnoStatus(errno, "stat " + path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return AlreadyExists(path + " exists and is not a socket; remove it or choose another path");
  }
  UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe) return ErrnoStatus(errno, "create socket");
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return AlreadyExists("something already serves on " + path);
  }
  if (unlink(path.c_str()) != 0) return ErrnoStatus(errno, "remove stale socket " + path);
  return OkStatus();
}

}  // namespace

Result<UniqueFd> ListenUnix(const std::string& path, unsigned mode) {
  ODY_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  ODY_RETURN_IF_ERROR(RemoveStale(path, address));

  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return ErrnoStatus(errno, "create socket");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "bind " + path);
  }
  if (chmod(path.c_str(), mode) != 0) return ErrnoStatus(errno, "chmod " + path);
  if (listen(fd.get(), kBacklog) != 0) return ErrnoStatus(errno, "listen on " + path);
  return fd;
}

PeerListener::PeerListener(UniqueFd listener, grpc::Server* server, std::set<uid_t> allowed)
    : listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      server_(server),
      allowed_(std::move(allowed)),
      thread_([this] { AcceptLoop(); }) {}

PeerListener::~PeerListener() {
  const uint64_t one = 1;
  ODY_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

void PeerListener::AcceptLoop() noexcept {
  pollfd polled[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) continue;

    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
        allowed_.count(credentials.uid) == 0) {
      ++refused_;
      continue;
    }
    grpc::AddInsecureChannelFromFd(server_, peer.release());
  }
}

}  // namespace odyssey::rpc
