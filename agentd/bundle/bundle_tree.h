#ifndef ODYSSEY_AGENTD_BUNDLE_BUNDLE_TREE_H_
#define ODYSSEY_AGENTD_BUNDLE_BUNDLE_TREE_H_

// The files of a bundle directory. Does file I/O.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::bundle {

inline constexpr size_t kMaxBundleEntries = 4096;
inline constexpr uint64_t kMaxBundleFileBytes = 8 * 1024 * 1024;  // what one Write carries
inline constexpr uint64_t kMaxBundleBytes = 64 * 1024 * 1024;
inline constexpr int kMaxBundleDepth = 32;

// Where the host directories that a manifest mounts appear; a bundle must not have one itself.
inline constexpr char kMountDirectory[] = "mount";

struct BundleFile {
  std::string path;  // relative, with "/"
  bool executable = false;
  friend bool operator==(const BundleFile&, const BundleFile&) = default;
};

// Copies regular files and directories of `source` into `destination`, which must not exist, and
// syncs them. Leaves out `.odyssey`. INVALID_ARGUMENT naming the entry: a symbolic link, a device
// or socket, a top-level `mount`, or a limit that is exceeded. On failure `destination` may be
// partly there.
Status CopyBundleTree(const std::string& source, const std::string& destination);

// The files of a copy, sorted by path.
Result<std::vector<BundleFile>> ListBundleFiles(const std::string& directory);

// sha256 over the files of a copy: path, whether executable, content. Hex.
Result<std::string> DigestBundleTree(const std::string& directory);

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_BUNDLE_TREE_H_
