#ifndef ODYSSEY_AGENTD_TOOL_BASH_TOOL_H_
#define ODYSSEY_AGENTD_TOOL_BASH_TOOL_H_

#include <memory>
#include <string>

#include "agentd/tool/tool.h"

namespace odyssey::tools {

// Bash: `bash -lc COMMAND`, or with sh, in the cell. Its result is {status_code, outcome, signal?,
// stdout, stderr, stdout_truncated, stderr_truncated, full_stdout?, full_stderr?,
// ended_processes?}; exec_command_* events go out while the command runs. In the background it is a
// job (job_tool.h).
std::unique_ptr<Tool> NewBashTool();

// The description of Bash in a session, with what its shell does not have.
std::string DescribeShell(const std::string& shell);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_BASH_TOOL_H_
