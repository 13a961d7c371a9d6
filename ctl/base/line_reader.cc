#include "ctl/base/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/status.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kMaxLine = 4096;

UniqueFd OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) sigaddset(&set, signal);
  ODY_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ODY_CHECK(fd);
  return fd;
}

bool TakeSignal(int fd) {
  signalfd_siginfo info;
  return read(fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
}

}  // namespace

LineReader::LineReader(int fd) : fd_(fd), signals_(OpenSignals()) {
  while (TakeSignal(signals_.get())) {
  }
  tcflush(fd_, TCIFLUSH);
}

std::optional<std::string> LineReader::Read() {
  for (;;) {
    const size_t end = typed_.find('\n');
    if (end != std::string::npos || typed_.size() >= kMaxLine) {
      std::string line = typed_.substr(0, end);
      typed_.erase(0, end == std::string::npos ? end : end + 1);
      return line;
    }
    pollfd polled[] = {{fd_, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return std::nullopt;
    if (polled[1].revents != 0) {
      TakeSignal(signals_.get());
      return std::nullopt;
    }
    if (polled[0].revents == 0) continue;
    char bytes[256];
    const ssize_t n = read(fd_, bytes, sizeof(bytes));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return std::nullopt;
    typed_.append(bytes, static_cast<size_t>(n));
  }
}

}  // namespace odyssey::ctl
