#ifndef ODYSSEY_AGENTD_BUNDLE_BUNDLE_TREE_H_
#define ODYSSEY_AGENTD_BUNDLE_BUNDLE_TREE_H_

// The files of a bundle directory. Does file I/O.

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::bundle {

struct BundleFile {
  std::string path;  // relative, with "/"
  bool executable = false;
  friend bool operator==(const BundleFile&, const BundleFile&) = default;
};

// Copies regular files and directories of `source` into `destination`, which must not exist, and
// syncs them. Leaves out `.odyssey`. INVALID_ARGUMENT naming the entry: whatever
// policy/dialect/bundle_tree.h refuses. On failure `destination` may be partly there.
Status CopyBundleTree(const std::string& source, const std::string& destination);

// The files of a copy, sorted by path.
Result<std::vector<BundleFile>> ListBundleFiles(const std::string& directory);

// sha256 over the files of a copy: path, whether executable, content. Hex.
Result<std::string> DigestBundleTree(const std::string& directory);

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_BUNDLE_TREE_H_
