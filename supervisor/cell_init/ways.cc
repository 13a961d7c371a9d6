#include "supervisor/cell_init/ways.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <utility>

#include "common/os/message_socket.h"

namespace odyssey::cell_init {
namespace {

using cell::EgressWay;

constexpr int kLoopback = 1;  // its index in every network namespace
constexpr int kBacklog = 1024;

struct RouteRequest {
  nlmsghdr header;
  rtmsg route;
  rtattr attribute;
  int device;
};

struct RouteAnswer {
  nlmsghdr header;
  nlmsgerr error;
};

// Makes every address of the family a local one.
Status AddRoute(int netlink, uint8_t family) {
  RouteRequest request{};
  request.header = {sizeof(request), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 0, 0};
  request.route.rtm_family = family;
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_BOOT;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  request.attribute = {RTA_LENGTH(sizeof(request.device)), RTA_OIF};
  request.device = kLoopback;
  RouteAnswer answer{};
  const bool asked = send(netlink, &request, sizeof(request), 0) == ssize_t{sizeof(request)} &&
                     recv(netlink, &answer, sizeof(answer), 0) > 0;
  if (asked && answer.error.error == 0) return OkStatus();
  return ErrnoStatus(asked ? -answer.error.error : errno, "make every address the cell's own");
}

Status AddRoutes() {
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  ODY_RETURN_IF_ERROR(AddRoute(netlink.get(), AF_INET));
  const Status v6 = AddRoute(netlink.get(), AF_INET6);
  // A kernel without IPv6.
  return v6.detail().error == EAFNOSUPPORT || v6.detail().error == EOPNOTSUPP ? OkStatus() : v6;
}

// Without memory for it no slot sends a file, and no pin is met.
std::atomic<bool>* ShareFlag() {
  void* memory = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<bool>*>(memory);
}

// Of IPv4 and IPv6, and of every address unless it is the proxy's.
Result<UniqueFd> Listen(EgressWay way) {
  const bool proxy = way.kind == EgressWay::Kind::kProxy;
  const bool datagrams = way.kind == EgressWay::Kind::kNames;
  UniqueFd out(socket(AF_INET6, (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(way.port);
  if (proxy) address.sin6_addr = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
  const int off = 0, on = 1;
  // A datagram's answer comes from where it was sent.
  const bool made =
      setsockopt(out.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0 &&
      setsockopt(out.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) == 0 &&
      bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      (datagrams || listen(out.get(), kBacklog) == 0);
  if (made) return out;
  return ErrnoStatus(errno, "listen on port " + std::to_string(way.port) + " for egress");
}

// `identities`: the slots' end of them.
Result<UniqueFd> Make(EgressWay way, UniqueFd* identities) {
  if (way.kind == EgressWay::Kind::kSocketTable) {
    UniqueFd table(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (table) return table;
    return ErrnoStatus(errno, "open the table of the cell's sockets");
  }
  if (way.kind != EgressWay::Kind::kIdentities) return Listen(way);
  ODY_ASSIGN_OR_RETURN(auto pair, MessageSocketPair());
  *identities = std::move(pair.second);
  return std::move(pair.first);
}

}  // namespace

Status Ways::Open(const cell::OpenEgress& request, int supervisor) {
  if (open_.empty()) ODY_RETURN_IF_ERROR(AddRoutes());
  if (files_ == nullptr) files_ = ShareFlag();
  if (files_ != nullptr) *files_ = request.files;
  for (const EgressWay& way : request.ways) {
    if (!open_.insert(way).second) continue;
    ODY_ASSIGN_OR_RETURN(const UniqueFd fd, Make(way, &identities_));
    ODY_RETURN_IF_ERROR(SendMessage(supervisor, cell::Encode(way), {fd.get()}));
  }
  return OkStatus();
}

}  // namespace odyssey::cell_init
