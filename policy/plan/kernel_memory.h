#ifndef ODYSSEY_POLICY_PLAN_KERNEL_MEMORY_H_
#define ODYSSEY_POLICY_PLAN_KERNEL_MEMORY_H_

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstdint>

namespace odyssey::cell {

// Calls that are refused beyond a number, since what they take of the kernel's memory is counted
// nowhere (ADR 0034). Locks of ranges: of one command, with fcntl(2); those of F_OFD_SETLK of the
// whole host. 6 MiB of records.
inline constexpr uint32_t kMaxRangeLocks = 32'768;
// Sockets of netlink in a network namespace: of a cell's own, and of the host's for cells that have
// it. Each holds at most twice net.core.rmem_max, which is 416 KiB by default.
inline constexpr uint32_t kMaxNetlinkSockets = 64;
inline constexpr uint32_t kMaxNetlinkSocketsOfHost = 1'024;
// Sockets of a cell's own network, of all kinds: one for each so many bytes of memory_bytes, and at
// least so many. What waits in the two queues of one, and in that of its errors, is as much, unless
// the administrator has set net.core.rmem_default: so a cell has no more of the kernel's memory
// than of its own.
inline constexpr uint64_t kBytesOfASocket = 256 * 1024;
inline constexpr uint32_t kLeastSockets = 256;
// TCP connections in the accept queue: the longest queue that nginx, Node and Redis ask for
// one listener. Each holds at most twice net.core.rmem_max: together 208 MiB.
inline constexpr uint32_t kMaxWaitingConnections = 512;

// The arguments of a socket(2) of IPv4 or IPv6 that the filter allows, up to that number; `type`
// without its flags.
inline bool IsInternetSocket(uint32_t family, uint32_t type, uint32_t protocol) {
  if (family != AF_INET && family != AF_INET6) return false;
  if (type == SOCK_STREAM) return protocol == 0 || protocol == IPPROTO_TCP;
  const uint32_t echo = family == AF_INET ? uint32_t{IPPROTO_ICMP} : uint32_t{IPPROTO_ICMPV6};
  return type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP || protocol == echo);
}

// From a cell's pid 1 to that of a slot: they are too many. Ends the command; one that has not
// begun stays.
inline constexpr int kConnectionsSignal = SIGUSR1;

}  // namespace odyssey::cell

#endif  // ODYSSEY_POLICY_PLAN_KERNEL_MEMORY_H_
