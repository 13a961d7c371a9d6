#ifndef ODYSSEY_AGENTD_PACKAGE_PACK_H_
#define ODYSSEY_AGENTD_PACKAGE_PACK_H_

// A bundle directory → its OCI layout. odyssey-ctl links it too. Does file I/O.

#include <string>

#include "agentd/package/layout_directory.h"
#include "common/base/status.h"
#include "policy/dialect/project_root.h"

namespace odyssey::package {

// Packs the bundle in `source` as `ns`/ID:VERSION into `layout`. The same files give the same
// bytes. INVALID_ARGUMENT: the manifest, or an entry of the directory
// (policy/dialect/bundle_tree.h); nothing outside `source` is read.
Result<Parts> PackBundle(const std::string& source, const std::string& ns,
                         const LayoutDirectory& layout,
                         const dialect::DirectoryOpener& open = nullptr);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_PACK_H_
