#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_SLOT_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_SLOT_H_

// A slot: everything that one command needs, prepared before the command is known. A nested pid 1
// in pid and mount namespaces of its own, with its own /proc, and below it the confined process
// that waits for the command. When pid 1 ends, the kernel kills every process of the slot, however
// it daemonised. After a command pid 1 kills and reaps all there is, and offers the empty slot
// again (ADR 0011).

#include <sys/types.h>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/confinement.h"
#include "supervisor/cell_init/refused_names.h"
#include "supervisor/cell_init/ways.h"

namespace odyssey::cell_init {

struct SlotPlace {
  uint64_t number = 0;
  uint32_t spare_run = 0;  // no other slot's: names the directories it makes for its next command
  int cell_socket = -1;    // the supervisor's, borrowed: where the slot offers itself again
  int connections = -1;    // of cell-init's ConnectionWatch, borrowed
  const RefusedNames* names = nullptr;  // of the cell's resolver, borrowed
  const Ways* ways = nullptr;           // the cell's, borrowed
};

struct Slot {
  pid_t pid = -1;    // of the nested pid 1, as cell-init sees it
  UniqueFd exec;     // for the supervisor: takes the ExecSpec
  UniqueFd control;  // for the supervisor: signals and the end; closing it kills the slot
  // The mount namespace. With its last process the kernel would take it apart, and with it what
  // cell-init mounted on the host's trees: a directory of it that a command opened and handed to
  // another would show them bare. So the process that makes slots holds it until no command lives.
  UniqueFd mounts;
};

// Caller must be single-threaded and have CAP_SYS_ADMIN and CAP_SETPCAP in the cell's user
// namespace.
Result<Slot> MakeSlot(const Confinement& confinement, const SlotPlace& place);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_SLOT_H_
