#ifndef ODYSSEY_COMMON_OS_CREDENTIALS_H_
#define ODYSSEY_COMMON_OS_CREDENTIALS_H_

#include <sys/types.h>

#include "common/base/status.h"

namespace odyssey {

// Makes a forked child of root's `uid` and `gid` alone, for good, with a session keyring of its
// own (the caller's may hold keys) and without core dumps, and lets it die with `parent`. What it
// executes has no capability. In a user namespace that maps `uid` alone, which the process has
// already, it keeps its supplementary groups: no process may drop them there.
// UNAVAILABLE if the parent has died already.
Status BecomeUser(uid_t uid, gid_t gid, pid_t parent);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_CREDENTIALS_H_
