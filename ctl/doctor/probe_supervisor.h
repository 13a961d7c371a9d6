#ifndef ODYSSEY_CTL_DOCTOR_PROBE_SUPERVISOR_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_SUPERVISOR_H_

// A supervisor for `doctor --probe` where none runs: started as a careless person might, with a
// canary in its environment and one among its descriptors, for cells not to find.

#include <memory>
#include <string>

#include "common/base/status.h"
#include "ctl/daemon/daemon_monitor.h"

namespace odyssey::ctl {

class ProbeSupervisor final {
 public:
  // On state and sockets in `directory`. `variable` ("NAME=value") is in its environment, and
  // `open_file` open in it. Returns when it serves. Caller must be single-threaded; runs as root.
  static Result<std::unique_ptr<ProbeSupervisor>> Start(const std::string& directory,
                                                        const std::string& variable,
                                                        const std::string& open_file);
  // Stops it.
  ~ProbeSupervisor();
  ProbeSupervisor(const ProbeSupervisor&) = delete;
  ProbeSupervisor& operator=(const ProbeSupervisor&) = delete;

  std::string socket() const { return directory_ + "/run/supervisor.sock"; }
  std::string state() const { return directory_ + "/state"; }

 private:
  ProbeSupervisor(std::string directory, DaemonSpec spec);

  const std::string directory_;
  std::string log_;  // what it said, for when it does not start
  DaemonMonitor monitor_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_SUPERVISOR_H_
