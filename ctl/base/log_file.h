#ifndef ODYSSEY_CTL_BASE_LOG_FILE_H_
#define ODYSSEY_CTL_BASE_LOG_FILE_H_

// The daemons' log under `up --detach`: lines with a time, in at most two files.

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

class LogFile final {
 public:
  static constexpr uint64_t kMaxBytes = 16 * 1024 * 1024;  // then it becomes PATH.1

  static Result<LogFile> Open(const std::string& path);

  // A full disk loses the line, not the daemons.
  void Append(const std::string& line);

 private:
  LogFile(std::string path, UniqueFd fd, uint64_t size);

  std::string path_;
  UniqueFd fd_;
  uint64_t size_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_LOG_FILE_H_
