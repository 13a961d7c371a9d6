#ifndef ODYSSEY_AGENTD_BUNDLE_BUNDLE_STORE_H_
#define ODYSSEY_AGENTD_BUNDLE_BUNDLE_STORE_H_

// The installed bundles: DIR/ID/VERSION-DIGEST/, whole, so that nobody can make or guess
// another's. Thread-safe.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "agentd/base/ids.h"
#include "common/base/status.h"
#include "policy/dialect/bundle.h"

namespace odyssey::bundle {

// Names one copy for good; what a session's record keeps.
struct BundlePin {
  std::string id, version, digest;
  friend bool operator==(const BundlePin&, const BundlePin&) = default;
};

struct InstalledBundle {
  BundlePin pin;
  std::string directory;  // the copy
  dialect::Bundle spec;   // what it says of places, it says from the bundle's directory
};

class BundleStore final {
 public:
  // The directory must exist; staging directories that a crash left in it are removed. `ids` is
  // borrowed.
  BundleStore(std::string directory, agent::IdSource* ids);

  // Copies and checks the bundle in `source` (absolute). The same content is installed once.
  // INVALID_ARGUMENT: the path, the tree or the manifest.
  Result<std::shared_ptr<const InstalledBundle>> Install(const std::string& source);

  // A copy that Install made, perhaps before a restart. NOT_FOUND, or DATA_LOSS if its content is
  // not what the digest says.
  Result<std::shared_ptr<const InstalledBundle>> Open(const BundlePin& pin);

 private:
  std::string DirectoryOf(const BundlePin& pin) const;
  Result<std::shared_ptr<const InstalledBundle>> Load(const BundlePin& pin);
  Result<BundlePin> Stage(const std::string& source, const std::string& staging);
  Status Publish(const std::string& staging, const BundlePin& pin);

  const std::string directory_;
  agent::IdSource* const ids_;
  std::mutex mutex_;
  // By digest; guarded by mutex_. Entries stay: a bundle's text is small.
  std::map<std::string, std::shared_ptr<const InstalledBundle>> loaded_;
};

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_BUNDLE_STORE_H_
