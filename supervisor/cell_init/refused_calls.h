#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_CALLS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_CALLS_H_

// The system calls that the commands' filter refuses in a slot, as the kernel tells them to its pid
// 1 (ADR 0023). Each waits until it is answered here, and no refused call is ever let through: the
// answer is EPERM, or for a lower limit of core files, which would change nothing for the better,
// success. What is kept of them is bounded, whatever a command does. The filter tells of calls
// more, which it would allow: those that take memory which no control group counts
// (kernel_memory.h).

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/os/unique_fd.h"
#include "policy/plan/cell_wire.h"
#include "supervisor/cell_init/kernel_memory.h"

struct seccomp_notif;
struct seccomp_notif_resp;

namespace odyssey::cell_init {

class RefusedCalls final {
 public:
  // `listener`: from EnterTellingFilter; none where the filter answers by itself.
  RefusedCalls(UniqueFd listener, KernelMemory memory)
      : listener_(std::move(listener)), memory_(std::move(memory)) {}

  int listener() const { return listener_.get(); }
  // For the child that becomes a command.
  void CloseListener() { listener_.reset(); }

  // Takes, counts and answers one call; to be called when the listener is readable, then it does
  // not block.
  void Answer();

  // Hands over what was counted since the last time.
  void MoveTo(cell::ExecExited* report);
  // The command ends for its unaccepted connections: counted as its refused call of listen(2).
  void CountConnections();
  // No process of the command is left.
  void CommandEnded() { memory_.CommandEnded(); }

 private:
  void Refuse(const seccomp_notif& call, seccomp_notif_resp* answer);
  void Bound(const seccomp_notif& call, seccomp_notif_resp* answer);
  void Count(const seccomp_notif& call);
  std::string CommOf(const seccomp_notif& call) const;

  UniqueFd listener_;
  KernelMemory memory_;
  std::vector<cell::RefusedCall> calls_;  // at most kMaxRefusedCalls
  uint64_t more_ = 0;                     // that found no room
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_CALLS_H_
