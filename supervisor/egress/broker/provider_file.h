#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_FILE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_FILE_H_

// A provider as the bytes of its file, and the files of the operator's.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/broker/provider_store.h"

namespace odyssey::egress {

inline constexpr size_t kMaxProviderBytes = 256 * 1024;  // of its secrets, all together

bool IsProviderKey(std::string_view key);

// Sets the secret, in place of the one before of the same key.
Status SetSecret(const std::string& key, const std::string& value, Provider* provider);

// In one spelling. INVALID_ARGUMENT.
Status SetEndpoints(const std::vector<std::string>& endpoints, Provider* provider);

// The bytes hold secrets: the caller overwrites them.
std::string EncodeProvider(const Provider& provider);
Result<Provider> DecodeProvider(std::string_view bytes);

// Of all files of the directory.
Result<std::vector<Provider>> ReadOperatorProviders(const std::string& directory);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_PROVIDER_FILE_H_
