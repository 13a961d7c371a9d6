#include "supervisor/egress/credentials/keyring.h"

#include <algorithm>

namespace odyssey::egress::credentials {

std::vector<const Credential*> Keyring::At(const Place& place) const {
  std::vector<const Credential*> out;
  if (!place.secure) return out;
  for (const Credential& credential : all_) {
    const bool bound = std::any_of(
        credential.endpoints.begin(), credential.endpoints.end(),
        [&](const EndpointPattern& endpoint) { return endpoint.Matches(place.host, place.port); });
    if (bound && !credential.secret.empty()) out.push_back(&credential);
  }
  return out;
}

std::string NameOf(const Credential& credential) {
  return credential.provider + "/" + credential.key;
}

}  // namespace odyssey::egress::credentials
