#ifndef ODYSSEY_AGENTD_TOOL_TOOL_H_
#define ODYSSEY_AGENTD_TOOL_TOOL_H_

// One tool that models may call.

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agentd/job/jobs.h"
#include "agentd/model/model_client.h"
#include "agentd/sandbox/sandbox.h"
#include "agentd/tool/grant_arguments.h"
#include "agentd/tool/refused_destinations.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"
#include "policy/dialect/bundle.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::tools {

class IgnoredPaths;

// The workspace, in every cell; on the host it is a directory of the host's.
inline constexpr char kWorkspace[] = "/workspace";

// What runs a command line: bash where the cell has it.
inline constexpr char kPlainShell[] = "sh";
inline constexpr char kBashShell[] = "bash";

// What a tool works with, during one call.
struct ToolContext {
  sandbox::Sandbox* sandbox = nullptr;
  std::string cell_id;
  std::string turn_id;
  std::string tool_call_id;
  uint32_t wall_clock_ms = 60'000;        // of a command, within the operator's bound
  uint64_t output_cap_bytes = 64 * 1024;  // kept of each stream of a command
  bool keep_output = true;  // what is cut of it stays in the cell; there is none on the host itself
  std::string workspace = kWorkspace;
  std::string shell = kPlainShell;  // what runs a command line
  std::stop_token stop;
  std::function<Status(agent::v1::Event)> emit;  // records an event that is not waited for
  // Where the call's path leads, absolute and without links, if a symbolic link is in it and the
  // rules have judged that too; empty: the path is the arguments'.
  std::string leads_to;
  IgnoredPaths* ignored = nullptr;  // null: no path is
  // Which paths results leave out, since the model may not read them; may be empty.
  std::function<bool(const std::string& path)> is_hidden;
  const dialect::Bundle* bundle = nullptr;  // the installed one, whose skills are loaded
  const job::JobScope* jobs = nullptr;      // null: nothing runs in the background
};

struct ToolResult {
  std::string json;  // an object; on failure it has the key "error"
  bool success = true;
  std::vector<RefusedDestination> refused = {};  // of a command that has ended
  friend bool operator==(const ToolResult&, const ToolResult&) = default;
};

// A call that the session runs as a turn of another agent, instead of the tool.
struct WorkerCall {
  std::string worker;                    // id of the agent
  std::string input;                     // its prompt
  std::vector<std::string> attachments;  // paths in the caller's cell
};

class Tool {
 public:
  virtual ~Tool() = default;

  // Name, description and the schema of the arguments.
  virtual model::ToolSpec Spec() const = 0;

  // The call in the terms of the rules. INVALID_ARGUMENT: the arguments are wrong; such a call is
  // neither asked for nor run.
  virtual Result<rules::ToolCall> ForRules(const std::string& arguments_json) const = 0;

  // Where it would run. `arguments_json` has passed ForRules.
  virtual std::string WorkingDirectory(const std::string& arguments_json,
                                       const std::string& workspace) const;

  // What the call would change in a file of the cell, as a unified diff; "" if it writes none, or
  // if that cannot be told. For a person who is asked. `arguments_json` has passed ForRules;
  // `context` needs no more than the sandbox, the cell, the workspace and `leads_to`.
  virtual std::string Preview(const std::string& arguments_json, const ToolContext& context) const;

  // Nothing: Run runs the call. `arguments_json` has passed ForRules.
  virtual std::optional<WorkerCall> AsWorkerCall(const std::string& arguments_json) const;

  // What the call asks for beyond the session's cell. `arguments_json` has passed ForRules.
  virtual GrantRequest GrantsOf(const std::string& arguments_json) const;

  // Runs the call. `arguments_json` has passed ForRules. The error of sandbox::LeadsTo: nothing was
  // done, since the path has a link. Any other error ends the turn (see README).
  virtual Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const = 0;
};

inline std::string Tool::WorkingDirectory(const std::string&, const std::string& workspace) const {
  return workspace;
}

inline GrantRequest Tool::GrantsOf(const std::string&) const { return {}; }

inline std::optional<WorkerCall> Tool::AsWorkerCall(const std::string&) const {
  return std::nullopt;
}

inline std::string Tool::Preview(const std::string&, const ToolContext&) const { return ""; }

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_TOOL_H_
