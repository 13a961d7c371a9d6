// Sockets: what has to work within the cell, and with the host's network where that is granted.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

struct Loopback {
  explicit Loopback(int family) : size(family == AF_INET ? sizeof(four) : sizeof(six)) {
    if (family == AF_INET) {
      four.sin_family = AF_INET;
      four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      six.sin6_family = AF_INET6;
      six.sin6_addr = in6addr_loopback;
    }
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&six); }

  union {
    sockaddr_in6 six{};
    sockaddr_in four;
  };
  socklen_t size;
};

// One byte from a client to a server and back.
Finding Exchange(int client, int server) {
  char byte = 0;
  if (send(client, "x", 1, MSG_NOSIGNAL) != 1 || recv(server, &byte, 1, 0) != 1) {
    return BrokenAt("send");
  }
  return WorksIf(
      send(server, "y", 1, MSG_NOSIGNAL) == 1 && recv(client, &byte, 1, 0) == 1 && byte == 'y',
      "answer");
}

Finding Tcp(int family) {
  Loopback address(family);
  const UniqueFd listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (bind(listener.get(), address.get(), address.size) != 0) return BrokenAt("bind");
  if (listen(listener.get(), 4) != 0) return BrokenAt("listen");
  getsockname(listener.get(), address.get(), &address.size);
  const UniqueFd client(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(client.get(), address.get(), address.size) != 0) return BrokenAt("connect");
  const UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!server) return BrokenAt("accept");
  const int on = 1;
  if (setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
    return BrokenAt("TCP_NODELAY");
  }
  return Exchange(client.get(), server.get());
}

Finding Udp(int family) {
  Loopback address(family);
  const UniqueFd server(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (bind(server.get(), address.get(), address.size) != 0) return BrokenAt("bind");
  getsockname(server.get(), address.get(), &address.size);
  const UniqueFd client(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (sendto(client.get(), "x", 1, 0, address.get(), address.size) != 1) return BrokenAt("sendto");
  char byte = 0;
  return WorksIf(recv(server.get(), &byte, 1, 0) == 1 && byte == 'x', "recv");
}

Finding HostsListener(const Targets& targets) {
  if (!targets.Is("network", "full")) return NotApplicable("this cell has a network of its own");
  Loopback address(AF_INET);
  address.four.sin_port = htons(static_cast<uint16_t>(targets.Number("tcp4")));
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(client.get(), address.get(), address.size) != 0) return BrokenAt("connect");
  return WorksIf(send(client.get(), "x", 1, MSG_NOSIGNAL) == 1, "send");
}

Finding Unix(const std::string& name, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const UniqueFd listener(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (bind(listener.get(), any, size) != 0) return BrokenAt("bind");
  const UniqueFd client(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (type == SOCK_DGRAM) {
    char byte = 0;
    if (sendto(client.get(), "x", 1, 0, any, size) != 1) return BrokenAt("sendto");
    return WorksIf(recv(listener.get(), &byte, 1, 0) == 1, "recv");
  }
  if (listen(listener.get(), 4) != 0) return BrokenAt("listen");
  if (connect(client.get(), any, size) != 0) return BrokenAt("connect");
  const UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(server.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return BrokenAt("SO_PEERCRED");
  }
  return Exchange(client.get(), server.get());
}

Finding PassDescriptor(const Targets&) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return BrokenAt("socketpair");
  char byte = 'x';
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &ends[0], sizeof(int));
  if (sendmsg(ends[0], &message, 0) != 1) return BrokenAt("sendmsg");
  message.msg_controllen = sizeof(control);
  return WorksIf(recvmsg(ends[1], &message, MSG_CMSG_CLOEXEC) == 1 && message.msg_controllen > 0,
                 "recvmsg");
}

Finding Interfaces(const Targets&) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return BrokenAt("getifaddrs");
  const bool any = list != nullptr;
  freeifaddrs(list);
  return WorksIf(any, "an interface");
}

}  // namespace

void AddWorkingSockets(Probes* all) {
  const auto add = [all](const char* id, const char* what, Attempt attempt) {
    all->push_back({std::string("works.") + id, what, "", std::move(attempt)});
  };
  add("tcp", "a server and a client on loopback", [](const Targets&) { return Tcp(AF_INET); });
  add("tcp_ipv6", "the same over IPv6", [](const Targets&) { return Tcp(AF_INET6); });
  add("udp", "datagrams on loopback", [](const Targets&) { return Udp(AF_INET); });
  add("udp_ipv6", "the same over IPv6", [](const Targets&) { return Udp(AF_INET6); });
  add("network_of_the_host", "the host's loopback where the network is full", HostsListener);
  add("unix_stream", "a Unix socket with a path",
      [](const Targets&) { return Unix("socket", SOCK_STREAM); });
  add("unix_datagrams", "Unix datagrams",
      [](const Targets&) { return Unix("socket", SOCK_DGRAM); });
  add("unix_packets", "Unix packets",
      [](const Targets&) { return Unix("socket", SOCK_SEQPACKET); });
  add("unix_abstract", "an abstract Unix socket of one's own",
      [](const Targets&) { return Unix(std::string("\0odyssey-probe-own", 18), SOCK_STREAM); });
  add("pass_descriptor", "descriptors over a Unix socket", PassDescriptor);
  add("interfaces", "listing interfaces", Interfaces);
}

}  // namespace odyssey::probe
