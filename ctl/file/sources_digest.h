#ifndef ODYSSEY_CTL_FILE_SOURCES_DIGEST_H_
#define ODYSSEY_CTL_FILE_SOURCES_DIGEST_H_

#include <string>

#include "ctl/file/named_place.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// PrepareCellRequest.sources_digest: differs if another directory has the name of the workspace or
// of a mount's source. What the caller cannot see counts as the same. Hex.
std::string SourcesDigest(const policy::SandboxRequest& request, NamedPlaces* places);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_SOURCES_DIGEST_H_
