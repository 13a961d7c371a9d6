#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_REQUEST_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_REQUEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "supervisor/rpc/exec.h"

namespace odyssey::supervisor {

// What a client asks to run.
struct ExecSpec {
  std::string cell_id;
  std::string exec_id;
  std::vector<std::string> argv;
  std::string cwd;
  std::map<std::string, std::string> env;
  bool terminal = false;
  uint16_t rows = 0, columns = 0;
  bool open_stdin = false;
  uint32_t wall_clock_ms = 0;
  uint64_t stdout_cap = 0, stderr_cap = 0;
  std::string run_id;  // "": a new one
  bool keep_output = false;
};

// The beginning of a stream is held until it is known whether it will be cut.
inline constexpr uint64_t kMaxCapToKeep = uint64_t{64} << 20;

// The command with its whole environment and its limits. Pure. INVALID_ARGUMENT or
// PERMISSION_DENIED naming the field.
Result<ExecOptions> MakeExecOptions(const compile::Compiled& compiled,
                                    const std::map<std::string, std::string>& cell_env,
                                    const ExecSpec& spec);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_REQUEST_H_
