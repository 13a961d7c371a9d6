#ifndef ODYSSEY_CTL_BASE_TERMINAL_H_
#define ODYSSEY_CTL_BASE_TERMINAL_H_

// The person's terminal while a command in a cell has one of its own.

#include <termios.h>

#include <cstdint>
#include <optional>

#include "common/base/status.h"

namespace odyssey::ctl {

struct TerminalSize {
  uint32_t rows = 24;
  uint32_t columns = 80;
};

// Of the terminal on stdout, stdin or stderr; 24 × 80 if none is one.
TerminalSize CurrentTerminalSize();

// Raw from construction to destruction; does nothing if `fd` is no terminal. Every byte a person
// types then goes to the command, Ctrl-C too.
class RawTerminal final {
 public:
  explicit RawTerminal(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  int fd_;
  std::optional<termios> saved_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_TERMINAL_H_
