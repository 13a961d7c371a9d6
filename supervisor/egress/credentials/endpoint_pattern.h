#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_ENDPOINT_PATTERN_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_ENDPOINT_PATTERN_H_

// The endpoints of a provider: the servers that may see its secrets.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::egress::credentials {

struct EndpointPattern {
  std::string host;  // a pattern of policy/egress, normalised
  uint16_t port = 0;

  bool Matches(std::string_view host, uint16_t port) const;
  // Some server is one of both; `other_host` is a pattern too.
  bool Overlaps(const std::string& other_host, uint16_t other_port) const;
  std::string Text() const;
};

// "HOST:PORT", an IPv6 address in brackets. INVALID_ARGUMENT, PERMISSION_DENIED: what no policy
// opens.
Result<EndpointPattern> ParseEndpointPattern(std::string_view text);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_ENDPOINT_PATTERN_H_
