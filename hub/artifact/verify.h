#ifndef ODYSSEY_HUB_ARTIFACT_VERIFY_H_
#define ODYSSEY_HUB_ARTIFACT_VERIFY_H_

// What a receiver checks of an artifact before it uses a byte of it. Pure.

#include <string>

#include "common/base/status.h"
#include "hub/artifact/exchange.h"
#include "hub/artifact/reference.h"

namespace odyssey::artifact {

// The subjects of the errors: "hub returned …", "hub response missing …".
struct Sender {
  const char* has;
  const char* missing;
};
inline constexpr Sender kHub = {"hub returned", "hub response missing"};
inline constexpr Sender kPublisher = {"publish request has", "publish request is missing"};

// The manifest has `digest`, config and layers are those of the manifest, each once, and the config
// names `version`. Returns what the bundle is. INVALID_ARGUMENT otherwise.
Result<oci::Config> CheckArtifact(const Sender& sender, const Artifact& artifact,
                                  const std::string& digest, const std::string& version);

// … and it is what was asked for, by digest, namespace, id and version.
Result<oci::Config> CheckPulled(const package::Reference& asked, const Pulled& pulled);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_VERIFY_H_
