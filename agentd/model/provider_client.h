#ifndef ODYSSEY_AGENTD_MODEL_PROVIDER_CLIENT_H_
#define ODYSSEY_AGENTD_MODEL_PROVIDER_CLIENT_H_

// A model behind HTTP: one request in the protocol of its provider, repeated while nothing of an
// answer has arrived.

#include <chrono>
#include <memory>
#include <string>

#include "agentd/model/model_client.h"
#include "agentd/model/protocol_codec.h"
#include "agentd/model/secret.h"

namespace odyssey::model {

// The operator's part: where the provider is and the key for it. Never a bundle's.
struct ProviderAccess {
  std::string base_url;
  Secret key;  // empty: none is sent
};

// The delay before the second attempt; it doubles with each further one, up to kMaxRetryDelay.
inline constexpr std::chrono::milliseconds kFirstRetryDelay{500};
// Also of a provider's Retry-After: a longer one ends the call with the provider's error.
inline constexpr std::chrono::milliseconds kMaxRetryDelay{30000};
inline constexpr long kDefaultRetries = 3;

std::unique_ptr<ModelClient> NewProviderClient(
    std::shared_ptr<const ProviderAccess> access, ModelTarget target,
    std::chrono::milliseconds first_retry_delay = kFirstRetryDelay);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_PROVIDER_CLIENT_H_
