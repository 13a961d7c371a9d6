#ifndef ODYSSEY_AGENTD_PACKAGE_BUNDLE_FILES_H_
#define ODYSSEY_AGENTD_PACKAGE_BUNDLE_FILES_H_

// The files of a bundle directory, which another process may change meanwhile. Does file I/O.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::package {

struct BundleFile {
  std::string path;  // relative, with "/"
  bool executable = false;
  uint64_t bytes = 0;
  friend bool operator==(const BundleFile&, const BundleFile&) = default;
};

// The files of the directory that is open as `directory`, sorted by path. Leaves out `.odyssey`.
// INVALID_ARGUMENT naming the entry, which begins with `shown`: whatever
// policy/dialect/bundle_tree.h refuses.
Result<std::vector<BundleFile>> ListBundleFiles(int directory, const std::string& shown);
// Of a tree of the store: without its directory for mounts.
Result<std::vector<BundleFile>> ListTreeFiles(const std::string& tree);

// Opens a listed file. No link is followed, no FIFO waited for. INVALID_ARGUMENT: it has changed.
Result<UniqueFd> OpenBundleFile(int directory, const BundleFile& file, const std::string& shown);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_BUNDLE_FILES_H_
