#ifndef ODYSSEY_CTL_BASE_LINE_READER_H_
#define ODYSSEY_CTL_BASE_LINE_READER_H_

// Lines that a person types in answer to questions.

#include <optional>
#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::ctl {

class LineReader final {
 public:
  // Borrows `fd`. Blocks SIGINT, SIGTERM, SIGQUIT and SIGHUP in this thread, for good. Drops what
  // was typed before: it is no answer.
  explicit LineReader(int fd);

  // Without the line feed. Nothing: the input has ended, or one of the signals came.
  std::optional<std::string> Read();

 private:
  const int fd_;
  const UniqueFd signals_;
  std::string typed_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_LINE_READER_H_
