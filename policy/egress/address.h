#ifndef ODYSSEY_POLICY_EGRESS_ADDRESS_H_
#define ODYSSEY_POLICY_EGRESS_ADDRESS_H_

// Internet addresses and ranges of them, as `allowed_ips` and hosts that are addresses name them.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace odyssey::egress {

struct AddressRange {
  bool v6 = false;
  std::array<uint8_t, 16> bytes = {};  // the first 4 for IPv4; zero below the prefix
  int prefix = 0;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

// "10.0.0.0/8", "2001:db8::1".
std::string ToString(const AddressRange& range);

// A whole address in its one spelling of four decimal numbers, or of IPv6; nullopt if it is none.
std::optional<AddressRange> ParseAddress(const std::string& text);

// An address, or a range "ADDRESS/BITS" without bits below its prefix. Refuses /0, and what no
// policy opens: see Never.
Result<AddressRange> ParseRange(const std::string& text);

// Every address of `inner` is one of `outer`.
bool Contains(const AddressRange& outer, const AddressRange& inner);

// Why no policy opens the range, "" if one may: it holds an address of loopback, link-local,
// unspecified, multicast, reserved, IPv4 inside IPv6 by mapping or a translator, or the metadata
// services of clouds.
std::string Never(const AddressRange& range);

// Why all of the range belongs to one private network, "" if it does not: only an endpoint that
// names an address of it, or has it in its allowed_ips, opens it.
std::string PrivateUse(const AddressRange& range);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_ADDRESS_H_
