#include "ctl/file/progress_line.h"

#include <unistd.h>

#include <algorithm>

#include "common/os/file.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

constexpr char kClearLine[] = "\r\x1b[K";
constexpr std::chrono::milliseconds kBetween{200};
constexpr size_t kMostName = 50;  // bytes: a narrow terminal does not break the line

}  // namespace

ProgressLine::~ProgressLine() {
  if (shown_) (void)WriteAll(STDERR_FILENO, kClearLine);
}

CopyProgress ProgressLine::Callback() {
  if (!console_.err_is_terminal) return {};
  return [this](const std::string& name, size_t bytes) { Show(name, bytes); };
}

void ProgressLine::Show(const std::string& name, size_t bytes) {
  bytes_ += bytes;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  const std::string end = name.substr(name.size() - std::min(name.size(), kMostName));
  (void)WriteAll(STDERR_FILENO,
                 kClearLine + FormatSize(bytes_) + "  " + Sanitize(end, Lines::kOne));
}

}  // namespace odyssey::ctl
