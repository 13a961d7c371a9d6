#ifndef ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_PROVIDER_TYPE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_PROVIDER_TYPE_H_

#include <string>
#include <string_view>
#include <vector>

namespace odyssey::egress::credentials {

// What providers of a kind have in common.
struct ProviderType {
  std::string_view name;
  std::vector<std::string> endpoints;  // where its secrets may go, unless a provider says
};

// nullptr: unknown. "generic" has no endpoints.
const ProviderType* FindProviderType(std::string_view name);

}  // namespace odyssey::egress::credentials

#endif  // ODYSSEY_SUPERVISOR_EGRESS_CREDENTIALS_PROVIDER_TYPE_H_
