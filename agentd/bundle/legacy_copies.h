#ifndef ODYSSEY_AGENTD_BUNDLE_LEGACY_COPIES_H_
#define ODYSSEY_AGENTD_BUNDLE_LEGACY_COPIES_H_

// DIR/ID/VERSION-HEX: copies that sessions pinned before there were trees. Remove this file when no
// session record has such a digest. Does file I/O.

#include <memory>
#include <set>
#include <string>

#include "agentd/bundle/bundle_pin.h"
#include "common/base/status.h"

namespace odyssey::bundle {

std::string LegacyCopyOf(const std::string& directory, const BundlePin& pin);

// DATA_LOSS: its content is not what the digest says.
Result<std::shared_ptr<const InstalledBundle>> LoadLegacyCopy(const BundlePin& pin,
                                                              const std::string& copy);

// Removes the copies whose digest is not in `used`.
void RemoveUnusedCopies(const std::string& directory, const std::set<std::string>& used);

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_LEGACY_COPIES_H_
