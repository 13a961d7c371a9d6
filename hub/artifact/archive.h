#ifndef ODYSSEY_HUB_ARTIFACT_ARCHIVE_H_
#define ODYSSEY_HUB_ARTIFACT_ARCHIVE_H_

// The `.odyssey` archive of a bundle: oci-layout, index.json and blobs/sha256/HEX, sorted. Pure.

#include <string>
#include <string_view>

#include "hub/artifact/artifact.h"

namespace odyssey::artifact {

// INVALID_ARGUMENT "invalid bundle: …": a malformed archive, or a blob with another digest.
Result<Artifact> ReadArchive(std::string_view archive);
// The digests of the blobs were checked.
Result<std::string> WriteArchive(const Artifact& artifact);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_ARCHIVE_H_
