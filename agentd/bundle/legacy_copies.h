#ifndef ODYSSEY_AGENTD_BUNDLE_LEGACY_COPIES_H_
#define ODYSSEY_AGENTD_BUNDLE_LEGACY_COPIES_H_

// DIR/ID/VERSION-HEX: copies that sessions pinned before there were layouts, whose digest is of
// their own kind. Remove this file when no session record has such a digest. Does file I/O.

#include <memory>
#include <string>

#include "agentd/bundle/bundle_pin.h"
#include "common/base/status.h"

namespace odyssey::bundle {

// Moves every copy to DIR/trees/HEX, where the supervisor lets cells be shown it.
void MoveLegacyCopies(const std::string& directory);

// DATA_LOSS: the content of a moved copy is not what the digest says.
Result<std::shared_ptr<const InstalledBundle>> LoadLegacyCopy(const BundlePin& pin,
                                                              const std::string& tree);

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_LEGACY_COPIES_H_
