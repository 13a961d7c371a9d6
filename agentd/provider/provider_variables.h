#ifndef ODYSSEY_AGENTD_PROVIDER_PROVIDER_VARIABLES_H_
#define ODYSSEY_AGENTD_PROVIDER_PROVIDER_VARIABLES_H_

// The environment variables that agentd reads for a provider. Pure.

#include <string>
#include <vector>

#include "agentd/provider/provider_table.h"

namespace odyssey::provider {

struct Variables {
  std::vector<std::string> keys;       // the first that is set counts
  std::vector<std::string> addresses;  // likewise
};

// None of a provider without a server.
inline Variables VariablesOf(const Provider& provider) {
  Variables out;
  if (!HasServer(provider)) return out;
  const std::string prefix(provider.prefix);
  out.keys.push_back(prefix + "_API_KEY");
  if (!provider.other_key.empty()) out.keys.emplace_back(provider.other_key);
  out.addresses.push_back(prefix + "_BASE_URL");
  if (provider.azure) out.addresses.push_back(prefix + "_ENDPOINT");
  return out;
}

}  // namespace odyssey::provider

#endif  // ODYSSEY_AGENTD_PROVIDER_PROVIDER_VARIABLES_H_
