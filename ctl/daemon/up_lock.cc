#include "ctl/daemon/up_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

#include "common/os/file.h"
#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

constexpr uint64_t kMaxPid = 4'194'304;  // PID_MAX_LIMIT of 64-bit kernels

// 0 if the file does not hold a pid.
pid_t ReadPid(int fd) {
  char buffer[32];
  const ssize_t n = pread(fd, buffer, sizeof(buffer), 0);
  if (n <= 1 || buffer[n - 1] != '\n') return 0;
  const Result<uint64_t> pid =
      ParseNumber(std::string_view(buffer, static_cast<size_t>(n - 1)), 1, kMaxPid);
  return pid.ok() ? static_cast<pid_t>(*pid) : 0;
}

bool IsLocked(int fd) {
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
    flock(fd, LOCK_UN);
    return false;
  }
  return true;
}

// Whether the process has that very file open. PERMISSION_DENIED: this user may not look.
Result<bool> HasOpen(pid_t pid, const struct stat& file) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
  if (!dir && errno == EACCES) {
    return PermissionDenied("pid " + std::to_string(pid) + " runs them, and uid " +
                            std::to_string(geteuid()) + " has no rights over it");
  }
  if (!dir) return false;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
    struct stat info;
    if (fstatat(dirfd(dir.get()), entry->d_name, &info, 0) != 0) continue;
    if (info.st_dev == file.st_dev && info.st_ino == file.st_ino) return true;
  }
  return false;
}

}  // namespace

Result<UpLock> UpLock::Acquire(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + path);
    return AlreadyExists("pid " + std::to_string(ReadPid(fd.get())) +
                         " already runs on this state (" + path + ")");
  }
  if (ftruncate(fd.get(), 0) != 0) return ErrnoStatus(errno, "truncate " + path);
  const Status written = WriteAll(fd.get(), std::to_string(getpid()) + "\n");
  if (!written.ok()) return Status(written.code(), written.message() + " (" + path + ")");
  return UpLock(std::move(fd));
}

UpLock::~UpLock() {
  // The file stays: unlinking it would let a third process lock a file that no other process sees.
  if (fd_ && ftruncate(fd_.get(), 0) != 0) fd_.reset();
}

Result<std::optional<LockHolder>> FindLockHolder(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return std::optional<LockHolder>();
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (!IsLocked(fd.get())) return std::optional<LockHolder>();

  LockHolder holder;
  holder.pid = ReadPid(fd.get());
  if (holder.pid == 0) return FailedPrecondition(path + " is locked, but holds no pid");
  // pidfd_open(2): glibc 2.36 has a wrapper only in <sys/pidfd.h>, which clashes with <fcntl.h>.
  holder.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, holder.pid, 0)));
  if (!holder.pidfd) return ErrnoStatus(errno, "open process " + std::to_string(holder.pid));

  struct stat file;
  if (fstat(fd.get(), &file) != 0) return ErrnoStatus(errno, "stat " + path);
  // Asked again after the pidfd exists: if pid, lock and open file still agree, they are one
  // process.
  ODY_ASSIGN_OR_RETURN(const bool open, HasOpen(holder.pid, file));
  if (!open || !IsLocked(fd.get()) || ReadPid(fd.get()) != holder.pid) {
    return FailedPrecondition(path + " names pid " + std::to_string(holder.pid) +
                              ", which does not hold it");
  }
  return std::optional<LockHolder>(std::move(holder));
}

}  // namespace odyssey::ctl
