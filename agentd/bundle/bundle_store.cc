#include "agentd/bundle/bundle_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "agentd/bundle/bundle_tree.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/bundle_tree.h"

namespace odyssey::bundle {
namespace {

constexpr char kStagingPrefix[] = ".staging_";

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

Status SyncDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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

// Who names a bundle may reach it where agentd, a user of its own, may not.
Status CheckReachable(const std::string& source) {
  for (size_t slash = source.find('/', 1);; slash = source.find('/', slash + 1)) {
    const bool whole = slash == std::string::npos;
    const std::string directory = source.substr(0, slash);
    const bool open = access(directory.c_str(), whole ? R_OK | X_OK : X_OK) == 0;
    if (!open && errno == EACCES) {
      return PermissionDenied("bundle " + source + ": odyssey-agentd reads it as uid " +
                              std::to_string(getuid()) + ", to whom " + Described(directory) +
                              " is closed; open it, with chmod o+" + (whole ? "rx " : "x ") +
                              directory + ", or use a copy of the bundle elsewhere");
    }
    if (!open || whole) return OkStatus();  // what else is wrong is told by what reads it
  }
}

}  // namespace

BundleStore::BundleStore(std::string directory, agent::IdSource* ids)
    : directory_(std::move(directory)), ids_(ids) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    if (entry.path().filename().string().rfind(kStagingPrefix, 0) == 0) RemoveTree(entry.path());
  }
}

std::string BundleStore::DirectoryOf(const BundlePin& pin) const {
  return directory_ + "/" + pin.id + "/" + pin.version + "-" + pin.digest;
}

Result<std::shared_ptr<const InstalledBundle>> BundleStore::Install(const std::string& source) {
  if (source.empty() || source.front() != '/') {
    return InvalidArgument("bundle \"" + source + "\": must be an absolute path of a directory");
  }
  const std::string staging = directory_ + "/" + ids_->New(".staging");
  Result<BundlePin> pin = Stage(source, staging);
  Status published = pin.ok() ? Publish(staging, *pin) : pin.status();
  RemoveTree(staging);
  ODY_RETURN_IF_ERROR(published);
  return Open(*pin);
}

// A copy with everything in it, and what it is.
Result<BundlePin> BundleStore::Stage(const std::string& source, const std::string& staging) {
  ODY_RETURN_IF_ERROR(CheckReachable(source));
  // Before the copy, so that problems name the files that a person can edit.
  ODY_RETURN_IF_ERROR(dialect::LoadBundle(source).status());
  ODY_RETURN_IF_ERROR(CopyBundleTree(source, staging));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle spec, dialect::LoadBundle(staging));
  ODY_ASSIGN_OR_RETURN(const std::string digest, DigestBundleTree(staging));
  const std::string mount = staging + "/" + dialect::kMountDirectory;
  if (mkdir(mount.c_str(), 0755) != 0) return ErrnoStatus(errno, "create " + mount);
  ODY_RETURN_IF_ERROR(SyncDirectory(staging));
  return BundlePin{spec.id, spec.version, digest};
}

Status BundleStore::Publish(const std::string& staging, const BundlePin& pin) {
  const std::string target = DirectoryOf(pin);
  const std::string parent = directory_ + "/" + pin.id;
  ODY_RETURN_IF_ERROR(MakeDirectories(parent, 0755));
  if (rename(staging.c_str(), target.c_str()) == 0) return SyncDirectory(parent);
  // There already: by an earlier session, or by one that was just created beside us.
  if (errno == EEXIST || errno == ENOTEMPTY) return OkStatus();
  return ErrnoStatus(errno, "rename bundle copy to " + target);
}

Result<std::shared_ptr<const InstalledBundle>> BundleStore::Open(const BundlePin& pin) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = loaded_.find(pin.digest); it != loaded_.end()) return it->second;
  }
  ODY_ASSIGN_OR_RETURN(std::shared_ptr<const InstalledBundle> bundle, Load(pin));
  std::lock_guard lock(mutex_);
  return loaded_.emplace(pin.digest, std::move(bundle)).first->second;
}

Result<std::shared_ptr<const InstalledBundle>> BundleStore::Load(const BundlePin& pin) {
  const std::string directory = DirectoryOf(pin);
  if (access(directory.c_str(), F_OK) != 0) {
    return NotFound("installed bundle " + pin.id + "@" + pin.version + " (" + pin.digest +
                    ") is not in the store");
  }
  ODY_ASSIGN_OR_RETURN(const std::string digest, DigestBundleTree(directory));
  if (digest != pin.digest) {
    return Status(Code::kDataLoss, "installed bundle " + directory + " was changed: digest " +
                                       digest + ", expected " + pin.digest);
  }
  ODY_ASSIGN_OR_RETURN(dialect::Bundle spec, dialect::LoadBundle(directory));
  dialect::NamePlacesInBundle(&spec);
  return std::make_shared<const InstalledBundle>(InstalledBundle{pin, directory, std::move(spec)});
}

}  // namespace odyssey::bundle
