#include "ctl/base/signal_fd.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/status.h"

namespace odyssey::ctl {

UniqueFd MakeSignalFd(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  ODY_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ODY_CHECK(static_cast<bool>(fd));
  return fd;
}

int TakeSignal(int fd) {
  signalfd_siginfo info;
  if (read(fd, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return 0;
  return static_cast<int>(info.ssi_signo);
}

int PendingSignal(const std::vector<int>& signals) {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  for (const int signal : signals) {
    if (sigismember(&pending, signal) == 1) return signal;
  }
  return 0;
}

}  // namespace odyssey::ctl
