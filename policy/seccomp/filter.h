#ifndef ODYSSEY_POLICY_SECCOMP_FILTER_H_
#define ODYSSEY_POLICY_SECCOMP_FILTER_H_

// The system calls of a cell, as classic BPF programs for seccomp(2). The only part that knows
// libseccomp. x86-64 only: a process of another architecture is killed, and a number of the x32 ABI
// is answered with ENOSYS.

#include <string>

#include "common/base/status.h"

namespace odyssey::seccomp {

// All are compiled into cell-init as constants, so that no other process can weaken them.
enum class FilterKind {
  // Every command, and the file worker: an allow list. What it does not name is EPERM; numbers
  // newer than every name it knows are ENOSYS, so that a C library falls back as on an older
  // kernel.
  kCommand,
  // kCommand with a user notification (SECCOMP_RET_USER_NOTIF) in the place of EPERM: the listener
  // answers EPERM, and without a listener the kernel answers ENOSYS. Some calls that kCommand
  // allows are notified too, and the listener may let them be made: those that take memory which
  // no control group counts (ADR 0034). For slots: ADR 0023.
  kNotifying,
  // kNotifying that notifies also of connect(2), and of sendto(2) with an address. For slots of a
  // cell without a network: ADR 0041.
  kNotifyingOfConnects,
  // kNotifyingOfConnects that allows set-id modes, which packages have: for slots of a cell that
  // builds an image and writes to no directory of the host (ADR 0007).
  kBuild,
  // cell-init itself, which must still nest namespaces and mount: a deny list. Filters are
  // inherited, so it denies only what kCommand denies too; and its answer outranks a listener's, so
  // what it denies is denied whatever a listener answers, and is not notified.
  kInit,
};

struct FilterSpec {
  FilterKind kind = FilterKind::kCommand;
};

// The program as bytes: struct sock_filter[], at most BPF_MAXINSNS of them. INTERNAL if libseccomp
// refuses a rule. Pure but for an anonymous memory file that libseccomp writes its result to.
Result<std::string> BuildFilter(const FilterSpec& spec);

}  // namespace odyssey::seccomp

#endif  // ODYSSEY_POLICY_SECCOMP_FILTER_H_
