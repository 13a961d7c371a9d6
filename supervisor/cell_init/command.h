#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_COMMAND_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_COMMAND_H_

#include <cstdint>

#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_init {

// The process of a slot that becomes the command, forked by its pid 1, which has neither
// capabilities nor system calls beyond the commands' filter: enters Landlock at once, makes
// the directories of a run ahead of need, then waits on `exec_socket` for the ExecSpec and executes
// it. Forked child; never returns. A failure is said on the socket.
[[noreturn]] void WaitAndExecute(const Confinement& confinement, uint32_t spare_run,
                                 int exec_socket);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_COMMAND_H_
