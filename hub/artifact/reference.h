#ifndef ODYSSEY_HUB_ARTIFACT_REFERENCE_H_
#define ODYSSEY_HUB_ARTIFACT_REFERENCE_H_

// How a person names a bundle of a hub, and which version is later. Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "hub/artifact/artifact.h"

namespace odyssey::artifact {

struct Reference {
  std::string ns, id;
  std::string version;  // empty: the latest
  std::string digest;   // "sha256:HEX"; empty: any
  friend bool operator==(const Reference&, const Reference&) = default;
};

// NS/ID, NS/ID:VERSION, NS/ID@VERSION, NS/ID@latest, NS/ID@sha256:HEX.
Result<Reference> ParsePullReference(const std::string& text);
// NS/ID, NS/ID:VERSION or NS/ID@VERSION.
Result<Reference> ParsePublishTarget(const std::string& text);

// INVALID_ARGUMENT: the target has another id or version than the bundle.
Status CheckTarget(const Reference& target, const Identity& bundle);

// By semantic versioning: numeric parts as numbers, a prerelease before its release.
bool VersionLess(std::string_view a, std::string_view b);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_REFERENCE_H_
