#ifndef ODYSSEY_POLICY_DIALECT_BUNDLE_TREE_H_
#define ODYSSEY_POLICY_DIALECT_BUNDLE_TREE_H_

// What the directory of a bundle may hold: a session has a copy of all of it.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "policy/dialect/problem.h"
#include "policy/dialect/project_root.h"

namespace odyssey::dialect {

inline constexpr size_t kMaxBundleEntries = 16'384;
inline constexpr uint64_t kMaxBundleFileBytes = 256 * 1024 * 1024;
inline constexpr uint64_t kMaxBundleBytes = 256 * 1024 * 1024;
inline constexpr int kMaxBundleDepth = 32;

// Where the host directories that a manifest mounts appear; a bundle must not have one itself.
inline constexpr char kMountDirectory[] = "mount";
// What an installed bundle's OCI layout is in.
inline constexpr char kMetadataDirectory[] = ".odyssey";

// An entry of a directory `depth` levels below the bundle's.
struct BundleEntry {
  std::string path;  // of it, as it is shown
  std::string name;
  int depth = 0;
};

// Whether it is left out of the copy: `.odyssey` of the bundle's own directory.
bool IsLeftOut(const BundleEntry& entry);

// INVALID_ARGUMENT naming the entry: its name is not UTF-8, or reserved; it is neither a regular
// file nor a directory.
Status CheckBundleName(const BundleEntry& entry);
Status CheckBundleKind(const BundleEntry& entry, mode_t mode);

// What is counted of a bundle while its tree is walked. INVALID_ARGUMENT names the entry with which
// there is too much.
class BundleCount final {
 public:
  Status AddEntry(const std::string& path);
  Status AddFile(const std::string& path, uint64_t bytes);

 private:
  size_t entries_ = 0;
  uint64_t bytes_ = 0;
};
// Of a directory, `depth` levels below the bundle's.
Status CheckBundleDepth(const std::string& path, int depth);
// "bundle entry PATH: a bundle has at most LIMIT".
Status TooLargeForBundle(const std::string& path, const std::string& limit);

// Every entry because of which no copy is made of the directory, by path; too many entries end the
// search. Follows no link but to the directory itself, and opens directories alone.
Problems CheckBundleTree(const std::string& directory, const DirectoryOpener& open = nullptr);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_BUNDLE_TREE_H_
