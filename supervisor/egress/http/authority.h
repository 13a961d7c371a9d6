#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_AUTHORITY_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_AUTHORITY_H_

// HOST or HOST:PORT, of a target or of the Host field.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace odyssey::egress::http {

struct Authority {
  std::string written;  // the host as it was written, an IPv6 address in brackets
  std::string host;     // in its one spelling (policy/egress/pattern.h)
  std::string never;    // why no policy opens the host; "" if one may
  std::optional<uint16_t> port;
  friend bool operator==(const Authority&, const Authority&) = default;
};

// nullopt for what is no host or no port: a pattern, userinfo, a zone id, an address that is not
// four decimal numbers or IPv6 in brackets, a port that is not 1 to 65535 as a program writes it.
std::optional<Authority> ParseAuthority(std::string_view text);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_AUTHORITY_H_
