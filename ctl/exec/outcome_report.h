#ifndef ODYSSEY_CTL_EXEC_OUTCOME_REPORT_H_
#define ODYSSEY_CTL_EXEC_OUTCOME_REPORT_H_

// How a command's end becomes the exit code of `exec` and `session exec`. Pure.

#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

struct ExitReport {
  int code = 0;
  std::string message;  // for stderr; empty when the code says it all
  std::string next;     // what to do about it; may be empty
  friend bool operator==(const ExitReport&, const ExitReport&) = default;
};

// `command` is argv[0], for the message. `signal` is the one with which this side cancelled the
// call, 0 if it did not.
ExitReport ReportOutcome(const supervisor::v1::ExecOutcome& outcome, const std::string& command,
                         int signal);

// Of an outcome that has some: "ended with the command: 2 processes that it left running (a, b)".
std::string EndedProcesses(const supervisor::v1::ExecOutcome& outcome);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_OUTCOME_REPORT_H_
