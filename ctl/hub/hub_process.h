#ifndef ODYSSEY_CTL_HUB_HUB_PROCESS_H_
#define ODYSSEY_CTL_HUB_HUB_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

// Becomes `program`. Returns only if it cannot.
Status ExecuteProgram(const std::string& program, std::vector<std::string> arguments);

// A child that runs `program`, with its standard output on a pipe.
class HubProcess final {
 public:
  static Result<HubProcess> Start(const std::string& program, std::vector<std::string> arguments);
  HubProcess(HubProcess&& other) noexcept;
  // Kills it, unless it was waited for.
  ~HubProcess();

  int output() const { return output_.get(); }
  // Its exit code; 128 and the signal that ended it.
  int Wait();

 private:
  HubProcess(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;  // 0: waited for, or moved from
  UniqueFd output_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_HUB_HUB_PROCESS_H_
