#include "supervisor/egress/worker/identities.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "supervisor/wire/cell_wire.h"

namespace odyssey::egress {
namespace {

constexpr size_t kMaxKnown = 4096;

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

// An address in the form of the table, and whether it is of IPv4.
bool Place(const sockaddr_storage& from, uint32_t* address, uint16_t* port) {
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
  if (from.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    *address = v4.sin_addr.s_addr;
    *port = v4.sin_port;
    return true;
  }
  *port = v6.sin6_port;
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    memcpy(address, v6.sin6_addr.s6_addr + 12, 4);
    return true;
  }
  memcpy(address, v6.sin6_addr.s6_addr, 16);
  return false;
}

}  // namespace

bool Identities::Drain() {
  while (arriving_) {
    Result<Message> message = ReceiveMessage(arriving_.get(), MSG_DONTWAIT);
    if (message.ok()) {
      Take(std::move(*message));
    } else if (message.status().code() == Code::kResourceExhausted) {
      break;
    } else if (message.status().code() != Code::kInvalidArgument) {  // no room for its descriptors
      arriving_.reset();
    }
  }
  return static_cast<bool>(arriving_);
}

void Identities::Take(Message message) {
  cell::Identity identity;
  if (!cell::Decode(message.bytes, &identity).ok()) return;
  Program program{.path = std::move(identity.program), .ancestors = std::move(identity.ancestors)};
  program.known = !program.path.empty();
  if (message.fds.size() == 2 && is_pinned_(program.path)) {
    program.sha256 = files_.Sha256Of(message.fds[0], std::move(message.fds[1]));
  }
  if (on_arrival_) on_arrival_(identity.destination, program);
  if (identity.socket != 0) Add(identity.socket, std::move(program));
}

// The kernel numbers sockets anew: the same number again is the same socket, connected again, or
// one that another process shares.
void Identities::Add(uint64_t socket, Program program) {
  const auto it = known_.find(socket);
  if (it != known_.end()) {
    Known& known = it->second;
    if (known.program != program) known.ambiguous = true;
    ages_.splice(ages_.end(), ages_, known.age);
    return;
  }
  if (known_.size() == kMaxKnown) {
    known_.erase(ages_.front());
    ages_.pop_front();
  }
  ages_.push_back(socket);
  known_[socket] = {std::move(program), false, std::prev(ages_.end())};
}

Program Identities::Of(int accepted) {
  (void)Drain();
  sockaddr_storage client{}, listener{};
  socklen_t size = sizeof(client);
  if (getpeername(accepted, reinterpret_cast<sockaddr*>(&client), &size) != 0) return {};
  size = sizeof(listener);
  if (getsockname(accepted, reinterpret_cast<sockaddr*>(&listener), &size) != 0) return {};
  const auto it = known_.find(SocketOf(client, listener));
  if (it == known_.end() || it->second.ambiguous) return {};
  return it->second.program;
}

// 0: there is none any more.
uint64_t Identities::SocketOf(const sockaddr_storage& client,
                              const sockaddr_storage& listener) const {
  DiagRequest request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_sockid& id = request.request.id;
  const bool v4 = Place(client, id.idiag_src, &id.idiag_sport);
  Place(listener, id.idiag_dst, &id.idiag_dport);
  request.request.sdiag_family = v4 ? AF_INET : AF_INET6;
  request.request.sdiag_protocol = IPPROTO_TCP;
  request.request.idiag_states = ~0U;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  // The kernel answers before send(2) returns.
  char answer[512];
  while (recv(table_.get(), answer, sizeof(answer), MSG_DONTWAIT) > 0) {
  }
  if (send(table_.get(), &request, sizeof(request), 0) < 0) return 0;
  const ssize_t size = recv(table_.get(), answer, sizeof(answer), MSG_DONTWAIT);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (size < ssize_t{sizeof(header) + sizeof(found)}) return 0;
  memcpy(&header, answer, sizeof(header));
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
  memcpy(&found, answer + NLMSG_HDRLEN, sizeof(found));
  return found.idiag_inode;
}

}  // namespace odyssey::egress
