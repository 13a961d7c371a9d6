#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_PROGRESS_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_PROGRESS_H_

// What a person sees of a build, on stderr: which step it is at, and above that the output of
// commands. On a terminal the step is a status line; elsewhere a line of its own.

#include <string>
#include <string_view>

#include "ctl/base/console.h"
#include "ctl/base/status_line.h"
#include "ctl/base/terminal_filter.h"

namespace odyssey::ctl {

class BuildProgress final {
 public:
  // `console` outlives it.
  explicit BuildProgress(const Console& console) : console_(console), line_(console) {}

  void Step(size_t step, size_t steps, const std::string& text);
  // Of a command: hostile. An error: the reader is gone.
  Status Output(std::string_view bytes);
  // Between commands: the next thing begins on a line of its own.
  void EndOutput();
  // A whole line, safe to print.
  void Note(const std::string& text);
  void Done() { line_.Erase(); }

 private:
  Status Write(std::string_view bytes);

  const Console& console_;
  StatusLine line_;
  std::string step_;
  TerminalFilter filter_;
  bool at_line_start_ = true;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_PROGRESS_H_
