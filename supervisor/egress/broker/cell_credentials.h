#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_CREDENTIALS_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_CREDENTIALS_H_

// Which credentials a cell has, by its policy and the providers that are attached to it.

#include <string>
#include <vector>

#include "supervisor/egress/broker/provider_store.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::egress {

struct CellCredentials {
  egress_wire::Placeholders placeholders;  // for the cell: of those that some server may see
  // For its worker: of each provider that is attached. Secrets: the caller overwrites them.
  std::vector<egress_wire::Credential> credentials;
};

// A provider with endpoints is for those of them that the policy names. One without is for those
// that the policy binds to it; so that no policy sends the operator's secrets elsewhere, a provider
// of the operator is for none then.
CellCredentials CredentialsOf(const egress_wire::SetPolicy& policy, const ProviderStore& store);

// In as many messages as they need.
std::vector<std::string> EncodeCredentials(std::vector<egress_wire::Credential> credentials);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_CREDENTIALS_H_
