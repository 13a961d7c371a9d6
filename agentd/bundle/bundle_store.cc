#include "agentd/bundle/bundle_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agentd/bundle/installed_tree.h"
#include "agentd/bundle/legacy_copies.h"
#include "agentd/package/bundle_files.h"
#include "agentd/package/installation.h"
#include "agentd/package/pack.h"
#include "agentd/package/unpack.h"
#include "common/base/refusal.h"
#include "common/oci/digest.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/bundle_tree.h"

namespace odyssey::bundle {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxUnlisted = 16;  // per user

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Status SyncDirectory(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + path);
  return OkStatus();
}

// "/home/a (mode 0700, of uid 1000)"
std::string Described(const std::string& directory) {
  struct stat info;
  if (stat(directory.c_str(), &info) != 0) return directory;
  char mode[8];
  snprintf(mode, sizeof(mode), "%04o", info.st_mode & 07777u);
  return directory + " (mode " + mode + ", of uid " + std::to_string(info.st_uid) + ")";
}

// The client may reach a directory where agentd, a user of its own, may not, or which a unit hides
// from it (PrivateTmp).
Status CheckReachable(const std::string& source) {
  for (size_t slash = source.find('/', 1);; slash = source.find('/', slash + 1)) {
    const bool whole = slash == std::string::npos;
    const std::string directory = source.substr(0, slash);
    const bool open = access(directory.c_str(), whole ? R_OK | X_OK : X_OK) == 0;
    if (!open && errno == EACCES) {
      return WithHint(
          package::kHintUnreadableBundle,
          PermissionDenied("bundle " + source + ": odyssey-agentd reads it as uid " +
                           std::to_string(getuid()) + ", to which " + Described(directory) +
                           " is closed; open it, with chmod o+" + (whole ? "rx " : "x ") +
                           directory + ", or import its archive"));
    }
    if (!open && errno == ENOENT) {
      return WithHint(package::kHintUnreadableBundle,
                      NotFound("bundle " + source + ": odyssey-agentd finds no " + directory +
                               "; name another directory, or import its archive"));
    }
    if (!open || whole) return OkStatus();  // other faults are reported by what reads it
  }
}

Status CheckAbsolute(const std::string& source) {
  if (!source.empty() && source.front() == '/') return OkStatus();
  return InvalidArgument("bundle \"" + source + "\": must be an absolute path of a directory");
}

// What the client said that it must be.
Status CheckWanted(const package::Parts& parts, const InstallOptions& options) {
  if (!options.digest.empty() && options.digest != parts.manifest_blob.digest) {
    return oci::InvalidBundle("the bundle has digest " + oci::DigestOf(parts.manifest_blob.digest) +
                              ", expected " + oci::DigestOf(options.digest));
  }
  const oci::Config& config = parts.config;
  for (const auto& [label, is, wanted] :
       {std::tuple<const char*, const std::string&, const std::string&>{"namespace", config.ns,
                                                                        options.ns},
        {"id", config.id, options.id},
        {"version", config.version, options.version}}) {
    if (wanted.empty() || wanted == is) continue;
    return oci::InvalidBundle(std::string("bundle ") + label + " is " + is + ", expected " +
                              wanted);
  }
  return OkStatus();
}

BundlePin PinOf(const package::Parts& parts) {
  return {parts.config.id, parts.config.version, parts.manifest_blob.digest, parts.config.ns};
}

std::string PathOf(const BundlePin& pin) {
  return "/installs/" + pin.ns + "/" + pin.id + "/" + pin.version;
}

Status NotFoundBundle(const std::string& reference) {
  return AboutField("bundle", NotFound("bundle not found: " + reference));
}

}  // namespace

std::string RefOf(const BundlePin& pin) { return pin.ns + "/" + pin.id + "@" + pin.version; }

Staging::Staging(std::string directory)
    : directory_(std::move(directory)), layout_(directory_ + "/layout") {}

Staging::~Staging() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

BundleStore::BundleStore(std::string directory, agent::IdSource* ids, uid_t self)
    : directory_(std::move(directory)), ids_(ids), self_(self) {
  std::error_code ignored;
  fs::remove_all(directory_ + "/imports", ignored);
  MoveLegacyCopies(directory_);
}

BundleStore::Root BundleStore::RootOf(uid_t owner) const {
  if (owner == 0 || owner == self_) return {directory_, self_, true};
  return {directory_ + "/users/" + std::to_string(owner), owner, false};
}

// Those of which the caller sees installations, the first ones first.
std::vector<BundleStore::Root> BundleStore::RootsFor(uid_t caller) const {
  std::vector<Root> out;
  if (!RootOf(caller).shared) out.push_back(RootOf(caller));
  out.push_back(RootOf(self_));
  if (caller != 0) return out;
  std::error_code ignored;
  std::set<uid_t> users;
  for (const auto& entry : fs::directory_iterator(directory_ + "/users", ignored)) {
    users.insert(static_cast<uid_t>(strtoul(entry.path().filename().c_str(), nullptr, 10)));
  }
  for (const uid_t user : users) out.push_back(RootOf(user));
  return out;
}

std::string BundleStore::TreeOf(const std::string& digest) const {
  return directory_ + "/trees/" + digest;
}

Result<std::unique_ptr<Staging>> BundleStore::NewStaging() {
  const std::string path = directory_ + "/imports/" + ids_->New("staging");
  ODY_RETURN_IF_ERROR(MakeDirectories(path, 0700));
  auto staging = std::make_unique<Staging>(path);
  ODY_RETURN_IF_ERROR(package::LayoutDirectory::Create(path + "/layout").status());
  return staging;
}

Result<Installation> BundleStore::Install(const Staging& staging, const InstallOptions& options) {
  ODY_ASSIGN_OR_RETURN(const Kept kept, Keep(staging, options));
  return kept.installation;
}

Result<Installation> BundleStore::Build(const std::string& source, const InstallOptions& options) {
  ODY_ASSIGN_OR_RETURN(const Kept kept, Pack(source, options));
  return kept.installation;
}

Result<BundleStore::Kept> BundleStore::Pack(const std::string& source,
                                            const InstallOptions& options) {
  ODY_RETURN_IF_ERROR(CheckAbsolute(source));
  ODY_RETURN_IF_ERROR(CheckReachable(source));
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<Staging> staging, NewStaging());
  ODY_RETURN_IF_ERROR(
      package::PackBundle(source, package::kLocalNamespace, staging->layout()).status());
  return Keep(*staging, options);
}

// The parts that take long are made in the staging directory; what is published is renamed or
// linked, under the lock.
Result<BundleStore::Kept> BundleStore::Keep(const Staging& staging, const InstallOptions& options) {
  ODY_ASSIGN_OR_RETURN(const package::Parts parts, staging.layout().ReadParts());
  ODY_RETURN_IF_ERROR(CheckWanted(parts, options));
  Kept out;
  out.installation = {PinOf(parts), "", options.owner, false};
  const BundlePin& pin = out.installation.pin;
  if (options.unlisted && (out.bundle = KeepLoaded(pin.digest, options.owner))) return out;
  const std::string tree = staging.directory() + "/tree";
  ODY_RETURN_IF_ERROR(package::UnpackBundle(staging.layout(), parts, tree));
  ODY_ASSIGN_OR_RETURN(out.bundle, LoadTree(pin, tree));
  const std::string installed = staging.directory() + "/install";
  if (!options.unlisted) {
    ODY_RETURN_IF_ERROR(package::LinkTree(tree, installed));
    ODY_RETURN_IF_ERROR(package::AddMetadata(staging.layout(), parts, installed));
  }
  ODY_RETURN_IF_ERROR(MakeMountPoint(tree));

  std::lock_guard lock(mutex_);
  ODY_RETURN_IF_ERROR(KeepBlobs(staging.layout(), parts));
  ODY_ASSIGN_OR_RETURN(out.bundle, KeepTree(tree, *out.bundle));
  if (options.unlisted) {
    AddUnlisted(options.owner, pin.digest);
    return out;
  }
  const Root root = RootOf(options.owner);
  out.installation.owner = root.owner;
  out.installation.shared = root.shared;
  out.installation.directory = root.directory + PathOf(pin);
  ODY_RETURN_IF_ERROR(Publish(installed, out.installation, options.force));
  return out;
}

// Caller holds mutex_.
Status BundleStore::KeepBlobs(const package::LayoutDirectory& layout, const package::Parts& parts) {
  ODY_RETURN_IF_ERROR(MakeDirectories(directory_ + "/" + oci::kBlobDirectory, 0755));
  const package::LayoutDirectory own(directory_);
  for (const std::string& hex : package::BlobsOf(parts)) {
    const std::string to = own.BlobPath(hex);
    const std::string from = layout.BlobPath(hex);
    if (link(from.c_str(), to.c_str()) == 0) continue;
    // The one that is there may be damaged; that of the staging directory was checked.
    if (errno != EEXIST || rename(from.c_str(), to.c_str()) != 0) {
      return ErrnoStatus(errno, "link " + to);
    }
  }
  return SyncDirectory(directory_ + "/" + oci::kBlobDirectory);
}

// The bundle, if it is in use already; it needs no second tree.
BundleStore::BundlePtr BundleStore::KeepLoaded(const std::string& digest, uid_t owner) {
  std::lock_guard lock(mutex_);
  const auto it = loaded_.find(digest);
  if (it == loaded_.end()) return nullptr;
  AddUnlisted(owner, digest);
  return it->second;
}

// Moves the tree to its place, unless it is there. Caller holds mutex_.
Result<BundleStore::BundlePtr> BundleStore::KeepTree(const std::string& tree,
                                                     const InstalledBundle& bundle) {
  if (const auto it = loaded_.find(bundle.pin.digest); it != loaded_.end()) return it->second;
  const std::string to = TreeOf(bundle.pin.digest);
  ODY_RETURN_IF_ERROR(MakeDirectories(directory_ + "/trees", 0755));
  if (rename(tree.c_str(), to.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY) return ErrnoStatus(errno, "rename to " + to);
    // Of an earlier start; a cell may show it.
    if (const Result<BundlePtr> there = Load(bundle.pin); there.ok()) {
      damaged_.erase(to);
      return loaded_[bundle.pin.digest] = *there;
    }
    if (renameat2(AT_FDCWD, tree.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
      return ErrnoStatus(errno, "exchange with " + to);
    }
    damaged_.erase(to);
  }
  ODY_RETURN_IF_ERROR(SyncDirectory(directory_ + "/trees"));
  InstalledBundle moved = bundle;
  moved.directory = to;
  moved.spec.directory = to;
  moved.spec.manifest_path =
      to + bundle.spec.manifest_path.substr(bundle.spec.manifest_path.rfind('/'));
  auto kept = std::make_shared<const InstalledBundle>(std::move(moved));
  loaded_[kept->pin.digest] = kept;
  return BundlePtr(kept);
}

// What is installed stays in its place until the new one, whole, is exchanged for it.
Status BundleStore::Publish(const std::string& made, const Installation& installation, bool force) {
  const std::string& target = installation.directory;
  ODY_RETURN_IF_ERROR(MakeDirectories(target.substr(0, target.rfind('/')), 0755));
  const BundlePin& pin = installation.pin;
  if (!Exists(target)) {
    if (rename(made.c_str(), target.c_str()) != 0) {
      return ErrnoStatus(errno, "rename to " + target);
    }
    return SyncDirectory(target.substr(0, target.rfind('/')));
  }
  const std::optional<BundlePin> there = ReadInstallation(target);
  if (there && *there == pin) return OkStatus();
  if (there && !force) {
    return Refused(Code::kAlreadyExists, "bundle", RefOf(pin),
                   "is installed with digest " + oci::DigestOf(there->digest) + ", not " +
                       oci::DigestOf(pin.digest) + "; force replaces it");
  }
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    return ErrnoStatus(errno, "exchange " + target);
  }
  return SyncDirectory(target.substr(0, target.rfind('/')));
}

// Caller holds mutex_.
void BundleStore::AddUnlisted(uid_t owner, const std::string& digest) {
  std::vector<std::string>& digests = unlisted_[owner];
  std::erase(digests, digest);
  digests.push_back(digest);
  if (digests.size() > kMaxUnlisted) digests.erase(digests.begin());
}

std::vector<Installation> BundleStore::List(uid_t caller) const {
  std::lock_guard lock(mutex_);
  return ListLocked(caller);
}

std::vector<Installation> BundleStore::ListLocked(uid_t caller) const {
  std::vector<Installation> out;
  for (const Root& root : RootsFor(caller)) {
    for (auto& [directory, pin] : ReadInstallations(root.directory + "/installs")) {
      out.push_back({std::move(pin), std::move(directory), root.owner, root.shared});
    }
  }
  const auto before = [](const Installation& a, const Installation& b) {
    if (a.pin.ns != b.pin.ns) return a.pin.ns < b.pin.ns;
    if (a.pin.id != b.pin.id) return a.pin.id < b.pin.id;
    return package::VersionLess(a.pin.version, b.pin.version);
  };
  std::stable_sort(out.begin(), out.end(), before);
  if (caller == 0) return out;
  const auto same = [](const Installation& a, const Installation& b) {
    return a.pin.ns == b.pin.ns && a.pin.id == b.pin.id && a.pin.version == b.pin.version;
  };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

Result<Installation> BundleStore::Find(const std::string& reference, uid_t caller) const {
  std::lock_guard lock(mutex_);
  return FindLocked(reference, caller);
}

Result<Installation> BundleStore::FindLocked(const std::string& reference, uid_t caller) const {
  ODY_ASSIGN_OR_RETURN(const package::Reference wanted, package::ParseReference(reference));
  if (wanted.kind == package::Reference::Kind::kPath) return NotFoundBundle(reference);
  std::optional<Installation> found;
  for (Installation& each : ListLocked(caller)) {
    const BundlePin& pin = each.pin;
    if (!wanted.id.empty() && (pin.ns != wanted.ns || pin.id != wanted.id)) continue;
    if (!wanted.digest.empty() && pin.digest != wanted.digest) continue;
    if (!wanted.version.empty() && pin.version != wanted.version) continue;
    // Sorted by version; of equal ones the caller's own is the first.
    if (found && found->pin.version == pin.version) continue;
    found = std::move(each);
  }
  if (found) return *std::move(found);
  return NotFoundBundle(reference);
}

Result<package::LayoutDirectory> BundleStore::LayoutOf(const Installation& installation) const {
  for (const std::string& below : {std::string("/") + dialect::kMetadataDirectory, std::string()}) {
    const std::string path = installation.directory + below;
    if (Exists(path + "/" + oci::kIndexFile)) return package::LayoutDirectory(path);
  }
  return Status(Code::kDataLoss, installation.directory + " has no OCI layout");
}

Result<Installation> BundleStore::Remove(const std::string& reference, uid_t caller) {
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<Staging> grave, NewStaging());
  std::lock_guard lock(mutex_);
  ODY_ASSIGN_OR_RETURN(Installation found, FindLocked(reference, caller));
  if (caller != 0 && caller != found.owner) {
    return PermissionDenied("bundle " + RefOf(found.pin) +
                            ": it is installed for every user, by root or agentd's own user");
  }
  const std::string to = grave->directory() + "/install";
  if (rename(found.directory.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(errno, "rename " + found.directory);
  }
  std::error_code ignored;  // parents with other bundles stay
  const fs::path parent = fs::path(found.directory).parent_path();
  if (fs::remove(parent, ignored)) fs::remove(parent.parent_path(), ignored);
  return found;
}

Result<BundleStore::BundlePtr> BundleStore::OpenFor(const std::string& bundle, uid_t caller) {
  if (fs::path(bundle).is_absolute()) {
    std::error_code ignored;
    if (fs::is_regular_file(bundle, ignored)) {
      ODY_RETURN_IF_ERROR(package::ParseReference(bundle).status());
    }
    InstallOptions options;
    options.owner = caller;
    options.unlisted = true;
    ODY_ASSIGN_OR_RETURN(const Kept kept, Pack(bundle, options));
    ForgetUnlisted(kept.bundle->pin.digest, caller);
    return kept.bundle;
  }
  const Result<Installation> found = Find(bundle, caller);
  if (found.ok()) return Open(found->pin);
  ODY_ASSIGN_OR_RETURN(const package::Reference wanted, package::ParseReference(bundle));
  if (!IsUnlisted(wanted.digest, caller)) return found.status();
  BundlePin pin;
  pin.digest = wanted.digest;
  ODY_ASSIGN_OR_RETURN(BundlePtr out, Open(pin));
  ForgetUnlisted(wanted.digest, caller);
  return out;
}

bool BundleStore::IsUnlisted(const std::string& digest, uid_t caller) const {
  std::lock_guard lock(mutex_);
  const auto it = unlisted_.find(caller);
  return it != unlisted_.end() &&
         std::find(it->second.begin(), it->second.end(), digest) != it->second.end();
}

void BundleStore::ForgetUnlisted(const std::string& digest, uid_t caller) {
  std::lock_guard lock(mutex_);
  std::erase(unlisted_[caller], digest);
}

Result<BundleStore::BundlePtr> BundleStore::Open(const BundlePin& pin) {
  // Held while its files are compared: nothing is collected meanwhile.
  std::lock_guard lock(mutex_);
  if (const auto it = loaded_.find(pin.digest); it != loaded_.end()) return it->second;
  Result<BundlePtr> bundle = Load(pin);
  if (bundle.status().code() == Code::kDataLoss) damaged_.insert(TreeOf(pin.digest));
  ODY_RETURN_IF_ERROR(bundle.status());
  damaged_.erase(TreeOf(pin.digest));
  return loaded_[pin.digest] = *std::move(bundle);
}

std::vector<std::string> BundleStore::damaged() const {
  std::lock_guard lock(mutex_);
  std::set<std::string> out = damaged_;
  for (const Root& root : RootsFor(0)) {
    for (std::string& path : DamagedInstallations(root.directory + "/installs")) {
      out.insert(std::move(path));
    }
  }
  return {out.begin(), out.end()};
}

Result<package::Parts> BundleStore::PartsOf(const std::string& digest) const {
  const package::LayoutDirectory own(directory_);
  struct stat info;
  if (stat(own.BlobPath(digest).c_str(), &info) != 0) {
    return ErrnoStatus(errno, "stat blob " + digest);
  }
  return own.ReadPartsOf({digest, static_cast<uint64_t>(info.st_size)});
}

Result<BundleStore::BundlePtr> BundleStore::Load(const BundlePin& pin) {
  const std::string tree = TreeOf(pin.digest);
  if (!Exists(tree)) {
    return NotFound("installed bundle " + RefOf(pin) + " (" + pin.digest + ") is not in the store");
  }
  const package::LayoutDirectory own(directory_);
  if (!Exists(own.BlobPath(pin.digest))) return LoadLegacyCopy(pin, tree);
  const Result<package::Parts> parts = PartsOf(pin.digest);
  if (!parts.ok()) {
    return Status(Code::kDataLoss,
                  "installed bundle " + tree + ": its blobs: " + parts.status().message());
  }
  const Status same = package::VerifyTree(own, *parts, tree);
  if (!same.ok()) return Status(Code::kDataLoss, same.message());
  return LoadTree(PinOf(*parts), tree);
}

// Nothing below a tree changes. Caller holds mutex_.
uint64_t BundleStore::TreeBytes(const std::string& digest) {
  const auto known = tree_bytes_.find(digest);
  if (known != tree_bytes_.end()) return known->second;
  const auto files = package::ListTreeFiles(TreeOf(digest));
  if (!files.ok()) return 0;
  uint64_t out = 0;
  for (const package::BundleFile& file : *files) out += file.bytes;
  return tree_bytes_[digest] = out;
}

uint64_t BundleStore::BytesOf(uid_t owner, const std::set<std::string>& pinned) {
  std::lock_guard lock(mutex_);
  std::set<std::string> counted = pinned;
  std::set<std::string> installed;
  for (const Installation& each : ListLocked(owner)) {
    if (each.shared) counted.erase(each.pin.digest);
    if (!each.shared && each.owner == owner) installed.insert(each.pin.digest);
  }
  counted.merge(installed);
  uint64_t out = 0;
  for (const std::string& digest : counted) out += TreeBytes(digest);
  return out;
}

void BundleStore::CollectGarbage(const std::function<std::set<std::string>()>& pinned) {
  std::lock_guard lock(mutex_);
  std::set<std::string> used;
  for (const auto& [digest, bundle] : loaded_) {
    if (bundle.use_count() > 1) used.insert(digest);
  }
  used.merge(pinned());  // after what is held: a session pins before it releases
  for (const Installation& each : ListLocked(0)) used.insert(each.pin.digest);
  for (const auto& [owner, digests] : unlisted_) used.insert(digests.begin(), digests.end());
  std::erase_if(loaded_, [&](const auto& entry) { return used.count(entry.first) == 0; });
  std::erase_if(tree_bytes_, [&](const auto& entry) { return used.count(entry.first) == 0; });
  RemoveUnusedNames(directory_ + "/trees", used);

  std::set<std::string> blobs;
  for (const std::string& digest : used) {
    if (!Exists(package::LayoutDirectory(directory_).BlobPath(digest))) continue;  // a legacy copy
    const Result<package::Parts> parts = PartsOf(digest);
    if (!parts.ok()) return;  // which blobs it needs is not known
    blobs.merge(package::BlobsOf(*parts));
  }
  RemoveUnusedNames(directory_ + "/" + oci::kBlobDirectory, blobs);
}

}  // namespace odyssey::bundle
