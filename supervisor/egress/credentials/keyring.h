#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_KEYRING_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_KEYRING_H_

// The credentials of one cell.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/egress/credentials/endpoint_pattern.h"
#include "supervisor/egress/credentials/secret.h"

namespace odyssey::egress::credentials {

struct Credential {
  std::string provider, key;
  std::string placeholder;
  Secret secret;  // empty: no server may see it
  std::vector<EndpointPattern> endpoints;
};

// A server, as the connection to it is.
struct Place {
  std::string host;
  uint16_t port = 0;
  bool secure = false;  // under TLS, and its certificate is the host's
};

class Keyring final {
 public:
  Keyring() = default;
  explicit Keyring(std::vector<Credential> all) : all_(std::move(all)) {}

  bool empty() const { return all_.empty(); }
  const std::vector<Credential>& all() const { return all_; }

  // Those whose secrets the server may see: none without TLS.
  std::vector<const Credential*> At(const Place& place) const;

 private:
  std::vector<Credential> all_;
};

// "PROVIDER/KEY".
std::string NameOf(const Credential& credential);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_KEYRING_H_
