#include "agentd/service/peer_uid.h"

#include <sys/socket.h>

#include <charconv>

namespace odyssey::service {

uid_t PeerUid(const std::string& peer) {
  constexpr size_t kPrefix = 3;  // "fd:"
  int fd = -1;
  const char* const end = peer.data() + peer.size();
  if (peer.rfind("fd:", 0) != 0) return static_cast<uid_t>(-1);
  const auto [stop, error] = std::from_chars(peer.data() + kPrefix, end, fd);
  if (error != std::errc() || stop != end) return static_cast<uid_t>(-1);
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0;
  return known ? credentials.uid : static_cast<uid_t>(-1);
}

}  // namespace odyssey::service
