#include "ctl/access/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <utility>

namespace odyssey::ctl {
namespace {

constexpr int kBacklog = 128;
constexpr int kTries = 16;  // for a port that is free at both addresses

// Of either family.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr_in& v4() { return reinterpret_cast<sockaddr_in&>(storage); }
  sockaddr_in6& v6() { return reinterpret_cast<sockaddr_in6&>(storage); }
  bool is_v6() const { return storage.ss_family == AF_INET6; }
  uint16_t port() { return ntohs(is_v6() ? v6().sin6_port : v4().sin_port); }
  bool loopback() {
    return is_v6() ? IN6_IS_ADDR_LOOPBACK(&v6().sin6_addr)
                   : ntohl(v4().sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
  }
};

Address AddressOf(const std::string& text, uint16_t port) {
  Address out;
  if (inet_pton(AF_INET, text.c_str(), &out.v4().sin_addr) == 1) {
    out.storage.ss_family = AF_INET;
    out.v4().sin_port = htons(port);
    out.size = sizeof(sockaddr_in);
  } else if (inet_pton(AF_INET6, text.c_str(), &out.v6().sin6_addr) == 1) {
    out.storage.ss_family = AF_INET6;
    out.v6().sin6_port = htons(port);
    out.size = sizeof(sockaddr_in6);
  }
  return out;
}

Result<Listener> ListenAt(const std::string& text, uint16_t port, uint16_t remote) {
  Address address = AddressOf(text, port);
  const std::string shown = address.is_v6() ? "[" + text + "]" : text;
  Listener out{.text = shown, .remote = remote, .loopback = address.loopback()};
  out.fd.reset(
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  const int on = 1;
  const bool made =
      out.fd && setsockopt(out.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      (!address.is_v6() ||
       setsockopt(out.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
      bind(out.fd.get(), address.get(), address.size) == 0 && listen(out.fd.get(), kBacklog) == 0 &&
      getsockname(out.fd.get(), address.get(), &address.size) == 0;
  if (!made) return ErrnoStatus(errno, "listen on " + shown + ":" + std::to_string(port));
  out.port = address.port();
  out.text += ":" + std::to_string(out.port);
  return out;
}

// A host without IPv6, or with it switched off.
bool IsMissing(const Status& status) {
  const int error = status.detail().error;
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT;
}

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

struct DiagAnswer {
  nlmsghdr header;
  inet_diag_msg body;
  char attributes[256];
};

// The socket whose own address is `peer` and whose peer is `own`.
DiagRequest Ask(Address own, Address peer) {
  DiagRequest request{};
  request.header = {sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0};
  request.body.sdiag_family = static_cast<uint8_t>(peer.storage.ss_family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = htons(peer.port());
  id.idiag_dport = htons(own.port());
  if (peer.is_v6()) {
    memcpy(id.idiag_src, &peer.v6().sin6_addr, sizeof(in6_addr));
    memcpy(id.idiag_dst, &own.v6().sin6_addr, sizeof(in6_addr));
  } else {
    memcpy(id.idiag_src, &peer.v4().sin_addr, sizeof(in_addr));
    memcpy(id.idiag_dst, &own.v4().sin_addr, sizeof(in_addr));
  }
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

}  // namespace

Result<std::vector<Listener>> Listen(const ForwardSpec& spec) {
  std::vector<Listener> out;
  if (!spec.bind.empty()) {
    ODY_ASSIGN_OR_RETURN(Listener one, ListenAt(spec.bind, spec.local, spec.remote));
    out.push_back(std::move(one));
    return out;
  }
  for (int tries = 1;; ++tries) {
    ODY_ASSIGN_OR_RETURN(Listener v4, ListenAt("127.0.0.1", spec.local, spec.remote));
    Result<Listener> v6 = ListenAt("::1", v4.port, spec.remote);
    const bool taken = !v6.ok() && v6.status().detail().error == EADDRINUSE;
    if (taken && spec.local == 0 && tries < kTries) continue;
    if (!v6.ok() && !IsMissing(v6.status())) return v6.status();
    out.push_back(std::move(v4));
    if (v6.ok()) out.push_back(*std::move(v6));
    return out;
  }
}

std::optional<uid_t> UidOfPeer(int connection) {
  Address own, peer;
  if (getsockname(connection, own.get(), &own.size) != 0) return std::nullopt;
  if (getpeername(connection, peer.get(), &peer.size) != 0) return std::nullopt;
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const DiagRequest request = Ask(own, peer);
  DiagAnswer answer{};
  const bool found = send(netlink.get(), &request, sizeof(request), 0) == sizeof(request) &&
                     recv(netlink.get(), &answer, sizeof(answer), 0) > 0 &&
                     answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY;
  // Of a socket that its process has closed the kernel says uid 0.
  if (!found || answer.body.idiag_inode == 0) return std::nullopt;
  return answer.body.idiag_uid;
}

}  // namespace odyssey::ctl
