#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_DENIALS_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_DENIALS_H_

// What confinement refused to a command or to a file operation, from all that is known at its end.
// Pure.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/explain/denial.h"
#include "supervisor/rpc/exec.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

// Sent of one command; the rest is counted.
inline constexpr size_t kMaxDenialsSent = 16;

// explain::Command::find_program.
using FindProgram = std::function<std::string(const std::string& name)>;

// First what is certain, then hints from `stderr_tail`, if the command failed.
std::vector<explain::Denial> FindDenials(const explain::Cell& cell, const ExecOptions& options,
                                         const Outcome& outcome, std::string_view stderr_tail,
                                         const FindProgram& find_program);

// Why a command with Outcome::never_forked has not started, and what would let it.
std::string DescribeNeverForked(const explain::Cell& cell);

// Of an operation that answered PERMISSION_DENIED: why by the plan, or else in the file worker's
// own words.
explain::Denial FindFileDenial(const explain::Cell& cell, const tool::Request& request,
                               const tool::Response& response);

// The operation's error for the client, with the rule and the grant.
std::string DescribeFileError(const tool::Response& response,
                              const std::optional<explain::Denial>& denial);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_DENIALS_H_
