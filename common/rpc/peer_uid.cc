#include "common/rpc/peer_uid.h"

#include <sys/socket.h>

#include <charconv>

#include "common/rpc/peer_groups.h"

namespace odyssey::rpc {
namespace {

// Of "fd:7" the 7; -1 of anything else.
int DescriptorOf(const std::string& peer) {
  constexpr size_t kPrefix = 3;  // "fd:"
  int fd = -1;
  const char* const end = peer.data() + peer.size();
  if (peer.rfind("fd:", 0) != 0) return -1;
  const auto [stop, error] = std::from_chars(peer.data() + kPrefix, end, fd);
  return error == std::errc() && stop == end ? fd : -1;
}

}  // namespace

uid_t PeerUid(const std::string& peer) {
  const int fd = DescriptorOf(peer);
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0;
  return known ? credentials.uid : static_cast<uid_t>(-1);
}

bool PeerHasGroup(const std::string& peer, gid_t group) {
  return PeerHasGroup(DescriptorOf(peer), group);
}

}  // namespace odyssey::rpc
