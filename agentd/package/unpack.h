#ifndef ODYSSEY_AGENTD_PACKAGE_UNPACK_H_
#define ODYSSEY_AGENTD_PACKAGE_UNPACK_H_

// An OCI layout → the files of the bundle. Does file I/O.

#include <string>

#include "agentd/package/layout_directory.h"
#include "common/base/status.h"

namespace odyssey::package {

// Makes `tree`, which must not exist, with the files of the layers and the manifest. Executable are
// the files that the manifest's annotation names; without it those of sandbox.permissions.
// filesystem.exec. What is written is synced. On failure `tree` may be partly there.
Status UnpackBundle(const LayoutDirectory& layout, const Parts& parts, const std::string& tree);

// DATA_LOSS: the files of `tree` are not what UnpackBundle made.
Status VerifyTree(const LayoutDirectory& layout, const Parts& parts, const std::string& tree);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_UNPACK_H_
