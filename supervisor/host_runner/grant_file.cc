#include "supervisor/host_runner/grant_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>

#include <memory>

#include "common/os/unique_fd.h"

namespace odyssey::host_runner {
namespace {

Status CheckOwner(const std::string& path, const struct stat& info) {
  if (info.st_uid != 0) {
    return PermissionDenied(path + ": belongs to uid " + std::to_string(info.st_uid) +
                            "; it must be root's");
  }
  // Others may add to a sticky directory, but rename nothing of root's in it.
  const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0 || sticky) return OkStatus();
  return PermissionDenied(path + ": writable by its group or by others; it must be root's alone");
}

// Root alone decides what the path leads to: each directory on the way is root's and no link.
Status CheckDirectories(const std::string& path) {
  for (size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
    struct stat info;
    if (lstat(directory.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + directory);
    if (!S_ISDIR(info.st_mode)) return PermissionDenied(directory + ": is no directory");
    ODY_RETURN_IF_ERROR(CheckOwner(directory, info));
  }
  return OkStatus();
}

Result<std::string> ReadBounded(int fd, const std::string& path) {
  std::string text(kMaxGrantBytes + 1, '\0');
  const ssize_t n = read(fd, text.data(), text.size());
  if (n < 0) return ErrnoStatus(errno, "read " + path);
  text.resize(static_cast<size_t>(n));
  return text;
}

}  // namespace

Result<std::vector<std::string>> ReadGrants(const std::string& path) {
  ODY_RETURN_IF_ERROR(CheckDirectories(path));
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return ErrnoStatus(errno, "open " + path);
  struct stat info;
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  if (!S_ISREG(info.st_mode)) return PermissionDenied(path + ": is no regular file");
  ODY_RETURN_IF_ERROR(CheckOwner(path, info));
  ODY_ASSIGN_OR_RETURN(const std::string text, ReadBounded(file.get(), path));
  auto grants = ParseGrants(text);
  if (grants.ok()) return grants;
  return Status(grants.status().code(), path + ": " + grants.status().message());
}

Result<HostUser> FindUser(uid_t uid, const std::string& passwd) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(passwd.c_str(), "re"), fclose);
  if (file == nullptr) return ErrnoStatus(errno, "open " + passwd);
  while (const struct passwd* entry = fgetpwent(file.get())) {
    if (entry->pw_uid == uid) return HostUser{uid, entry->pw_gid, entry->pw_name};
  }
  return NotFound("uid " + std::to_string(uid) + ": no such user in " + passwd);
}

}  // namespace odyssey::host_runner
