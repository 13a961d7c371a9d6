#ifndef ODYSSEY_AGENTD_TOOL_JOB_TOOL_H_
#define ODYSSEY_AGENTD_TOOL_JOB_TOOL_H_

#include <memory>
#include <optional>
#include <string>

#include "agentd/tool/tool.h"

namespace odyssey::tools {

// Job: polls, feeds, stops and lists the session's background jobs. Its result is {job_id, state,
// stdout, stderr, stdout_offset, stderr_offset, stdout_dropped?, stderr_dropped?, more?}, of a job
// that has ended with {status_code, outcome, signal?, message?, denials?, ended_processes?}; of
// list {jobs}.
std::unique_ptr<Tool> NewJobTool();

struct JobLine {
  std::string command;
  std::string cwd;        // as the model gave it
  std::string shown_cwd;  // absolute
};

// Bash in the background: starts the job; the result is that of a first poll.
Result<ToolResult> StartJob(const JobLine& line, ToolContext& context);

// The job whose stdin the call of Job writes to; nothing: it writes to none.
std::optional<std::string> FedJob(const std::string& arguments_json);

// What rules say of a call of Job. What is written to the stdin of a job, such as an interpreter,
// may run anything: unless a rule for Job decides, it is judged as the job's command too, which is
// `fed`, and the stricter verdict counts. Pure.
Result<rules::Decision> DecideJobCall(const rules::ToolRules& rules, const rules::ToolCall& call,
                                      const std::optional<rules::ToolCall>& fed);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_JOB_TOOL_H_
