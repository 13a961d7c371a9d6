#include "supervisor/egress/credentials/endpoint_pattern.h"

#include <charconv>

#include "policy/egress/glob.h"
#include "policy/egress/pattern.h"

namespace odyssey::egress::credentials {

bool EndpointPattern::Matches(std::string_view to_host, uint16_t to_port) const {
  return port == to_port && HostMatches(host, to_host);
}

bool EndpointPattern::Overlaps(const std::string& other_host, uint16_t other_port) const {
  return port == other_port && HostsOverlap(host, other_host);
}

std::string EndpointPattern::Text() const { return BeforePort(host) + ":" + std::to_string(port); }

Result<EndpointPattern> ParseEndpointPattern(std::string_view text) {
  const std::string shown = "endpoint " + std::string(text) + ": ";
  const size_t colon = text.rfind(':');
  EndpointPattern out;
  if (colon == std::string_view::npos) return InvalidArgument(shown + "HOST:PORT is what it is");
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (error != std::errc() || stop != end || out.port == 0 || text[colon + 1] == '0') {
    return InvalidArgument(shown + "a port is a number from 1 to 65535");
  }
  std::string host(text.substr(0, colon));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  Result<std::string> normal = NormalizeHost(host);
  if (!normal.ok()) return Status(normal.status().code(), shown + normal.status().message());
  out.host = std::move(*normal);
  return out;
}

}  // namespace odyssey::egress::credentials
