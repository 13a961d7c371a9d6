#ifndef ODYSSEY_CTL_BASE_CHILD_PROGRAM_H_
#define ODYSSEY_CTL_BASE_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

// Becomes `program`. Returns only if it cannot.
Status ExecuteProgram(const std::string& program, std::vector<std::string> arguments);

// A child that runs `program`, with its standard output on a pipe.
class ChildProgram final {
 public:
  static Result<ChildProgram> Start(const std::string& program, std::vector<std::string> arguments);
  ChildProgram(ChildProgram&& other) noexcept;
  // Kills it, unless it was waited for.
  ~ChildProgram();

  int output() const { return output_.get(); }
  // Its exit code; 128 and the signal that ended it.
  int Wait();

 private:
  ChildProgram(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;  // 0: waited for, or moved from
  UniqueFd output_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_CHILD_PROGRAM_H_
