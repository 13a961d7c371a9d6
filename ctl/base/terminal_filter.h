#ifndef ODYSSEY_CTL_BASE_TERMINAL_FILTER_H_
#define ODYSSEY_CTL_BASE_TERMINAL_FILTER_H_

// What a command writes to a terminal that is the user's own, not one made for it (`--tty`): its
// text, colours and progress bars, and nothing that the terminal would act on (sanitize.h says
// why). Pure; one for each stream, since a sequence may be cut anywhere.

#include <string>
#include <string_view>

namespace odyssey::ctl {

class TerminalFilter final {
 public:
  // Newline, tab, CR, backspace, "ESC [ … m" (colour) and "ESC [ … K" (clear the line) pass as they
  // are; other controls and bytes that are not UTF-8 become visible escapes. What may be the
  // beginning of something longer waits for the rest.
  std::string Pass(std::string_view bytes);

  // What waits, and an end to the colours, which could hide what others write after it.
  std::string Finish();

 private:
  std::string held_;
  bool styled_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_TERMINAL_FILTER_H_
