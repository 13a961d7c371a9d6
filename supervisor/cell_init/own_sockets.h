#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_OWN_SOCKETS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_OWN_SOCKETS_H_

// Which Unix sockets are of the caller's network namespace. A socket with a path is reached from
// every one, but belongs to that in which it was made: a cell's sockets to the cell's.

#include "common/base/status.h"

namespace odyssey::cell_init {

// Whether a socket of this network namespace is bound to the file `place`, which is O_PATH, or any
// descriptor. The kernel answers by unix_diag, a part of it that may be missing: UNAVAILABLE.
Result<bool> IsBoundHere(int place);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_OWN_SOCKETS_H_
