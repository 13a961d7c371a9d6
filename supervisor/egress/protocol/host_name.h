#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_HOST_NAME_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_HOST_NAME_H_

// Names of hosts in bytes that a command chose: the first check of them, on every way in.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace odyssey::egress::protocol {

inline constexpr size_t kMaxHostName = 253;
inline constexpr size_t kMaxLabel = 63;

// The name in lower case, without the one dot that may end it. nullopt: no host has the name. Its
// labels have 1 to 63 bytes of a-z, 0-9, `-` and `_`, and neither begin nor end with `-`; so a NUL,
// a control character or a byte that is no ASCII is in none. A dotted IPv4 address passes.
std::optional<std::string> ReadHostName(std::string_view bytes);

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_HOST_NAME_H_
