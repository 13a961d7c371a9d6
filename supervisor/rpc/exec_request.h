#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_REQUEST_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_REQUEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/compile/compile.h"
#include "supervisor/rpc/exec.h"

namespace odyssey::supervisor {

// The beginning of a stream is held until it is known whether it will be cut.
inline constexpr uint64_t kMaxCapToKeep = uint64_t{64} << 20;

// The command with its whole environment and its limits. `start` has passed CheckStart. Pure.
// INVALID_ARGUMENT or PERMISSION_DENIED naming the field.
Result<ExecOptions> MakeExecOptions(const compile::Compiled& compiled,
                                    const std::map<std::string, std::string>& cell_env,
                                    const v1::ExecStart& start);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_REQUEST_H_
