#ifndef ODYSSEY_CTL_DAEMON_UP_LOCK_H_
#define ODYSSEY_CTL_DAEMON_UP_LOCK_H_

// One `up` per state directory: an flock on STATE/up.lock, which also holds the pid for people and
// for `down`. The kernel drops the lock when its holder dies, however it dies.

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

// Held until destroyed; the file's content goes with it.
class UpLock final {
 public:
  // ALREADY_EXISTS naming the pid if another process holds it.
  static Result<UpLock> Acquire(const std::string& path);

  UpLock(UpLock&&) = default;
  UpLock& operator=(UpLock&&) = delete;
  ~UpLock();

 private:
  explicit UpLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// The process that holds the lock, as a pidfd that cannot come to mean another process.
struct LockHolder {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// Empty if no process holds it. FAILED_PRECONDITION if a process does that is not the `up` that the
// file names: such a process is never signalled.
Result<std::optional<LockHolder>> FindLockHolder(const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DAEMON_UP_LOCK_H_
