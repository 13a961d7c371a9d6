#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_IDENTITY_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_IDENTITY_H_

#include "supervisor/wire/cell_wire.h"

struct seccomp_notif;

namespace odyssey::cell_init {

// Who makes a call of connect(2), while the caller waits for the notification of it to be answered:
// the program as the kernel knows it, never what a process says of itself, and those of its
// ancestors in the slot. What cannot be read stays empty. Once it is made, the caller checks that
// the notification is still valid: before that the number may be another process's.
cell::Identity IdentityOf(const seccomp_notif& call);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_IDENTITY_H_
