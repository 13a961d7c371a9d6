#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_IP_ADDRESS_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_IP_ADDRESS_H_

// Addresses in network byte order.

#include <array>
#include <cstdint>

namespace odyssey::egress::protocol {

using Ipv4 = std::array<uint8_t, 4>;
using Ipv6 = std::array<uint8_t, 16>;

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_IP_ADDRESS_H_
