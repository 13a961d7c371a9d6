#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_CALLS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_CALLS_H_

// The system calls that the commands' filter refuses in a slot, as the kernel notifies its pid 1 of
// them (ADR 0023). Each waits until it is answered here, and no refused call is ever let through:
// the answer is EPERM, or for a lower limit of core files, which would change nothing for the
// better, success. What is kept of them is bounded, whatever a command does. The filter notifies of
// some calls that it would allow: those that take memory which no control group counts
// (kernel_memory.h), and those of a cell without a network that give an address
// (destination.h).

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/os/unique_fd.h"
#include "supervisor/cell_init/kernel_memory.h"
#include "supervisor/cell_init/refused_names.h"
#include "supervisor/cell_init/ways.h"
#include "supervisor/wire/cell_wire.h"

struct seccomp_notif;
struct seccomp_notif_resp;

namespace odyssey::cell_init {

class RefusedCalls final {
 public:
  // `listener`: from EnterNotifyingFilter; none where the filter answers by itself. `names`: of the
  // cell's resolver, if it has one; `ways`: out of the cell. Both are borrowed.
  RefusedCalls(UniqueFd listener, KernelMemory memory, const RefusedNames* names = nullptr,
               const Ways* ways = nullptr)
      : listener_(std::move(listener)), memory_(std::move(memory)), names_(names), ways_(ways) {}

  int listener() const { return listener_.get(); }
  // For the child that becomes a command.
  void CloseListener() { listener_.reset(); }

  // Takes, counts and answers one call; to be called when the listener is readable, then it does
  // not block.
  void Answer();

  // Hands over what was counted since the last time. Of the names all that the resolver refused
  // since the command first sent to it, those of another command that asks meanwhile among them.
  void MoveTo(cell::ExecExited* report);
  // The command ends for its unaccepted connections: counted as its refused call of listen(2).
  void CountConnections();
  // No process of the command is left.
  void CommandEnded() { memory_.CommandEnded(); }

 private:
  void Refuse(const seccomp_notif& call, seccomp_notif_resp* answer);
  void Bound(const seccomp_notif& call, seccomp_notif_resp* answer);
  void Identify(const seccomp_notif& call, const std::string& destination) const;
  void LetConnect(const seccomp_notif& call, seccomp_notif_resp* answer);
  void Count(const seccomp_notif& call, const std::string& destination = "");
  std::string CommOf(const seccomp_notif& call) const;

  UniqueFd listener_;
  KernelMemory memory_;
  std::vector<cell::RefusedCall> calls_;  // at most kMaxRefusedCalls
  uint64_t more_ = 0;                     // that found no room
  const RefusedNames* names_;
  const Ways* ways_;
  // Once the command has sent to the resolver: the name that was the last one then.
  std::optional<uint64_t> asked_after_;
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_REFUSED_CALLS_H_
