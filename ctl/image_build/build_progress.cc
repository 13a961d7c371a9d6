#include "ctl/image_build/build_progress.h"

#include "common/os/file.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {

void BuildProgress::Step(size_t step, size_t steps, const std::string& text) {
  step_ =
      "[" + std::to_string(step) + "/" + std::to_string(steps) + "] " + Sanitize(text, Lines::kOne);
  if (line_.visible()) {
    line_.Show(step_);
  } else if (!console_.json) {
    console_.Warn(step_);
  }
}

Status BuildProgress::Write(std::string_view bytes) {
  if (bytes.empty()) return OkStatus();
  line_.Erase();
  at_line_start_ = bytes.ends_with('\n');
  ODY_RETURN_IF_ERROR(WriteAll(console_.err_fd, bytes));
  if (at_line_start_) line_.Show(step_);
  return OkStatus();
}

Status BuildProgress::Output(std::string_view bytes) {
  return Write(console_.err_is_terminal ? filter_.Pass(bytes) : std::string(bytes));
}

void BuildProgress::EndOutput() {
  if (console_.err_is_terminal) (void)Write(filter_.Finish());
  filter_ = {};
  if (!at_line_start_) (void)Write("\n");
}

void BuildProgress::Note(const std::string& text) {
  line_.Erase();
  console_.Warn(text);
  line_.Show(step_);
}

}  // namespace odyssey::ctl
