#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "common/base/sha256.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "ctl/backup/backup.h"
#include "ctl/backup/tar_stream.h"
#include "ctl/daemon/up_lock.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

struct Restored {
  uint64_t bytes = 0;
  std::string sha256;
};

// No daemon of the units has the state: agentd locks a file of it.
Status CheckNoAgentd(const StateLayout& layout) {
  const std::string path = layout.agentd_dir + "/lock";
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return OkStatus();
  return FailedPrecondition("odyssey-agentd runs on " + layout.agentd_dir +
                            "; stop the daemons: odyssey-ctl down, or systemctl stop "
                            "odyssey-agentd odyssey-supervisor odyssey-egress");
}

// A start makes these: they hold nothing of an operator's or a user's.
bool IsOfAStart(const std::string& path) {
  return path.ends_with("/agentd/lock") || path.ends_with("/egress/placeholder.key");
}

// Nothing of a user's or an operator's is where the part goes.
Status CheckEmpty(const StateLayout& layout, const BackupPart& part) {
  const std::string path = layout.state + "/" + part.name;
  const auto refused = [](const std::string& found) {
    return FailedPrecondition(found + " exists: restore into an empty --state, or move it away");
  };
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return OkStatus();
  if (!fs::is_directory(status)) return refused(path);
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    const fs::file_status found = it->symlink_status(error);
    if (!fs::is_directory(found) && !IsOfAStart(it->path())) return refused(it->path());
  }
  return error ? ErrnoStatus(error.value(), "read " + path) : OkStatus();
}

// Everything goes below a new directory of root's, which no other user can enter: no link can be in
// the way of a path.
class Extractor final {
 public:
  Extractor(std::string directory, std::vector<BackupPart> parts)
      : directory_(std::move(directory)), parts_(std::move(parts)) {}

  Result<BackupSummary> Extract(int fd) {
    TarReader tar(fd);
    for (;;) {
      ODY_ASSIGN_OR_RETURN(const std::optional<TarEntry> entry, tar.Next());
      if (!entry) return Status(Code::kDataLoss, "the backup has no manifest: it was cut off");
      if (entry->name == kBackupManifest && !entry->directory) {
        ODY_ASSIGN_OR_RETURN(const BackupSummary summary, Verify(*entry, &tar));
        ODY_ASSIGN_OR_RETURN(const std::optional<TarEntry> more, tar.Next());
        return more ? InvalidArgument(more->name + ": it comes after the manifest")
                    : Result<BackupSummary>(summary);
      }
      ODY_RETURN_IF_ERROR(Take(*entry, &tar));
    }
  }

  // Parts that the backup has.
  std::vector<BackupPart> parts() const {
    std::vector<BackupPart> out;
    std::copy_if(parts_.begin(), parts_.end(), std::back_inserter(out), [&](const auto& part) {
      return access((directory_ + "/" + part.name).c_str(), F_OK) == 0;
    });
    return out;
  }

 private:
  Status Take(const TarEntry& entry, TarReader* tar) {
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const BackupPart& each) {
      return IsBelow(entry.name, each.name);
    });
    if (part == parts_.end()) return InvalidArgument(entry.name + ": no part of a backup");
    const std::string path = directory_ + "/" + entry.name;
    const size_t slash = entry.name.rfind('/');
    const std::string way = entry.directory              ? entry.name
                            : slash == std::string::npos ? ""
                                                         : entry.name.substr(0, slash);
    if (!way.empty()) ODY_RETURN_IF_ERROR(MakeWay(way, part->owner));
    const mode_t mode = entry.mode & 0755;  // no others' write, no set-uid
    const UniqueFd fd(open(path.c_str(),
                           entry.directory ? O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                                           : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           0600));
    if (!fd) return ErrnoStatus(errno, "create " + path);
    if (!entry.directory) ODY_RETURN_IF_ERROR(Fill(entry, tar, fd.get()));
    const std::array<timespec, 2> times = {timespec{entry.mtime, 0}, timespec{entry.mtime, 0}};
    if (fchown(fd.get(), part->owner.uid, part->owner.gid) != 0 || fchmod(fd.get(), mode) != 0 ||
        futimens(fd.get(), times.data()) != 0) {
      return ErrnoStatus(errno, "set owner, mode and time of " + path);
    }
    return OkStatus();
  }

  // The directory and those above it. One that the archive names later gets its mode then.
  Status MakeWay(const std::string& name, const Identity& owner) const {
    for (size_t end = name.find('/');; end = name.find('/', end + 1)) {
      const std::string path = directory_ + "/" + name.substr(0, end);
      if (mkdir(path.c_str(), 0700) == 0) {
        if (lchown(path.c_str(), owner.uid, owner.gid) != 0)
          return ErrnoStatus(errno, "chown " + path);
      } else if (errno != EEXIST) {
        return ErrnoStatus(errno, "create " + path);
      }
      if (end == name.npos) return OkStatus();
    }
  }

  Status Fill(const TarEntry& entry, TarReader* tar, int fd) {
    Sha256 digest;
    for (;;) {
      ODY_ASSIGN_OR_RETURN(const std::string bytes, tar->Data());
      if (bytes.empty()) break;
      digest.Update(bytes);
      ODY_RETURN_IF_ERROR(WriteAll(fd, bytes));
    }
    files_[entry.name] = {entry.size, digest.Hex()};
    return OkStatus();
  }

  Result<BackupSummary> Verify(const TarEntry& entry, TarReader* tar) {
    if (entry.size > kMaxManifestBytes) return InvalidArgument("the manifest is too large");
    std::string text;
    for (;;) {
      ODY_ASSIGN_OR_RETURN(const std::string bytes, tar->Data());
      if (bytes.empty()) break;
      text += bytes;
    }
    const Json manifest = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!manifest.is_object() || manifest.value("format", "") != kBackupFormat ||
        !manifest.contains("files") || !manifest["files"].is_array()) {
      return InvalidArgument(std::string("its manifest is not of ") + kBackupFormat);
    }
    BackupSummary summary;
    for (const Json& file : manifest["files"]) {
      const Json* name = Field(file, "name");
      const Json* sha256 = Field(file, "sha256");
      const auto found = name != nullptr && name->is_string()
                             ? files_.find(name->get<std::string>())
                             : files_.end();
      if (found == files_.end())
        return Status(Code::kDataLoss, "a file of the manifest is missing");
      if (sha256 == nullptr || *sha256 != found->second.sha256) {
        return Status(Code::kDataLoss, found->first + ": it is not what was backed up");
      }
      ++summary.files;
      summary.bytes += found->second.bytes;
      const bool session = IsBelow(found->first, "agentd/sessions");
      summary.sessions += session && found->first.ends_with(".json") ? 1 : 0;
      summary.secrets = summary.secrets || IsBelow(found->first, "egress");
      files_.erase(found);
    }
    if (!files_.empty()) {
      return InvalidArgument(files_.begin()->first + ": it is not in the manifest");
    }
    return summary;
  }

  static const Json* Field(const Json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  const std::string directory_;
  const std::vector<BackupPart> parts_;
  std::map<std::string, Restored> files_;
};

// What is in the way was found empty by CheckEmpty.
Status Place(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::remove_all(to, error);
  if (rename(from.c_str(), to.c_str()) != 0)
    return ErrnoStatus(errno, "rename " + from + " to " + to);
  return OkStatus();
}

Result<BackupSummary> ExtractAndPlace(const StateLayout& layout, const std::string& fresh, int fd) {
  const std::vector<BackupPart> parts = BackupParts(ChooseIdentities());
  Extractor extractor(fresh, parts);
  ODY_ASSIGN_OR_RETURN(const BackupSummary summary, extractor.Extract(fd));
  const UniqueFd state(open(layout.state.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!state || syncfs(state.get()) != 0) return ErrnoStatus(errno, "sync " + layout.state);
  for (const BackupPart& part : extractor.parts()) {
    ODY_RETURN_IF_ERROR(Place(fresh + "/" + part.name, layout.state + "/" + part.name));
  }
  if (syncfs(state.get()) != 0) return ErrnoStatus(errno, "sync " + layout.state);
  return summary;
}

}  // namespace

Result<BackupSummary> RestoreBackup(const StateLayout& layout, int fd) {
  const DaemonIdentities ids = ChooseIdentities();
  ODY_RETURN_IF_ERROR(CreateLayout(layout, ids));
  ODY_ASSIGN_OR_RETURN(const UpLock lock, UpLock::Acquire(layout.lock_path));
  ODY_RETURN_IF_ERROR(CheckNoAgentd(layout));
  for (const BackupPart& part : BackupParts(ids)) ODY_RETURN_IF_ERROR(CheckEmpty(layout, part));
  const std::string fresh = layout.state + "/restore.new";
  if (mkdir(fresh.c_str(), 0700) != 0) {
    if (errno != EEXIST) return ErrnoStatus(errno, "create " + fresh);
    return FailedPrecondition(fresh + " is left of a restore that was killed: remove it");
  }
  Result<BackupSummary> summary = ExtractAndPlace(layout, fresh, fd);
  std::error_code error;
  fs::remove_all(fresh, error);
  return summary;
}

}  // namespace odyssey::ctl
