#ifndef ODYSSEY_CTL_FILE_PROGRESS_LINE_H_
#define ODYSSEY_CTL_FILE_PROGRESS_LINE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "ctl/base/console.h"
#include "ctl/file/file_calls.h"

namespace odyssey::ctl {

// On a terminal one line of stderr, written over and over: which file is copied, and how much in
// all. Elsewhere nothing. Gone with this object.
class ProgressLine final {
 public:
  explicit ProgressLine(const Console& console) : console_(console) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Valid as long as this object.
  CopyProgress Callback();

 private:
  void Show(const std::string& name, size_t bytes);

  const Console& console_;
  uint64_t bytes_ = 0;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_PROGRESS_LINE_H_
