#include "ctl/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace odyssey::ctl {

TerminalSize CurrentTerminalSize() {
  for (const int fd : {STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
      return {size.ws_row, size.ws_col};
    }
  }
  return {};
}

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  termios now{};
  if (tcgetattr(fd_, &now) != 0) return;
  termios raw = now;
  cfmakeraw(&raw);
  if (tcsetattr(fd_, TCSADRAIN, &raw) == 0) saved_ = now;
}

RawTerminal::~RawTerminal() {
  if (saved_) tcsetattr(fd_, TCSADRAIN, &*saved_);
}

}  // namespace odyssey::ctl
