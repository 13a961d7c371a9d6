#ifndef ODYSSEY_AGENTD_DAEMON_APPROVAL_COMMAND_H_
#define ODYSSEY_AGENTD_DAEMON_APPROVAL_COMMAND_H_

// A command of the operator's that reads a request for approval on stdin and prints its answer.

#include <memory>
#include <string>

#include "agentd/daemon/approval_answerer.h"
#include "common/base/status.h"

namespace odyssey::daemon {

// A file that may be executed. INVALID_ARGUMENT: it is none.
Status CheckApprovalCommand(const std::string& path);

// Each run is a process group of its own with the question on stdin (approval/command_answer.h), an
// environment of PATH and LANG, and no other descriptor of agentd's. It is killed when the run
// ends. The process is to ignore SIGPIPE.
std::unique_ptr<AnswerTransport> NewApprovalCommand(std::string path);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_APPROVAL_COMMAND_H_
