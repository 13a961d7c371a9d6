#ifndef ODYSSEY_SUPERVISOR_RPC_OUTCOME_H_
#define ODYSSEY_SUPERVISOR_RPC_OUTCOME_H_

// How a command ended, and what it took. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {

struct Outcome {
  v1::ExecOutcome sent;                 // to the client
  uint64_t pids_refused = 0;            // processes that the cell's limit did not let start
  bool never_forked = false;            // the command's own was one of these
  uint32_t pid = 0;                     // of the command, in its slot; 0: not known
  std::optional<uint64_t> launch_usec;  // from the request to the slot; unset: it had none
  std::vector<cell::RefusedCall> refused_calls;
  uint64_t refused_more = 0;      // calls beyond these
  std::vector<std::string> full;  // cell::ExecExited::full
};

// Why rpc ended the command.
enum class Stopped { kNo, kTimedOut, kCancelled };

// What is known of a command when no process of it is left.
struct ExecFacts {
  Stopped stopped = Stopped::kNo;
  bool had_slot = false;
  bool killed = false;                       // rpc sent SIGKILL
  std::optional<cell::ExecExited> exited;    // unset: its process ended without a report
  std::optional<cell::ExecError> failed;     // execve, or a step before it
  std::string not_started;                   // why rpc could not hand it to a slot
  std::optional<Status> cell_ended;          // with the command in it; ABORTED: out of memory
  uint64_t oom_kills = 0, pids_refused = 0;  // counted by the kernel for the cell meanwhile
  bool never_forked = false;                 // the slot's fork failed with EAGAIN
  uint64_t duration_usec = 0;
  uint32_t wall_clock_ms = 0;
  std::string cwd;
};

// Without what the output streams know.
Outcome MakeOutcome(const ExecFacts& facts);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_OUTCOME_H_
