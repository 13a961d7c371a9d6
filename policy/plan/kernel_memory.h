#ifndef ODYSSEY_POLICY_PLAN_KERNEL_MEMORY_H_
#define ODYSSEY_POLICY_PLAN_KERNEL_MEMORY_H_

#include <signal.h>

#include <cstdint>

namespace odyssey::cell {

// Calls that are refused beyond a number, since what they take of the kernel's memory is counted
// nowhere (ADR 0034). Locks of ranges: of one command, with fcntl(2); those of F_OFD_SETLK of the
// whole host. 6 MiB of records.
inline constexpr uint32_t kMaxRangeLocks = 32'768;
// Sockets of netlink in a network namespace: of a cell's own, and of the host's for cells that have
// it. Each holds at most twice net.core.rmem_max, which is 416 KiB unless somebody has set it.
inline constexpr uint32_t kMaxNetlinkSockets = 64;
inline constexpr uint32_t kMaxNetlinkSocketsOfHost = 1'024;
// Connections of TCP that nobody has accepted: the longest queue that nginx, Node and Redis ask for
// one listener. Each holds at most twice net.core.rmem_max: together 208 MiB.
inline constexpr uint32_t kMaxWaitingConnections = 512;

// From a cell's pid 1 to that of a slot: they are too many. Ends the command; one that has not
// begun stays.
inline constexpr int kConnectionsSignal = SIGUSR1;

}  // namespace odyssey::cell

#endif  // ODYSSEY_POLICY_PLAN_KERNEL_MEMORY_H_
