#include "supervisor/cell_guard/change_lock.h"

#include <errno.h>
#include <sys/file.h>
#include <time.h>

namespace odyssey::cell_guard {
namespace {

constexpr long kBetweenTriesNs = 100'000;  // a change takes tens of microseconds
constexpr int kTries = 5'000;

// 0, or the errno. Not by waiting in the kernel, which has no limit.
int LockSoon(int directory) {
  for (int tries = 0; tries < kTries; ++tries) {
    if (flock(directory, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK) return errno;
    const timespec pause{0, kBetweenTriesNs};
    nanosleep(&pause, nullptr);
  }
  return EBUSY;
}

}  // namespace

ChangeLock::ChangeLock(const std::vector<UniqueFd>& directories) : directories_(directories) {
  while (error_ == 0 && locked_ < directories_.size()) {
    error_ = LockSoon(directories_[locked_].get());
    if (error_ == 0) ++locked_;
  }
}

ChangeLock::~ChangeLock() {
  while (locked_ > 0) flock(directories_[--locked_].get(), LOCK_UN);
}

}  // namespace odyssey::cell_guard
