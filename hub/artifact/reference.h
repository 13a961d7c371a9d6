#ifndef ODYSSEY_HUB_ARTIFACT_REFERENCE_H_
#define ODYSSEY_HUB_ARTIFACT_REFERENCE_H_

// How a bundle of a hub is named: as an installed one, with a namespace. Pure.

#include <string>

#include "agentd/package/reference.h"
#include "common/base/status.h"
#include "common/oci/layout.h"

namespace odyssey::artifact {

// NS/ID, NS/ID:VERSION, NS/ID@VERSION, NS/ID@latest, NS/ID@sha256:HEX.
Result<package::Reference> ParsePullReference(const std::string& text);
// NS/ID, NS/ID:VERSION or NS/ID@VERSION.
Result<package::Reference> ParsePublishTarget(const std::string& text);

// INVALID_ARGUMENT: the target has another id or version than the bundle.
Status CheckTarget(const package::Reference& target, const oci::Config& bundle);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_REFERENCE_H_
