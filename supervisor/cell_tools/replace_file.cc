#include "supervisor/cell_tools/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/os/file.h"
#include "supervisor/cell_tools/name_filter.h"
#include "supervisor/cell_tools/read_file.h"

namespace odyssey::cell_tools {
namespace {

// A link that is made while we look at the file is followed in turn: this bounds an adversary.
constexpr int kMaxRetries = 64;

// A file in `directory` that is removed unless it was renamed into place.
class TemporaryFile final {
 public:
  TemporaryFile(int directory, std::string name) : directory_(directory), name_(std::move(name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) unlinkat(directory_, name_.c_str(), 0);
  }

  // Zero, or errno.
  int RenameTo(const std::string& name) {
    if (renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) return errno;
    name_.clear();
    return 0;
  }

 private:
  int directory_;
  std::string name_;
};

std::string TemporaryName() {
  uint64_t random = 0;
  // Cannot fail for so few bytes once the system has booted; O_EXCL catches a repeated name.
  (void)!getrandom(&random, sizeof(random), 0);
  char name[40];
  snprintf(name, sizeof(name), ".odyssey-%016llx.tmp", static_cast<unsigned long long>(random));
  return name;
}

// A mount point cannot be renamed over (EBUSY); a rename would leave other hard links with the old
// content.
bool StaysInPlace(int fd) {
  struct statx info;
  return statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &info) == 0 &&
         (info.stx_nlink > 1 || (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0);
}

Status WriteWhole(int fd, std::string_view bytes, const std::string& absolute) {
  Status status = WriteAll(fd, bytes);
  if (!status.ok()) return {status.code(), status.message() + " (writing " + absolute + ")"};
  return OkStatus();
}

Status OverwriteInPlace(int fd, std::string_view bytes, const std::string& absolute) {
  if (ftruncate(fd, 0) != 0) return AccessError(errno, Access::kWrite, absolute);
  return WriteWhole(fd, bytes, absolute);
}

Status RenameOver(const Location& target, std::string_view bytes, mode_t mode) {
  const int directory = target.directory.get();
  const std::string name = TemporaryName();
  UniqueFd fd(openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     S_IRUSR | S_IWUSR));
  if (!fd) return AccessError(errno, Access::kWrite, target.absolute);
  TemporaryFile temporary(directory, name);
  ODY_RETURN_IF_ERROR(WriteWhole(fd.get(), bytes, target.absolute));
  if (fchmod(fd.get(), mode) != 0) return AccessError(errno, Access::kWrite, target.absolute);
  if (const int error = temporary.RenameTo(target.name); error != 0) {
    return AccessError(error, Access::kWrite, target.absolute);
  }
  return OkStatus();
}

// What is there now under the target's name; nothing for a missing file.
Result<std::optional<struct stat>> LookAt(const Location& target) {
  struct stat info;
  if (fstatat(target.directory.get(), target.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return std::optional<struct stat>(info);
  }
  if (errno == ENOENT) return std::optional<struct stat>();
  return AccessError(errno, Access::kWrite, target.absolute);
}

// The target is a regular file: refused if it could not be opened for writing, although rename
// needs no right on the old file; so a read-only file stays what its owner made it.
Status ReplaceExisting(const Location& target, std::string_view bytes, mode_t old_mode) {
  UniqueFd old(openat(target.directory.get(), target.name.c_str(),
                      O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // ETXTBSY: a running program may be replaced, only not overwritten.
  if (!old && errno != ETXTBSY) return AccessError(errno, Access::kWrite, target.absolute);
  if (old && StaysInPlace(old.get())) return OverwriteInPlace(old.get(), bytes, target.absolute);
  return RenameOver(target, bytes, old_mode & kPermissionBits);
}

}  // namespace

Result<Created> ReplaceFile(const PathResolver& resolver, const VisiblePath& path,
                            std::string_view bytes, mode_t mode, MissingParents missing) {
  for (int i = 0; i < kMaxRetries; ++i) {
    ODY_ASSIGN_OR_RETURN(const Location target, resolver.Locate(path, Access::kWrite, missing));
    const cell::ToolRoot& limits = resolver.LimitsAt(target.absolute);
    ODY_RETURN_IF_ERROR(CheckSuffix(limits, target.name, path.given));
    ODY_RETURN_IF_ERROR(CheckSize(limits, "write", bytes.size(), path.given));
    ODY_ASSIGN_OR_RETURN(const std::optional<struct stat> old, LookAt(target));
    if (!old) {
      ODY_RETURN_IF_ERROR(RenameOver(target, bytes, mode));
      return Created::kYes;
    }
    if (S_ISREG(old->st_mode)) {
      ODY_RETURN_IF_ERROR(ReplaceExisting(target, bytes, old->st_mode));
      return Created::kNo;
    }
    if (S_ISLNK(old->st_mode)) continue;  // made since it was located: again, to follow it
    return FailedPrecondition("path `" + path.given + "` is " +
                              (S_ISDIR(old->st_mode) ? "a directory" : "not a regular file"));
  }
  return AccessError(ELOOP, Access::kWrite, path.absolute);
}

}  // namespace odyssey::cell_tools
