#ifndef ODYSSEY_CTL_TUI_TERMINAL_SCREEN_H_
#define ODYSSEY_CTL_TUI_TERMINAL_SCREEN_H_

// The terminal, by ncurses: frames out, keys in. No other file includes its headers.

#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/tui/frame.h"
#include "ctl/tui/theme.h"
#include "ctl/tui/update.h"

struct screen;  // of ncurses

namespace odyssey::ctl {

class TerminalScreen final {
 public:
  // FAILED_PRECONDITION: why stdin and stdout cannot show a screen.
  static Status Check();
  // Takes stdin and stdout over until it is destroyed; as Check. One at a time.
  static Result<std::unique_ptr<TerminalScreen>> Open();
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  // Sends what differs from what is shown.
  void Show(const Frame& frame, const Theme& theme, bool colors);
  // Sends all of it at the next Show.
  void Forget();
  // What was typed; nothing: no more for now.
  std::optional<Key> ReadKey();
  // After SIGWINCH: how large the terminal is now.
  Resized FitToTerminal();

 private:
  explicit TerminalScreen(screen* curses);

  screen* const curses_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_TUI_TERMINAL_SCREEN_H_
