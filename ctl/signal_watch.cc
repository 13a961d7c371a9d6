#include "ctl/signal_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "common/base/status.h"

namespace odyssey::ctl {

SignalWatch::SignalWatch(const std::vector<int>& signals, std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)), stop_(eventfd(0, EFD_CLOEXEC)) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  ODY_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ODY_CHECK(signals_ && stop_);
  thread_ = std::thread([this] { Loop(); });
}

SignalWatch::~SignalWatch() {
  const uint64_t one = 1;
  ODY_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

void SignalWatch::Loop() noexcept {
  pollfd polled[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      on_signal_(static_cast<int>(info.ssi_signo));
    }
  }
}

}  // namespace odyssey::ctl
