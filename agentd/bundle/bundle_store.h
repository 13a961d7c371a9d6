#ifndef ODYSSEY_AGENTD_BUNDLE_BUNDLE_STORE_H_
#define ODYSSEY_AGENTD_BUNDLE_BUNDLE_STORE_H_

// The bundles that agentd keeps (ADR 0045). Thread-safe.
//
//   DIR/installs/NS/ID/VERSION/        an installation: the files, and .odyssey/ with its OCI
//   layout DIR/users/UID/installs/…           those that are for one user alone
//   DIR/blobs/sha256/HEX               every blob of an installation or tree, once
//   DIR/trees/HEX/                     the files without .odyssey, by digest: what cells are shown
//   DIR/imports/staging-…              what is being made; removed at a start
//
// Files and blobs are hard links of one another. Nothing below trees/ and blobs/ ever changes. The
// supervisor shows cells what is below trees/ and nothing else of DIR: no client can name a tree
// whose digest it does not know.

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentd/base/ids.h"
#include "agentd/bundle/bundle_pin.h"
#include "agentd/package/layout_directory.h"
#include "common/base/status.h"

namespace odyssey::bundle {

struct Installation {
  BundlePin pin;
  std::string directory;  // DIR/…/installs/NS/ID/VERSION; empty: only kept for sessions
  uid_t owner = 0;
  bool shared = false;  // for every user
};

// A layout that is being received, in a directory of its own, which it removes.
class Staging final {
 public:
  explicit Staging(std::string directory);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const std::string& directory() const { return directory_; }
  const package::LayoutDirectory& layout() const { return layout_; }

 private:
  friend class BundleStore;
  const std::string directory_;
  package::LayoutDirectory layout_;
};

struct InstallOptions {
  uid_t owner = 0;
  bool force = false;     // replaces another digest
  bool unlisted = false;  // kept for sessions of the owner, not installed
  // Of what must be: empty fields are any. INVALID_ARGUMENT otherwise.
  std::string digest;  // hex
  std::string ns, id, version;
};

class BundleStore final {
 public:
  // The directory must exist. What a crash left in imports/ is removed. `ids` is borrowed.
  // What `self` and root install is for every user.
  BundleStore(std::string directory, agent::IdSource* ids, uid_t self = getuid());

  // For blobs (NewBlob, AddBlob), then SetManifest of the layout, then Install; or for an archive
  // (package::ArchiveReceiver).
  Result<std::unique_ptr<Staging>> NewStaging();
  // Checks what was staged and installs it, whole or not at all. ALREADY_EXISTS: the version is
  // installed with another digest.
  Result<Installation> Install(const Staging& staging, const InstallOptions& options);
  // Packs the directory `source`, which agentd reads, and installs it as "local".
  Result<Installation> Build(const std::string& source, const InstallOptions& options);

  // Of the caller: its own, and those for every user; a name that both have is its own. Root: all.
  // Sorted by namespace, id, version.
  std::vector<Installation> List(uid_t caller) const;
  // NOT_FOUND: "bundle not found: R". A path is INVALID_ARGUMENT.
  Result<Installation> Find(const std::string& reference, uid_t caller) const;
  // The layout of an installation: ReadParts, OpenBlob, WriteArchive.
  Result<package::LayoutDirectory> LayoutOf(const Installation& installation) const;
  // NOT_FOUND, or PERMISSION_DENIED: for every user, and not the caller's.
  Result<Installation> Remove(const std::string& reference, uid_t caller);

  // What a session of `caller` is made of: an absolute path of a directory, or a reference.
  Result<std::shared_ptr<const InstalledBundle>> OpenFor(const std::string& bundle, uid_t caller);
  // What a session pinned. NOT_FOUND, or DATA_LOSS if its files are not what the digest says.
  Result<std::shared_ptr<const InstalledBundle>> Open(const BundlePin& pin);

  // Of the files of what that user installed for itself, and of those `pinned` (digests) that are
  // installed for no other user. A file of several bundles counts with each.
  uint64_t BytesOf(uid_t owner, const std::set<std::string>& pinned);

  // The paths of installations whose metadata cannot be read, and of trees that Open refused;
  // sorted.
  std::vector<std::string> damaged() const;

  // Removes trees and blobs that no installation uses and whose digest `pinned` does not return.
  // What OpenFor or Open returned stays while its caller holds it: a session that is being made
  // must be among the pinned ones before it releases its bundle.
  void CollectGarbage(const std::function<std::set<std::string>()>& pinned);

 private:
  using BundlePtr = std::shared_ptr<const InstalledBundle>;
  struct Root {
    std::string directory;
    uid_t owner;
    bool shared;
  };
  struct Kept {
    Installation installation;
    BundlePtr bundle;
  };

  Root RootOf(uid_t owner) const;
  std::vector<Root> RootsFor(uid_t caller) const;
  std::string TreeOf(const std::string& digest) const;
  Result<Kept> Pack(const std::string& source, const InstallOptions& options);
  Result<Kept> Keep(const Staging& staging, const InstallOptions& options);
  BundlePtr KeepLoaded(const std::string& digest, uid_t owner);
  bool IsUnlisted(const std::string& digest, uid_t caller) const;
  void ForgetUnlisted(const std::string& digest, uid_t caller);
  // With mutex_ held, all below.
  Status KeepBlobs(const package::LayoutDirectory& layout, const package::Parts& parts);
  Result<BundlePtr> KeepTree(const std::string& tree, const InstalledBundle& bundle);
  Status Publish(const std::string& made, const Installation& installation, bool force);
  void AddUnlisted(uid_t owner, const std::string& digest);
  std::vector<Installation> ListLocked(uid_t caller) const;
  Result<Installation> FindLocked(const std::string& reference, uid_t caller) const;
  uint64_t TreeBytes(const std::string& digest);
  Result<package::Parts> PartsOf(const std::string& digest) const;
  Result<BundlePtr> Load(const BundlePin& pin);

  const std::string directory_;
  agent::IdSource* const ids_;
  const uid_t self_;
  mutable std::mutex mutex_;  // of every change below installs/, trees/ and blobs/, too
  // By digest; an entry is dropped with its tree.
  std::map<std::string, BundlePtr> loaded_;
  std::set<std::string> damaged_;  // trees
  // Digests that a user uploaded for its next session, the latest last.
  std::map<uid_t, std::vector<std::string>> unlisted_;
  std::map<std::string, uint64_t> tree_bytes_;  // by digest, as far as they were asked for
};

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_BUNDLE_STORE_H_
