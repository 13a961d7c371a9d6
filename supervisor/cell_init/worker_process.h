#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_WORKER_PROCESS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_WORKER_PROCESS_H_

#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_init {

inline constexpr int kFirstWorkerFd = 3;

// In a forked child. Dispositions are those that root gave bubblewrap: all default.
void UnblockSignals();

// Makes a forked child of cell-init a worker of the cell: the file worker, which without an execve
// shares cell-init's pages and like it cannot be traced, or what becomes the guards' program.
// `name` shows in the process list; `wanted` become the descriptors kFirstWorkerFd and on, and
// every other above 2 is closed. Without capabilities, under the cell's Landlock rules and the
// commands' filter, before the first request.
Status BecomeWorker(const char* name, const Confinement& confinement,
                    const std::vector<int>& wanted);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_WORKER_PROCESS_H_
