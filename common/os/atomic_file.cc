#include "common/os/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/os/file.h"

namespace odyssey {
namespace {

Result<UniqueFd> OpenForReplace(const std::string& temporary, unsigned mode) {
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return ErrnoStatus(errno, "create " + temporary);
  return fd;
}

}  // namespace

Status SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + directory);
  return OkStatus();
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, unsigned mode) {
  const std::string temporary = path + kTemporaryInfix + std::to_string(getpid());
  unlink(temporary.c_str());  // left by a crash of a process with our pid
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, OpenForReplace(temporary, mode));
  Status status = WriteAll(fd.get(), bytes);
  if (status.ok() && fsync(fd.get()) != 0) status = ErrnoStatus(errno, "sync");
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "rename");
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return {status.code(), status.message() + " (replacing " + path + ")"};
  }
  return SyncDirectoryOf(path);
}

}  // namespace odyssey
