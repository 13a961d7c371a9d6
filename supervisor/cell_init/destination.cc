#include "supervisor/cell_init/destination.h"

#include <arpa/inet.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>

#include "policy/plan/refused_call.h"
#include "supervisor/cell_init/seccomp_notify.h"

namespace odyssey::cell_init {
namespace {

// Of IPv4, or an address of IPv6 that stands for one.
bool IsV4(const sockaddr_in6& given) {
  return given.sin6_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&given.sin6_addr);
}

// IPv4 has its address where IPv6 has the flow.
const unsigned char* BytesOf(const sockaddr_in6& given) {
  if (given.sin6_family == AF_INET)
    return reinterpret_cast<const unsigned char*>(&given.sin6_flowinfo);
  return given.sin6_addr.s6_addr + (IsV4(given) ? 12 : 0);
}

// The unspecified address leads to the loopback too.
bool IsLoopback(const sockaddr_in6& given) {
  const unsigned char* bytes = BytesOf(given);
  if (IsV4(given) && bytes[0] == IN_LOOPBACKNET) return true;
  const unsigned char* last = bytes + (IsV4(given) ? 3 : 15);
  return std::all_of(bytes, last, [](auto b) { return b == 0; }) && *last <= (IsV4(given) ? 0 : 1);
}

}  // namespace

bool GivesAddress(const seccomp_data& call) {
  return call.nr == SYS_connect || call.nr == SYS_sendto;
}

Destination DestinationOf(const seccomp_notif& call) {
  constexpr ssize_t kShortestV6 = offsetof(sockaddr_in6, sin6_scope_id);
  const int argument = call.data.nr == SYS_connect ? 1 : 4;
  sockaddr_in6 given{};
  const size_t size = std::min<size_t>(Arg32(call.data, argument + 1), sizeof(given));
  const ssize_t read = ReadMemory(call, call.data.args[argument], &given, size);
  const bool whole = (given.sin6_family == AF_INET && read >= ssize_t{sizeof(sockaddr_in)}) ||
                     (given.sin6_family == AF_INET6 && read >= kShortestV6);
  const uint16_t port = ntohs(given.sin6_port);
  if (!whole) return {};
  if (IsLoopback(given)) return {.own_port = port};
  char text[INET6_ADDRSTRLEN] = "";
  (void)inet_ntop(IsV4(given) ? AF_INET : AF_INET6, BytesOf(given), text, sizeof(text));
  const std::string host = IsV4(given) ? text : "[" + std::string(text) + "]";
  return {.text = host + ":" + std::to_string(port)};
}

}  // namespace odyssey::cell_init
