#include "ctl/base/status_line.h"

#include <stdlib.h>
#include <string.h>

#include "common/os/file.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/terminal.h"

namespace odyssey::ctl {
namespace {

constexpr char kEraseLine[] = "\r\x1b[K";
constexpr std::chrono::milliseconds kBetween{100};
constexpr size_t kBarColumns = 20;

bool CanErase() {
  const char* const term = getenv("TERM");
  return term != nullptr && *term != '\0' && strcmp(term, "dumb") != 0;
}

}  // namespace

StatusLine::StatusLine(const Console& console)
    : console_(console), visible_(console.err_is_terminal && !console.json && CanErase()) {}

StatusLine::~StatusLine() { Erase(); }

void StatusLine::Show(std::string_view text) {
  if (!visible_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  // In the last column some terminals begin a new line.
  const size_t columns = CurrentTerminalSize().columns - 1;
  const std::string line = Shorten(Sanitize(text, Lines::kOne), columns);
  (void)WriteAll(console_.err_fd, kEraseLine + Paint(line, Style::kDim, console_.color_err));
}

void StatusLine::Erase() {
  if (!shown_) return;
  shown_ = false;
  next_ = {};
  (void)WriteAll(console_.err_fd, kEraseLine);
}

std::string Fraction(size_t done, size_t all, std::string_view name) {
  const size_t full = all == 0 ? 0 : done * kBarColumns / all;
  return "[" + std::string(full, '#') + std::string(kBarColumns - full, '.') + "] " +
         std::to_string(done) + "/" + std::to_string(all) + "  " + std::string(name);
}

}  // namespace odyssey::ctl
