#ifndef ODYSSEY_CTL_DOCTOR_PROBE_EXEC_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_EXEC_H_

// Commands in a cell, without a terminal: their output is kept.

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/doctor/probe_interrupt.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

// Where the commands run.
struct ProbeCalls {
  const supervisor::v1::SupervisorStub& stub;
  ProbeInterrupt* interrupt;
};

struct ProbeExecResult {
  Status status;
  supervisor::v1::ExecOutcome outcome;
  std::string out;
  std::string err;
};

// Runs a command to its end; 0: as long as the cell lets it.
ProbeExecResult RunProbeExec(const ProbeCalls& calls, const std::string& cell_id,
                             const std::vector<std::string>& argv, uint32_t wall_clock_ms = 0);

// A command that stays until this is destroyed.
class LingeringExec final {
 public:
  // Returns when it has said "ready".
  static Result<std::unique_ptr<LingeringExec>> Start(const ProbeCalls& calls,
                                                      const std::string& cell_id,
                                                      const std::vector<std::string>& argv);

 private:
  using Stream = rpc::Stream<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>;
  explicit LingeringExec(Stream stream) : stream_(std::move(stream)) {}

  Stream stream_;  // cancelled when it goes
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_EXEC_H_
