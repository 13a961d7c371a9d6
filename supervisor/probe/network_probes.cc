// Anybody outside. A route is asked for by connecting a datagram socket, which sends nothing; what
// is sent goes to loopback, or to addresses that are documentation's.

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <sstream>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kLayer[] = "network namespace";
const Errnos kUnreachable = {ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, ENETDOWN, EPERM, EACCES};
// On the cell's own loopback nothing listens.
const Errnos kNoListener = {ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL,
                            ENETDOWN,     EPERM,       EACCES};
constexpr int kAnswerMs = 1000;

bool IsFull(const Targets& targets) { return targets.Is("network", "full"); }
Finding HostsNetwork() { return NotApplicable("this cell has the host's network"); }

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address Parse(const std::string& text, long port) {
  Address address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<uint16_t>(port));
    address.size = sizeof(*four);
  } else if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<uint16_t>(port));
    const bool local =
        IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&six->sin6_addr);
    six->sin6_scope_id = local ? 1 : 0;  // the first interface, loopback
    address.size = sizeof(*six);
  }
  return address;
}

// Connects a stream, and reports errno, or a timeout.
Answer ConnectStream(const Address& address) {
  const UniqueFd fd(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return {-1, errno};
  if (connect(fd.get(), address.get(), address.size) == 0) return {0, 0};
  if (errno != EINPROGRESS) return {-1, errno};
  pollfd polled{fd.get(), POLLOUT, 0};
  if (poll(&polled, 1, kAnswerMs) == 0) return {-1, ETIMEDOUT};
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return {error == 0 ? 0 : -1, error};
}

// Sends a datagram. ICMP's "port unreachable" arrives at once on loopback, for the next
// call to see.
Answer SendDatagram(const Address& address) {
  const UniqueFd fd(socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), address.get(), address.size) != 0) return {-1, errno};
  if (send(fd.get(), "x", 1, 0) != 1) return {-1, errno};
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return {error == 0 ? 0 : -1, error};
}

// Is there a way at all? `protocol` of a datagram socket.
Answer FindRoute(const Address& address, int protocol) {
  const UniqueFd fd(socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, protocol));
  if (!fd) return {-1, errno};
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
  return Answered(connect(fd.get(), address.get(), address.size));
}

struct LoopbackCase {
  const char* name;
  const char* address;
  const char* port;  // a target
};

constexpr LoopbackCase kStreams[] = {
    {"loopback", "127.0.0.1", "tcp4"},
    {"loopback_ipv6", "::1", "tcp6"},
    {"loopback_alias", "127.0.0.2", "tcp4"},
    {"any", "0.0.0.0", "tcp4"},
    {"any_ipv6", "::", "tcp6"},
    {"mapped", "::ffff:127.0.0.1", "tcp4"},
};
constexpr LoopbackCase kDatagrams[] = {
    {"loopback", "127.0.0.1", "udp4"},
    {"loopback_ipv6", "::1", "udp6"},
    {"any", "0.0.0.0", "udp4"},
    {"mapped", "::ffff:127.0.0.1", "udp4"},
};

// The world, clouds' metadata, container hosts, private networks, and IPv4 in IPv6 disguises.
constexpr const char* kRoutes[] = {
    "8.8.8.8",     "1.1.1.1",         "192.0.2.1",        "198.51.100.1",
    "203.0.113.1", "169.254.169.254", "168.63.129.16",    "100.100.100.200",
    "10.0.0.1",    "172.17.0.1",      "192.168.0.1",      "192.168.65.2",
    "100.64.0.1",  "224.0.0.251",     "255.255.255.255",  "2001:4860:4860::8888",
    "2001:db8::1", "fd00:ec2::254",   "64:ff9b::808:808", "2002:808:808::1",
    "fe80::1",     "ff02::fb",        "ff05::2",          "192.0.0.192",
};

void AddLoopback(Probes* all) {
  for (const LoopbackCase& test : kStreams) {
    all->push_back(
        {std::string("network.tcp_") + test.name, "no listener", kLayer, [&test](const Targets& t) {
           if (IsFull(t)) return HostsNetwork();
           return MustBeRefused(ConnectStream(Parse(test.address, t.Number(test.port))),
                                kNoListener);
         }});
  }
  for (const LoopbackCase& test : kDatagrams) {
    all->push_back(
        {std::string("network.udp_") + test.name, "no listener", kLayer, [&test](const Targets& t) {
           if (IsFull(t)) return HostsNetwork();
           return MustBeRefused(SendDatagram(Parse(test.address, t.Number(test.port))),
                                kNoListener);
         }});
  }
  all->push_back({"network.tcp_of_another_cell", "no listener", kLayer, [](const Targets& t) {
                    if (IsFull(t)) return HostsNetwork();
                    return MustBeRefused(
                        ConnectStream(Parse("127.0.0.1", t.Number("neighbour_tcp"))), kNoListener);
                  }});
}

void AddRoute(const std::string& id, const std::string& address, int protocol, Probes* all) {
  all->push_back({"network." + id, "unreachable", kLayer, [address, protocol](const Targets& t) {
                    if (IsFull(t)) return HostsNetwork();
                    return MustBeRefused(FindRoute(Parse(address, 53), protocol), kUnreachable);
                  }});
}

// Interfaces and what listens, by the kernel's own lists.
Finding Interfaces(const Targets& targets) {
  if (IsFull(targets)) return HostsNetwork();
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return BrokenAt("getifaddrs");
  std::string found;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_LOOPBACK) == 0) found = each->ifa_name;
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const auto* four = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (ntohl(four->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
      found = inet_ntoa(four->sin_addr);  // NOLINT
  }
  freeifaddrs(list);
  return found.empty() ? Contained("loopback only") : Escaped("there is " + found);
}

Finding ListenersAreListed(const Targets& targets) {
  if (IsFull(targets)) return HostsNetwork();
  const struct {
    const char* path;
    const char* port;
  } kLists[] = {{"/proc/net/tcp", "tcp4"}, {"/proc/net/tcp6", "tcp6"}, {"/proc/net/udp", "udp4"}};
  for (const auto& list : kLists) {
    char port[8];
    snprintf(port, sizeof(port), ":%04lX ", targets.Number(list.port));
    if (Slurp(list.path, SIZE_MAX).find(port) != std::string::npos) {
      return Escaped(std::string(list.path) + " shows the host's port");
    }
  }
  return Contained("none of the host's");
}

Finding Resolver(const Targets& targets) {
  if (IsFull(targets)) return HostsNetwork();
  const std::string text = Slurp("/etc/resolv.conf", SIZE_MAX);
  return text == "nameserver 127.0.0.1\n" ? Contained("the cell's own")
                                          : Escaped("it says: " + text);
}

// ---- changing the network

Answer AskRouting(const void* request, size_t size) {
  const UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd || send(fd.get(), request, size, 0) < 0) return {-1, errno};
  char reply[4096];
  const ssize_t n = recv(fd.get(), reply, sizeof(reply), 0);
  const auto* header = reinterpret_cast<const nlmsghdr*>(reply);
  if (n < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr))) ||
      header->nlmsg_type != NLMSG_ERROR) {
    return {-1, EPROTO};
  }
  const int error = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
  return {error == 0 ? 0 : -1, error};
}

// Loopback is up already.
Finding SetLinkUp(const Targets&) {
  struct {
    nlmsghdr header;
    ifinfomsg link;
  } request{};
  request.header = {sizeof(request), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0};
  request.link.ifi_index = 1;
  request.link.ifi_flags = request.link.ifi_change = IFF_UP;
  return MustBeRefused(AskRouting(&request, sizeof(request)), {EPERM, EACCES});
}

// It has that address already.
Finding AddAddress(const Targets&) {
  struct {
    nlmsghdr header;
    ifaddrmsg address;
    rtattr attribute;
    in_addr value;
  } request{};
  request.header = {sizeof(request), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_EXCL, 1, 0};
  request.address.ifa_family = AF_INET;
  request.address.ifa_prefixlen = 8;
  request.address.ifa_index = 1;
  request.attribute = {RTA_LENGTH(sizeof(in_addr)), IFA_LOCAL};
  request.value.s_addr = htonl(INADDR_LOOPBACK);
  return MustBeRefused(AskRouting(&request, sizeof(request)), {EPERM, EACCES});
}

Finding SetFlags(const Targets&) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  if (ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) return BrokenAt("ask for the flags of lo");
  return MustBeRefused(Answered(ioctl(fd.get(), SIOCSIFFLAGS, &request)), {EPERM, EACCES});
}

Finding SetOption(int level, int option) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int value = 1;
  return MustBeRefused(Answered(setsockopt(fd.get(), level, option, &value, sizeof(value))),
                       {EPERM, EACCES});
}

void AddChanges(Probes* all) {
  const auto add = [all](const char* id, Attempt attempt) {
    all->push_back(
        {std::string("network.change_") + id, "EPERM", "no capability", std::move(attempt)});
  };
  add("link", SetLinkUp);
  add("address", AddAddress);
  add("flags", SetFlags);
  add("mark", [](const Targets&) { return SetOption(SOL_SOCKET, SO_MARK); });
  add("transparent", [](const Targets&) { return SetOption(IPPROTO_IP, IP_TRANSPARENT); });
}

}  // namespace

void AddNetworkProbes(const Targets& targets, Probes* all) {
  AddLoopback(all);
  for (const char* address : kRoutes) AddRoute(std::string("route:") + address, address, 0, all);
  for (const std::string& address : targets.All("address")) {
    AddRoute("route_to_host:" + address, address, 0, all);
  }
  AddRoute("icmp", "192.0.2.1", IPPROTO_ICMP, all);
  AddRoute("icmp_ipv6", "2001:db8::1", IPPROTO_ICMPV6, all);
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    all->push_back(
        {std::string("network.tcp:") + address, "unreachable", kLayer, [address](const Targets& t) {
           if (IsFull(t)) return HostsNetwork();
           return MustBeRefused(ConnectStream(Parse(address, 443)), kUnreachable);
         }});
  }
  all->push_back({"network.interfaces", "loopback only", kLayer, Interfaces});
  all->push_back({"network.listeners_listed", "none of the host's", kLayer, ListenersAreListed});
  all->push_back({"network.resolver", "it is the cell's own", "the plan's files", Resolver});
  AddChanges(all);
}

}  // namespace odyssey::probe
